"""Several ascents of functions that are known: their order, their workers, their interruptions."""

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor

from pymc_bsvm.search import Ending, Start, ascend, multistart
from pymc_bsvm.search import starts as module
from tests.search.functions import Function, bowl, hills, slope_of_bowl, slope_of_hills

STARTS = [
    Start("left", np.array([-5.0])),
    Start("right", np.array([7.0])),
    Start("far right", np.array([30.0])),
    Start("far left", np.array([-40.0])),
]


def two_hills(**kwargs):
    return Function(hills, slope_of_hills, **kwargs)


def account(found):
    """Return everything but the seconds."""
    return [(r.label, *r.end, r.objective, r.gradient, r.ending, r.evaluations) for r in found.runs]


def test_the_best_comes_first():
    found = multistart(two_hills(), STARTS, gtol=1e-6)
    assert not found.interrupted
    assert found.best is found.runs[0]
    assert {run.label for run in found.runs[:2]} == {"right", "far right"}
    for run, (top, height) in zip(found.runs, [(3.0, 0.0)] * 2 + [(-3.0, -1.0)] * 2, strict=True):
        assert run.end[0] == pytest.approx(top, abs=1e-6)
        assert run.objective == pytest.approx(height, abs=1e-10)
        assert run.ending is Ending.CONVERGED


def test_among_equals_the_first_start_comes_first():
    starts = [Start(f"start {k}", np.array([1.0, -2.0])) for k in range(4)]
    found = multistart(Function(bowl, slope_of_bowl), starts)
    assert [run.label for run in found.runs] == [start.label for start in starts]


def test_each_run_is_that_of_its_start_alone():
    found = multistart(two_hills(), STARTS, gtol=1e-6, maxiter=3)
    for run in found.runs:
        start = dict(STARTS)[run.label]
        alone = ascend(two_hills(), start, run.label, gtol=1e-6, maxiter=3)
        assert (run.objective, run.evaluations) == (alone.objective, alone.evaluations)


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(backend, workers):
    expected = account(multistart(two_hills(), STARTS))
    objective = two_hills()
    with joblib.parallel_config(backend=backend):
        assert account(multistart(objective, STARTS, n_jobs=workers)) == expected
    assert objective.evaluations == 0  # each worker has an objective of its own
    if backend == "loky":  # what later tests import would look like a leak to such light workers
        get_reusable_executor().shutdown(wait=True)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress(n_jobs):
    news = []
    with joblib.parallel_config(backend="threading"):
        found = multistart(
            two_hills(), STARTS, n_jobs=n_jobs, report=lambda *args: news.append(args)
        )
    done, best = zip(*news, strict=True)
    assert sum(done) == len(STARTS)
    assert list(best) == sorted(best)
    assert best[-1] == found.best.objective
    if n_jobs == 1:
        assert len(news) == len(STARTS) + sum(run.evaluations for run in found.runs)


# ---- interruptions ------------------------------------------------------------------------------


def test_an_interruption_keeps_the_runs_before_and_the_best_point():
    first = multistart(two_hills(), STARTS[:1]).best
    found = multistart(two_hills(interrupt_at=first.evaluations + 2), STARTS)
    assert found.interrupted
    assert {run.label: run.ending for run in found.runs} == {
        "left": Ending.CONVERGED,
        "right": Ending.INTERRUPTED,
    }


def test_an_interruption_before_anything_is_raised():
    with pytest.raises(KeyboardInterrupt):
        multistart(two_hills(interrupt_at=0), STARTS)


def test_an_interruption_where_nothing_is_finite_is_raised():
    nowhere = Function(lambda x: -np.inf, lambda x: x, interrupt_at=1)
    with pytest.raises(KeyboardInterrupt):
        multistart(nowhere, STARTS)


@pytest.mark.parametrize("finished", [1, 0])
def test_an_interruption_of_workers_keeps_what_was_finished(monkeypatch, finished):
    class Interrupted:
        def __init__(self, **_):
            pass

        def __call__(self, tasks):
            for _, (function, args, kwargs) in zip(range(finished), tasks, strict=False):
                yield function(*args, **kwargs)
            raise KeyboardInterrupt

    monkeypatch.setattr(module, "Parallel", Interrupted)
    if not finished:
        with pytest.raises(KeyboardInterrupt):
            multistart(two_hills(), STARTS, n_jobs=2)
        return
    found = multistart(two_hills(), STARTS, n_jobs=2)
    assert found.interrupted
    assert [run.label for run in found.runs] == ["far right", "left"]


def test_nothing_finite_is_no_interruption():
    found = multistart(Function(lambda x: -np.inf, lambda x: x), STARTS)
    assert not found.interrupted
    assert [run.ending for run in found.runs] == [Ending.FAILED] * 4
    assert [run.label for run in found.runs] == [start.label for start in STARTS]
