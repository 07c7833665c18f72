"""The search for the hyperparameters: its starts, its order, and what interrupts it."""

from dataclasses import replace

import joblib
import numpy as np
import pytest

from pymc_bsvm.estimators import BayesianSVR, kernels, thin
from pymc_bsvm.estimators import climb as module
from pymc_bsvm.estimators import search as searches
from pymc_bsvm.estimators.climb import rises
from pymc_bsvm.estimators.likelihood import (
    regression_likelihood,
    silf_likelihood,
    trigonometric_likelihood,
)
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence
from pymc_bsvm.estimators.search import search
from pymc_bsvm.losses import SILF
from pymc_bsvm.search import Ending
from pymc_bsvm.search import starts as driver
from tests.estimators import cases


def objective_of(n=40, kernel=None, task="regression", weight=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.standard_t(3, size=n)
    likelihood = silf_likelihood(0.3)
    if task == "classification":
        likelihood, y = trigonometric_likelihood(), np.where(y > 0.0, 1.0, -1.0)
    blueprint = Blueprint(kernel or kernels.RBF(), likelihood, 100.0, 2)
    return MachineEvidence(blueprint, X, y, weight)


def run(objective, restarts=1, seed=0, n_jobs=None, gain=0.01, maxiter=200, report=None):
    found = search(
        objective,
        restarts,
        np.random.default_rng(seed),
        gain=gain,
        maxiter=maxiter,
        n_jobs=n_jobs,
        report=report or (lambda done, best: None),
    )
    assert found.objective.blueprint is objective.blueprint
    assert found.ascents.best is found.ascents.runs[0]
    return found.ascents.runs


def account(runs):
    """Return everything but the seconds."""
    return [
        (r.label, *r.start, *r.end, r.objective, r.log_evidence, r.gradient, r.evaluations)
        for r in runs
    ]


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("restarts", [1, 2, 5, 13])
@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Linear()], ids=repr)
def test_starts(task, restarts, kernel):
    """One of the grid for each hill, then random ones; each with a name of its own."""
    runs = run(objective_of(kernel=kernel, task=task), restarts, maxiter=1)
    hills = 2 if task == "regression" else 1
    assert len(runs) == hills + restarts - 1
    names = sorted(r.label for r in runs)
    expected = [f"grid {k + 1}" for k in range(hills)]
    expected += [f"random {k + 1}" for k in range(restarts - 1)]
    assert names == sorted(expected)


def test_the_best_comes_first():
    objective = objective_of()
    runs = run(objective, 6)
    values = [r.objective for r in runs]
    assert values == sorted(values, reverse=True)
    bounds = np.array(objective.blueprint.bounds)
    for r in runs:
        assert (bounds[:, 0] <= r.end).all()
        assert (r.end <= bounds[:, 1]).all()
        assert r.objective == pytest.approx(objective(r.end)[0], abs=1e-6)
        assert r.objective >= objective(r.start)[0] - 1e-9


def test_one_start_is_the_best_of_the_grid():
    one, many = run(objective_of(), 1), run(objective_of(), 5)
    assert one[0].label == "grid 1"
    (same,) = (r for r in many if r.label == "grid 1")
    np.testing.assert_array_equal(one[0].end, same.end)


@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Linear()], ids=repr)
def test_the_end_is_a_maximum(kernel):
    """Neighbours are not better by more than the search looks for."""
    objective = objective_of(n=60, kernel=kernel)
    best = run(objective, 1, gain=1e-4)[0]
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = best.end + 0.05 * rng.normal(size=best.end.size)
        x = np.clip(x, *np.array(objective.blueprint.bounds).T)
        assert objective(x)[0] < best.objective + 0.1


def test_the_gradient_is_that_of_the_end():
    objective = objective_of()
    best = run(objective, 1)[0]
    slope = objective(best.end)[1]
    low, high = np.array(objective.blueprint.bounds).T
    free = np.where(slope > 0.0, best.end < high, best.end > low)
    assert best.gradient == pytest.approx(np.abs(free * slope).max(), abs=1e-3)


def test_the_seed_decides():
    assert account(run(objective_of(), 4, seed=1)) == account(run(objective_of(), 4, seed=1))
    starts = [{r.label: r.start for r in run(objective_of(), 4, seed=s)} for s in (1, 2)]
    assert not np.allclose(starts[0]["random 1"], starts[1]["random 1"])


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_in_parallel_as_one_after_the_other(backend):
    """Threads must not share what a run remembers; nested parallel regions are threads."""
    expected = account(run(objective_of(), 6))
    with joblib.parallel_config(backend=backend):
        got = account(run(objective_of(), 6, n_jobs=3))
    assert got == expected


