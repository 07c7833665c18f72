"""Machines on inducing points by expectation propagation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from pymc_bsvm.approximations import EP
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, ladder
from pymc_bsvm.estimators.induced import InducedEvidence
from pymc_bsvm.estimators.search import Found
from pymc_bsvm.streamed.ep import PropagationError


@pytest.fixture(scope="module", autouse=True)
def low_ladder():
    """Let few rows be many, to be fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "_DENSE", 100)
        patch.setattr(ladder, "_FEW", (300, 40))
        patch.setattr(ladder, "_POINTS_OF_SEARCH", 40)
        yield


def classes(n, seed):
    """Return inputs, labels, and the log odds that they were drawn from: a sharp border."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    odds = 12.0 * np.sin(2.0 * X[:, 0] + X[:, 1])
    return X, np.where(rng.random(n) < expit(odds), 1, -1), odds


def log_loss(model, X, odds):
    """Return the expected log loss of new rows, in nats."""
    no, yes = model.predict_log_proba(X).T
    p = expit(odds)
    return -(p * yes + (1.0 - p) * no).mean()


@pytest.fixture(scope="module")
def two():
    """Return a fit by each approximation to the same rows."""
    X, y, _ = classes(600, 0)
    settings = {"inducing": 40, "random_state": 0, "tol": 0.3}
    names = ("laplace", "ep")
    return [BayesianSVC(approximation=name, **settings).fit(X, y) for name in names]


def test_probabilities_are_not_worse_than_those_of_laplace(two):
    X, _, odds = classes(3000, 1)
    laplace, ep = (log_loss(model, X, odds) for model in two)
    assert ep < laplace


def test_what_a_fit_says_of_itself(two):
    model = two[1]
    assert model.approximation_.name == "ep"
    assert model.converged_
    assert model.residual_ < model.approximation_.tol
    assert np.isnan(model.gap_)  # no MAP estimate
    assert model.support_.size == 600
    machine = model._trained[0].machine
    assert machine.blueprint.prior == 1.0
    assert machine.log_evidence == model.log_evidence_


def test_with_enough_points_it_is_the_same_as_with_a_whole_kernel_matrix():
    X, y, _ = classes(200, 0)
    settings = {"loss": "probit", "random_state": 0, "tol": 1e-3}
    one = BayesianSVC(inducing=150, approximation="ep", **settings).fit(X, y)
    two = BayesianSVC(**settings).fit(X, y)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, abs=0.05)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0.01)


def test_targets_and_a_loss_with_a_kink():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (300, 1))
    f = np.sin(2.0 * X[:, 0])
    y = f + rng.laplace(0.0, 0.2, size=300)
    settings = {"approximation": "ep", "loss": "laplace", "tol": 0.01, "random_state": 0}
    one = BayesianSVR(inducing=20, **settings).fit(X, y)
    two = BayesianSVR(**settings).fit(X, y)
    assert one._trained.machine.blueprint.prior is None
    assert np.sqrt(np.mean((one.predict(X) - f) ** 2)) < 0.08
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, abs=0.02)
    for ours, theirs in zip(one.predict_interval(X), two.predict_interval(X), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.1)


def test_rows_that_do_not_settle_without_their_own_targets_are_a_warning():
    """Under noise that is much narrower than that of the fit, rows say more than is known."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (60, 1))
    y = np.sin(2.0 * X[:, 0]) + rng.normal(0.0, 0.3, size=60)
    model = BayesianSVR(inducing=10, approximation="ep", loss="gaussian", tol=0.1).fit(X, y)
    machine, objective = model._trained.machine, model._trained.objective
    narrow = replace(machine, values=np.where(np.arange(machine.values.size), machine.values, 1e-3))
    with pytest.warns(ConvergenceWarning, match=r"For \d+ of 60 rows .*\. Use weights"):
        objective.hindsight([narrow])


def test_points_are_doubled_until_the_evidence_fails(two, monkeypatch):
    trained = two[1]._trained[0]
    objective, evidence = trained.objective, InducedEvidence.evidence
    most = [20]

    def failing(self, values, start=None):
        if len(self.Z) > most[0]:
            raise PropagationError("There is no fixed point. Take fewer.")
        return evidence(self, values, start)

    monkeypatch.setattr(InducedEvidence, "evidence", failing)
    monkeypatch.setattr(ladder, "_FEWEST", 10)
    monkeypatch.setattr(ladder, "_MOST", 40)
    steps = ladder.Ladder(objective.passes, objective.rows, "auto", np.random.default_rng(0))
    found, points = steps._enough(Found(objective, trained.found, []), 1e-6)
    assert points == 20
    assert [rival.points for rival in found.rivals] == [10, 20, 40]
    assert [np.isfinite(rival.log_evidence) for rival in found.rivals] == [True, True, False]
    most[0] = 5
    with pytest.raises(PropagationError, match="Take fewer"):
        steps._enough(found, 1e-6)


def test_weights_below_one_that_leave_no_cavity_are_named():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (60, 1))
    y = np.sin(2.0 * X[:, 0])
    model = BayesianSVR(inducing=10, approximation="ep", loss="gaussian", tol=0.1)
    with pytest.raises(ValueError, match="not finite at any") as caught:
        model.fit(X, y, np.full(60, 1e-3))
    assert "Use weights of at least one" in str(caught.value.__cause__)


def test_an_end_above_the_tolerance_is_a_warning_and_says_the_residual(two):
    objective = two[1]._trained[0].objective
    model = replace(objective.blueprint, approximation=EP(tol=1e-9, max_iter=4))
    values = two[1]._trained[0].machine.values
    with pytest.warns(ConvergenceWarning, match="The residual is"):
        machine = objective.of(model).machine(values)
    assert 1e-9 < machine.residual < 0.1


def test_further_batches_are_refused_before_the_first_is_fitted():
    X, y = classes(60, 2)[:2]
    for approximation in ("ep", EP()):
        model = BayesianSVC(inducing=10, approximation=approximation)
        with pytest.raises(ValueError, match=r"but approximation is 'ep'\. Set"):
            model.partial_fit(X, y)
        assert not hasattr(model, "_trained")


def test_a_batch_after_a_fit_is_refused(two):
    X, y = classes(60, 2)[:2]
    with pytest.raises(ValueError, match=r"but approximation is 'ep'\. Set"):
        two[1].partial_fit(X, y)
