"""Which approximation an estimator takes by itself, and what follows from it."""

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.approximations import EP, Laplace
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.estimators.likelihood import trigonometric_likelihood
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence
from pymc_bsvm.estimators.route import route_of
from tests.estimators import cases

pytestmark = cases.ANY_END

SILF, LABELS = losses.SILF(10.0, 0.1, 0.3), losses.Trigonometric()


@pytest.mark.parametrize(
    ("asked", "loss", "n", "weight", "kind", "prior"),
    [
        ("auto", LABELS, 2000, None, EP, 1.0),
        ("auto", LABELS, 2001, None, Laplace, None),
        ("auto", LABELS, 50, np.array([1.0, 2.5]), EP, 1.0),
        ("auto", LABELS, 50, np.array([0.9, 2.5]), Laplace, None),
        ("auto", losses.Probit(), 50, None, EP, 1.0),
        ("auto", SILF, 50, None, Laplace, None),
        ("auto", losses.Laplace(2.0), 50, None, EP, None),
        ("laplace", LABELS, 50, None, Laplace, None),
        ("ep", SILF, 5000, None, EP, None),
        (EP(tol=1e-4), LABELS, 50, None, EP, None),
    ],
)
def test_routes(asked, loss, n, weight, kind, prior):
    route = route_of(asked, loss, n, weight)
    assert type(route.approximation) is kind
    assert route.prior == prior


def test_what_a_loss_lacks_is_an_error_when_it_is_asked_for():
    with pytest.raises(ValueError, match="has no curvature"):
        route_of("laplace", losses.Laplace(2.0), 50, None)


def test_the_prior_is_a_parabola_about_the_starts():
    data = cases.plane(25)
    y = np.where(data.labels == "yes", 1.0, -1.0)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    alone, beside = (
        MachineEvidence(
            Blueprint(RBF(), trigonometric_likelihood(), 100.0, 2, EP(), sd), X, y, None
        )
        for sd in (None, 0.7)
    )
    starts = np.log([h.start for h in alone.blueprint.hyperparameters])
    x = starts + np.array([0.8, -0.3])
    value, slope = beside(x)
    evidence, of_evidence = alone(x)
    assert value == pytest.approx(evidence - 0.5 * (0.64 + 0.09) / 0.49, abs=1e-9)
    np.testing.assert_allclose(slope, of_evidence - np.array([0.8, -0.3]) / 0.49, atol=1e-7)
    assert beside.log_evidence == pytest.approx(evidence, abs=1e-9)
    for k, step in enumerate(1e-4 * np.eye(2)):
        difference = (beside(x + step)[0] - beside(x - step)[0]) / 2e-4
        assert slope[k] == pytest.approx(difference, rel=1e-4, abs=1e-5)


@pytest.fixture(scope="module")
def rings():
    X, y = bsvm.datasets.ringnorm(200, random_state=50)
    return X, y, *bsvm.datasets.ringnorm(2000, random_state=51)


def log_loss(model, X, y):
    p = model.predict_proba(X)
    return -np.log(p[np.arange(y.size), np.searchsorted(model.classes_, y)]).mean()


def confidence_gap(model, X, y):
    """Return the share of right predictions less their mean probability."""
    return np.mean(model.predict(X) == y) - model.predict_proba(X).max(axis=1).mean()


def test_probabilities_are_bolder_than_laplace_s_and_right(rings):
    X, y, X_new, y_new = rings
    settings = {"calibration": "model", "random_state": 0}
    model = BayesianSVC(**settings).fit(X, y)
    timid = BayesianSVC(approximation="laplace", **settings).fit(X, y)
    assert model.approximation_ == EP(tol=1e-4)
    assert isinstance(timid.approximation_, Laplace)
    assert 0.0 <= model.residual_ <= 1e-4
    assert timid.residual_ == timid.gap_
    assert log_loss(model, X_new, y_new) < log_loss(timid, X_new, y_new) - 0.03
    assert confidence_gap(model, X_new, y_new) < 0.6 * confidence_gap(timid, X_new, y_new)


def test_support_vectors_are_those_of_the_map_estimate(rings):
    X, y, *_ = rings
    model = BayesianSVC(random_state=0).fit(X, y)
    Z, h = (X - X.mean(axis=0)) / X.std(axis=0), model.hyperparameters_[0]
    K = cases.rbf(Z, Z, h["eta"], h["ls"] / X.std(axis=0)) + 100.0
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    solution = bsvm.solve_dual(K, signs, losses.Trigonometric())
    np.testing.assert_array_equal(model.support_, np.flatnonzero(solution.a))
    np.testing.assert_allclose(model.dual_coef_[0], solution.a[model.support_], atol=1e-6)
    evidence = bsvm.ep_evidence(K, signs, losses.Trigonometric())
    assert model.log_evidence_ == pytest.approx(evidence.log_evidence, abs=1e-3)
    assert model.gap_ < 1e-5


def test_noise_with_a_kink():
    data = cases.line(40)
    model = BayesianSVR(loss="laplace", tol=1.0, random_state=0).fit(data.X, data.y)
    assert model.approximation_ == EP(tol=1e-4)
    assert np.abs(model.predict(data.X) - np.sin(data.X[:, 0])).max() < 0.4
    with pytest.raises(ValueError, match="Laplace has no curvature"):
        BayesianSVR(loss="laplace", approximation="laplace").fit(data.X, data.y)


def test_weights_below_one_go_by_laplace_s_method(rings):
    X, y, *_ = rings
    balanced = BayesianSVC(class_weight="balanced", random_state=0).fit(X[:60], y[:60])
    assert isinstance(balanced.approximation_, Laplace)