def test_all_rows_decide_in_the_end():
    """With many rows a share of them begins, but the end is an optimum of all."""
    objective = objective_of(n=620)
    best = run(objective, 1, gain=1e-3)[0]
    fresh = objective_of(n=620)
    assert best.objective == pytest.approx(fresh(best.end)[0], abs=1e-5)
    for k in range(best.end.size):
        for move in (-0.05, 0.05):
            x = best.end.copy()
            x[k] += move
            x = np.clip(x, *np.array(objective.blueprint.bounds).T)
            assert fresh(x)[0] < best.objective + 0.1, k
    assert best.evaluations > 0
    assert (best.start != best.end).any()


@pytest.mark.parametrize("restarts", [1, 2, 3])
def test_only_so_many_searches_go_on_to_all_rows(restarts, monkeypatch):
    monkeypatch.setattr(searches, "_HALF_WAY", 30)
    monkeypatch.setattr(searches, "_LEAST", 20)
    sizes, ascend = [], driver.ascend

    def climb(objective, *args, **kwargs):
        sizes.append(objective.y.size)
        return ascend(objective, *args, **kwargs)

    monkeypatch.setattr(driver, "ascend", climb)
    assert len(run(objective_of(n=40), restarts, maxiter=1)) == restarts
    assert sizes == [20] * (restarts + 1) + [40] * restarts  # both hills are climbed at first


def test_weights_go_with_their_rows():
    """The share of the rows takes their weights along."""
    weight = np.where(np.arange(620) % 2 == 0, 1.0, 2.0)
    best = run(objective_of(n=620, weight=weight), 1)[0]
    assert best.objective == pytest.approx(
        objective_of(n=620, weight=weight)(best.end)[0], abs=1e-5
    )


def test_progress_is_reported():
    seen = []
    runs = run(objective_of(), 2, report=lambda *news: seen.append(news))
    done, best = zip(*seen, strict=True)
    assert len(seen) == sum(r.evaluations for r in runs) + len(runs)
    assert sum(done) == len(runs)
    assert list(best) == sorted(best)
    assert best[-1] == pytest.approx(runs[0].objective)


def test_the_number_of_iterations_is_bounded():
    best = run(objective_of(), 1, maxiter=1)[0]
    assert best.ending is Ending.MAX_ITER


# ---- all rows after a share ---------------------------------------------------------------------


@pytest.fixture
def shared(monkeypatch):
    """Let 20 of 40 rows be searched first; return the objective of all, and runs of `polish`."""
    monkeypatch.setattr(searches, "_HALF_WAY", 30)
    monkeypatch.setattr(searches, "_LEAST", 20)
    polish, calls = searches.polish, []

    def recorded(objective, run, *args):
        calls.append((run, polish(objective, run, *args)))
        return calls[-1][1]

    monkeypatch.setattr(searches, "polish", recorded)
    return objective_of(n=40), calls


def found_on(objective, restarts, n_jobs=None):
    found = search(
        objective,
        restarts,
        np.random.default_rng(0),
        gain=0.01,
        maxiter=200,
        n_jobs=n_jobs,
        report=lambda done, best: None,
    )
    return found.ascents


def test_all_rows_take_few_steps(monkeypatch):
    """The curvature of the share is nearly theirs; no climb finds anything above the end."""
    monkeypatch.setattr(thin, "_FEWEST", 801)
    rng, sizes = np.random.default_rng(5), []
    x = rng.uniform(-10.0, 10.0, 800)
    y = np.sinc(x / np.pi) + 0.1 * rng.normal(size=800)
    blueprint = Blueprint(kernels.RBF(), silf_likelihood(1.0), 100.0, 1)
    whole = MachineEvidence(blueprint, x[:, None] / 5.0, 3.0 * y, None)
    evaluate = MachineEvidence.__call__

    def evaluated(self, x):
        sizes.append(self.n)
        return evaluate(self, x)

    monkeypatch.setattr(MachineEvidence, "__call__", evaluated)
    [best] = run(whole)
    assert best.ending is Ending.CONVERGED
    assert sizes.count(800) <= 6
    again = driver.ascend(whole, best.end, bounds=blueprint.bounds, gtol=1e-3)
    assert again.objective < best.objective + 0.01


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_all_rows_in_parallel_as_one_after_the_other(n_jobs, shared):
    objective, calls = shared
    expected = account(found_on(objective, 3).runs)
    with joblib.parallel_config(backend="threading"):
        got = account(found_on(objective_of(n=40), 3, n_jobs).runs)
    assert got == expected
    assert len(calls) == 6


