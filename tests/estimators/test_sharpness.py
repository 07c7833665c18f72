"""The power of the odds: against brute force, against expectation propagation, and on new rows."""

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from pymc_bsvm import ep_evidence
from pymc_bsvm.estimators import BayesianSVC
from pymc_bsvm.estimators.induced import InducedEvidence
from pymc_bsvm.estimators.odds import averaged_log_odds
from pymc_bsvm.estimators.sharpness import fit_sharpness, left_out_log_odds
from pymc_bsvm.evidence.prediction import ClassPredictive
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows, Block
from tests.estimators import cases


def shells(n, d, seed):
    """Two normal classes about nearly the same centre, one twice as wide: curved log odds."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) * (1 + y)[:, None] + (y / math.sqrt(d))[:, None]
    return X, y


def drawn(power, n, k, seed):
    """Log odds, and labels whose odds are a power of theirs."""
    rng = np.random.default_rng(seed)
    if k == 2:
        odds = rng.normal(0.0, 2.0, n)
        return odds, (rng.random(n) < 1.0 / (1.0 + np.exp(-power * odds))).astype(int)
    odds = rng.normal(-1.0, 2.0, (n, k))
    p = cases.only_one(1.0 / (1.0 + np.exp(-power * odds)))
    return odds, (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("power", [0.4, 2.5])
def test_it_is_the_mode_by_brute_force(power, k):
    odds, labels = drawn(power, 300, k, seed=1)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 300)

    def posterior(s):
        p = 1.0 / (1.0 + np.exp(-s * odds))
        p = np.stack([1.0 - p, p], axis=1) if k == 2 else cases.only_one(p)
        return weight @ np.log(p[np.arange(300), labels]) - 0.5 * (math.log(s) / 0.35) ** 2

    grid = np.exp(np.linspace(math.log(0.2), math.log(5.0), 3001))
    best = grid[np.argmax([posterior(s) for s in grid])]
    got = fit_sharpness(odds, labels, weight)
    assert got == pytest.approx(best, rel=2e-3)  # two steps of the grid
    assert posterior(got) > posterior(1.0) + 1.0


@pytest.mark.parametrize("k", [2, 4])
def test_calibrated_odds_are_left_alone(k):
    assert fit_sharpness(*drawn(1.0, 400, k, seed=3)) == 1.0


def test_a_weight_is_a_number_of_rows():
    odds, labels = drawn(2.0, 100, 2, seed=4)
    count = np.random.default_rng(5).integers(1, 4, 100)
    one = fit_sharpness(odds, labels, count.astype(float))
    assert one == pytest.approx(fit_sharpness(odds.repeat(count), labels.repeat(count)), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_odds_are_those_of_expectation_propagation(weighted):
    X, y = shells(40, 3, seed=6)
    weight = np.random.default_rng(7).integers(1, 4, 40).astype(float) if weighted else None
    model = BayesianSVC(random_state=0).fit(X, y, weight)
    machine = model._trained[0].machine
    rows = model._scale(X)
    sites = ep_evidence(
        machine.blueprint.matrix(machine.values, rows),
        2.0 * y - 1.0,
        machine.loss,
        sample_weight=weight,
    )
    own = np.where(y == 1, 1.0, -1.0) * left_out_log_odds(model._trained[0])[0]
    # the propagation of estimators leaves a residual of 1e-4
    np.testing.assert_allclose(-np.logaddexp(0.0, -own), sites.log_predictive, atol=1e-3)


def test_probabilities_of_new_rows_get_better():
    X, y = shells(150, 20, seed=8)
    new, labels = shells(3000, 20, seed=9)
    model = BayesianSVC(random_state=0).fit(X, y)
    plain = BayesianSVC(calibration="model", random_state=0).fit(X, y)
    assert plain.sharpness_ == 1.0
    assert model.sharpness_ > 1.5
    odds = plain.decision_function(new)
    np.testing.assert_allclose(model.decision_function(new), model.sharpness_ * odds, rtol=1e-12)
    p = 1.0 / (1.0 + np.exp(-model.sharpness_ * odds))
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], p, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(new), plain.predict(new))
    assert model.log_evidence_ == plain.log_evidence_
    losses = [log_loss(labels, m.predict_proba(new)) for m in (plain, model)]
    assert losses[1] < losses[0] - 0.03  # .12 and .06; its standard error is .003


def test_classes_have_one_power():
    rng = np.random.default_rng(10)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 20)) * (2.0**y)[:, None] + (y / math.sqrt(20.0))[:, None]
    model = BayesianSVC(random_state=0).fit(X, y)
    plain = BayesianSVC(calibration="model", random_state=0).fit(X, y)
    new = 2.0 * rng.normal(size=(50, 20))
    assert model.sharpness_ > 1.1
    odds = plain.decision_function(new)
    share = cases.only_one(1.0 / (1.0 + np.exp(-model.sharpness_ * odds)))
    np.testing.assert_allclose(model.predict_proba(new), share, rtol=1e-8)
    np.testing.assert_array_equal(model.predict(new), plain.predict(new))


@pytest.mark.parametrize("approximation", ["laplace", "ep"])
def test_left_out_odds_on_inducing_points_are_those_of_a_fit_without_the_row(approximation):
    X, y = shells(80, 3, seed=13)
    model = BayesianSVC("rbf", inducing=20, approximation=approximation, random_state=0).fit(X, y)
    (trained,) = model._trained
    odds, left_out = left_out_log_odds(trained)
    rows, objective = trained.objective.some, trained.objective
    np.testing.assert_array_equal(left_out.y, rows.y)
    without = []
    for i in range(len(rows.X)):
        others = np.arange(len(rows.X)) != i
        passes = Passes(ArrayRows(*(part[others] for part in rows)))
        block = Block(*(part[others] for part in rows))
        few = InducedEvidence(objective.blueprint, passes, objective.Z, 79.0, block)
        machine = few.machine(trained.machine.values)
        without.append(ClassPredictive(*machine.moments(rows.X[[i]]), machine.loss))
    without = np.concatenate([averaged_log_odds([each]) for each in without])
    # Laplace's and expectation propagation's own account of a row is an approximation: measured
    # are .005 and .026, with a spread of .8.
    np.testing.assert_allclose(odds, without, atol=0.05)


def test_probabilities_on_inducing_points_get_better():
    X, y = shells(400, 20, seed=11)
    new, labels = shells(4000, 20, seed=14)
    model = BayesianSVC(inducing=100, random_state=0).fit(X, y)
    plain = BayesianSVC(inducing=100, calibration="model", random_state=0).fit(X, y)
    assert plain.sharpness_ == 1.0
    assert model.sharpness_ > 1.1
    loss = log_loss(labels, model.predict_proba(new))
    assert loss < log_loss(labels, plain.predict_proba(new)) - 0.005


def test_several_classes_on_inducing_points_have_one_power():
    rng = np.random.default_rng(10)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 20)) * (2.0**y)[:, None] + (y / math.sqrt(20.0))[:, None]
    model = BayesianSVC(inducing=60, random_state=0).fit(X, y)
    plain = BayesianSVC(inducing=60, calibration="model", random_state=0).fit(X, y)
    seen = [left_out_log_odds(each) for each in model._trained]
    odds = np.concatenate([of_class for of_class, _ in seen])
    own = np.concatenate([left_out.y for _, left_out in seen])
    powers = np.exp(np.linspace(-1.0, 1.0, 2001))
    scores = [
        -np.logaddexp(0.0, -power * own * odds).sum() - 0.5 * (math.log(power) / 0.35) ** 2
        for power in powers
    ]
    assert model.sharpness_ == pytest.approx(powers[np.argmax(scores)], rel=2e-3)
    assert model.sharpness_ > 1.1
    np.testing.assert_allclose(
        model.decision_function(X), model.sharpness_ * plain.decision_function(X), rtol=1e-10
    )


def test_an_unknown_calibration_is_refused():
    X, y = shells(20, 2, seed=12)
    with pytest.raises(ValueError, match="calibration must be 'auto' or 'model', but it is 'isot"):
        BayesianSVC(calibration="isotonic").fit(X, y)