def test_what_newton_steps_do_not_settle_is_climbed(shared, monkeypatch):
    """The account is that of all evaluations."""
    objective, calls = shared
    recorded = searches.polish

    def unsettled(*args):
        return replace(recorded(*args), ending=Ending.MAX_ITER)

    monkeypatch.setattr(searches, "polish", unsettled)
    runs = found_on(objective, 2).runs
    assert Ending.CONVERGED in {r.ending for r in runs}
    of_share = sum(before.evaluations for before, _ in calls)
    assert sum(r.evaluations for r in runs) == of_share + objective.evaluations
    after = {polished.label: polished for _, polished in calls}
    for r in runs:
        assert r.evaluations > after[r.label].evaluations
        assert r.seconds > after[r.label].seconds
        assert r.objective >= after[r.label].objective - 1e-6
        np.testing.assert_array_equal(r.start, after[r.label].start)


def test_a_climb_that_fails_leaves_what_newton_steps_found(shared, monkeypatch):
    objective, calls = shared
    recorded, climb = searches.polish, searches.climb

    def unsettled(*args):
        return replace(recorded(*args), ending=Ending.MAX_ITER)

    def failed(some, *args, **kwargs):
        found = climb(some, *args, **kwargs)
        if some.n < 40:
            return found
        runs = [replace(r, objective=-np.inf, ending=Ending.FAILED) for r in found.runs]
        return replace(found, runs=runs)

    monkeypatch.setattr(searches, "polish", unsettled)
    monkeypatch.setattr(searches, "climb", failed)
    best = found_on(objective, 2).best
    assert best.objective == max(polished.objective for _, polished in calls)
    assert best.ending is Ending.MAX_ITER
    assert best.evaluations > max(polished.evaluations for _, polished in calls)


def test_an_interruption_between_newton_steps_keeps_what_was_finished(shared, monkeypatch):
    objective, calls = shared
    recorded = searches.polish

    def only_once(*args):
        if calls:
            raise KeyboardInterrupt
        return recorded(*args)

    monkeypatch.setattr(searches, "polish", only_once)
    ascents = found_on(objective, 3)
    assert ascents.interrupted
    [only] = ascents.runs
    assert only is calls[0][1]


def test_an_interruption_of_newton_steps_is_the_end(shared):
    objective, calls = shared
    late = Interrupted(objective.blueprint, objective.X, objective.y, None)
    late.after = 1
    ascents = found_on(late, 3)
    assert ascents.interrupted
    assert [r.ending for r in ascents.runs] == [Ending.INTERRUPTED]
    assert np.isfinite(ascents.best.objective)
    assert len(calls) == 1


def test_an_interruption_before_the_first_newton_step_is_raised(shared):
    objective, _ = shared
    late = Interrupted(objective.blueprint, objective.X, objective.y, None)
    late.after = 0
    with pytest.raises(KeyboardInterrupt):
        found_on(late, 3)


def test_an_interruption_of_the_climb_keeps_the_newton_steps(shared, monkeypatch):
    objective, calls = shared
    recorded, climb = searches.polish, searches.climb

    def unsettled(*args):
        return replace(recorded(*args), ending=Ending.MAX_ITER)

    def climbed(some, *args, **kwargs):
        if some.n == 40:
            raise KeyboardInterrupt
        return climb(some, *args, **kwargs)

    monkeypatch.setattr(searches, "polish", unsettled)
    monkeypatch.setattr(searches, "climb", climbed)
    ascents = found_on(objective, 2)
    assert ascents.interrupted
    assert sorted(r.objective for r in ascents.runs) == sorted(r.objective for _, r in calls)


# ---- bounds -------------------------------------------------------------------------------------


def with_noise(sigma, n=60):
    """Return the objective of a smooth function with Gaussian noise."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-2.0, 2.0, (n, 1)), axis=0)
    y = np.sin(2.0 * x[:, 0]) + sigma * rng.normal(size=n)
    blueprint = Blueprint(kernels.RBF(), silf_likelihood(0.3), 100.0, 1)
    return MachineEvidence(blueprint, x, y, None)


def test_bounds_follow_narrow_noise():
    """The search goes on in wider bounds, and its account is that of all it did."""
    objective, seen = with_noise(1e-4), []
    runs = run(objective, report=lambda *news: seen.append(news))
    C, epsilon = np.exp(runs[0].end[:2])
    assert 1000.0 < C < 1e5
    assert 1e-5 < epsilon < np.exp(-5.0)
    assert 0.5e-4 < np.sqrt(SILF(C, epsilon, 0.3).variance()) < 2e-4
    assert not rises(runs[0]).any()  # it may end at a bound, but presses against none
    assert sorted(r.label for r in runs) == ["grid 1", "grid 2"]
    assert sum(r.evaluations for r in runs) == len([1 for done, _ in seen if not done])
    low, high = np.exp(np.array(objective.blueprint.bounds)).T
    for r in runs:
        assert (low <= np.exp(r.start) * (1.0 + 1e-9)).all()
        assert (np.exp(r.start) <= high * (1.0 + 1e-9)).all()


def test_bounds_are_widened_no_further_than_they_may():
    objective = with_noise(0.0)
    best = run(objective)[0]
    low, high = np.array(objective.blueprint.reach).T
    assert (low <= best.end).all()
    assert (best.end <= high).all()
    assert best.held[0] == 1.0
    assert best.end[0] == pytest.approx(high[0])
    assert rises(best)[0]


def test_ordinary_noise_needs_no_wider_bounds(monkeypatch):
    calls, multistart = [], module.multistart

    def counted(*args, **kwargs):
        calls.append(kwargs["bounds"])
        return multistart(*args, **kwargs)

    monkeypatch.setattr(module, "multistart", counted)
    objective = with_noise(0.1)
    run(objective)
    assert len(calls) == 1
    np.testing.assert_array_equal(calls[0], objective.blueprint.bounds)


def test_the_evidence_rises_where_the_slope_points_out_of_the_box():
    some = run(with_noise(0.1), maxiter=1)[0]
    held, slope = np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, -2.0, -2.0, -0.5])
    made = replace(some, held=held, slope=slope)
    np.testing.assert_array_equal(rises(made), [True, False, True, False])
    assert not rises(replace(made, held=np.zeros(4))).any()


def test_few_rows_do_not_widen_bounds():
    """Ten for each of the four hyperparameters; weights count."""
    best = run(with_noise(0.0, n=39))[0]
    assert best.held[0] == 1.0
    assert np.exp(best.end[0]) == pytest.approx(1000.0)
    few = with_noise(0.0, n=39)
    weighted = MachineEvidence(few.blueprint, few.X, few.y, np.full(39, 2.0))
    assert np.exp(run(weighted)[0].end[0]) > 2000.0


def test_an_interruption_ends_the_widening():
    best = run(with_noise(1e-4), maxiter=1)[0]
    assert best.ending is Ending.MAX_ITER
    first = run(with_noise(1e-4))
    objective = with_noise(1e-4)
    late = Interrupted(objective.blueprint, objective.X, objective.y, None)
    late.after = sum(r.evaluations for r in first) - 3
    runs = run(late)
    assert Ending.INTERRUPTED in {r.ending for r in runs}
    assert np.isfinite(runs[0].objective)


# ---- interruptions ------------------------------------------------------------------------------


class Interrupted(MachineEvidence):
    """Raises at an evaluation on all rows."""

    after = 10**9

    def __call__(self, x):
        if self.evaluations >= self.after:
            raise KeyboardInterrupt
        return super().__call__(x)


def interrupted(after, **kwargs):
    objective = objective_of(**kwargs)
    result = Interrupted(objective.blueprint, objective.X, objective.y, None)
    result.after = after
    return result


def test_an_interruption_keeps_the_best_point():
    best = run(interrupted(5), 3)[0]
    assert best.ending is Ending.INTERRUPTED
    assert np.isfinite(best.objective)


def test_an_interruption_keeps_the_runs_before():
    first = run(objective_of(), 1)[0]
    runs = run(interrupted(first.evaluations + 3), 3)
    assert len(runs) == 2
    assert {r.ending for r in runs} == {first.ending, Ending.INTERRUPTED}
    assert runs[0].objective >= first.objective


def test_an_interruption_half_way_is_raised(monkeypatch):
    """While a share of the rows is at work, nothing is known of all rows."""
    ascend = driver.ascend

    def climb(objective, *args, **kwargs):
        if objective.y.size < 620:
            objective = Interrupted(objective.blueprint, objective.X, objective.y, None)
            objective.after = 2
        return ascend(objective, *args, **kwargs)

    monkeypatch.setattr(driver, "ascend", climb)
    with pytest.raises(KeyboardInterrupt):
        run(objective_of(n=620), 3, gain=1.0)


def test_an_interruption_before_anything_is_raised():
    with pytest.raises(KeyboardInterrupt):
        run(interrupted(0), 3)


def test_an_interrupted_fit_says_so(monkeypatch):
    data = cases.line()
    monkeypatch.setattr("pymc_bsvm.estimators.training.MachineEvidence", _Short)
    with pytest.warns(UserWarning, match="interrupted"):
        model = BayesianSVR().fit(data.X, data.y)
    assert not model.converged_
    assert np.isfinite(model.predict(data.X)).all()


class _Short(Interrupted):
    after = 4


def test_nothing_finite_is_an_error():
    data = cases.line()
    with cases.refused(ValueError, "evidence", "finite"):
        BayesianSVR(lambda X, Z: -1e6 * (X == Z.T).astype(float)).fit(data.X, data.y)


# ---- all rows in low rank -----------------------------------------------------------------------


GAUSSIAN = regression_likelihood("gaussian", 1.0)


def low_rank(rng, n=400):
    """Return an objective whose covariance has a low rank."""
    x = rng.uniform(-10.0, 10.0, n)
    y = np.sinc(x / np.pi) + 0.1 * rng.normal(size=n)
    blueprint = Blueprint(kernels.RBF(), silf_likelihood(0.3), 100.0, 1)
    return MachineEvidence(blueprint, x[:, None] / 5.0, 3.0 * y, None)


@pytest.fixture
def choosing(monkeypatch):
    """Let 150 of 400 rows be searched first; return a function that searches."""
    monkeypatch.setattr(searches, "_HALF_WAY", 300)
    monkeypatch.setattr(searches, "_LEAST", 150)

    def found(seed, objective=None, restarts=1):
        objective = objective or low_rank(np.random.default_rng(seed))
        huber = replace(objective.blueprint, likelihood=silf_likelihood(1.0))
        settings = {"gain": 0.01, "maxiter": 200, "n_jobs": None, "report": lambda *news: None}
        rng = np.random.default_rng(seed)
        return search(objective, restarts, rng, moves=[lambda _: huber], **settings)

    return found


@pytest.mark.parametrize("seed", range(4))
def test_all_rows_choose_in_low_rank(seed, choosing):
    """The model of the highest evidence of all rows is kept; another has to gain a nat."""
    found = choosing(seed)
    assert [rival.rows for rival in found.rivals] == [400, 400]
    first, other = found.rivals
    best = other if other.log_evidence > first.log_evidence + 1.0 else first
    assert found.objective.blueprint is best.blueprint
    assert found.ascents.best.objective == best.log_evidence
    assert found.objective.value(found.ascents.best.end) == pytest.approx(
        best.log_evidence, abs=1e-4
    )
    again = driver.ascend(found.objective, found.ascents.best.end, bounds=best.blueprint.bounds)
    assert again.objective < best.log_evidence + 0.1


def test_the_share_chooses_where_the_rank_is_not_low(choosing, monkeypatch):
    monkeypatch.setattr(thin, "_FEWEST", 401)
    assert [rival.rows for rival in choosing(0).rivals] == [150, 150]


@pytest.mark.parametrize(
    ("likelihood", "grid"),
    [(silf_likelihood(0.3), 2), (silf_likelihood(1.0), 1), (GAUSSIAN, 1)],
    ids=["silf", "huber", "gaussian"],
)
def test_a_loss_without_a_tube_has_one_hill(likelihood, grid, choosing, monkeypatch):
    """Where covariances have a low rank; the tube of the others is narrow or wide at first."""
    climb, climbed = searches.climb, []

    def listed(some, starts, **settings):
        climbed.append([start.label for start in starts])
        return climb(some, starts, **settings)

    monkeypatch.setattr(searches, "climb", listed)
    objective = low_rank(np.random.default_rng(0))
    blueprint = replace(objective.blueprint, likelihood=likelihood)
    choosing(0, MachineEvidence(blueprint, 0.3 * objective.X, objective.y, None), restarts=3)
    assert climbed[0] == [*(f"grid {k + 1}" for k in range(grid)), "random 1", "random 2"]


def test_an_interruption_of_the_challenge_keeps_the_choice(choosing, monkeypatch):
    polish, sizes = searches.polish, []

    def polished(whole, *args):
        sizes.append(whole.n)
        if len(sizes) == 2:
            raise KeyboardInterrupt
        return polish(whole, *args)

    monkeypatch.setattr(searches, "polish", polished)
    found = choosing(0)
    assert sizes == [400, 400]
    assert found.ascents.interrupted
    assert np.isfinite(found.ascents.best.objective)
    assert [rival.rows for rival in found.rivals] == [400]
