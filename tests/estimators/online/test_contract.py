"""The contract and the habits of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from pymc_bsvm.estimators import OnlineSVC, OnlineSVR, kernels
from pymc_bsvm.losses import Huber, Logistic, SoftMarginL1
from tests.estimators.cases import refused
from tests.estimators.online import cases

BOTH = pytest.mark.parametrize("kind", [OnlineSVR, OnlineSVC])


@parametrize_with_checks(
    [
        OnlineSVR(),
        OnlineSVR("matern32", loss="squared", max_basis=12, n_sweeps=2),
        OnlineSVC(),
        OnlineSVC(loss="logistic", max_basis=12),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return cases.rows(40)


def target(kind, data):
    return data.y if is_regressor(kind()) else np.where(data.labels > 0.0, "yes", "no")


def said(model, X):
    """Return all that a model says of rows."""
    return model.predict_interval(X) if is_regressor(model) else model.predict_proba(X)


@BOTH
@pytest.mark.parametrize(
    "kernel",
    ["matern52", "poly", "bspline", "arcsine", kernels.RBF() + kernels.Linear()],
    ids=str,
)
def test_any_kernel(kind, kernel, data):
    model = kind(kernel).fit(data.X, target(kind, data))
    assert model.score(data.X, target(kind, data)) > 0.5


@BOTH
def test_a_function_is_a_kernel(kind, data):
    y = target(kind, data)
    called = kind(cases.covariance).fit(data.X, y)
    named = kind(**cases.KERNEL).fit(data.X, y)
    np.testing.assert_allclose(said(called, data.new), said(named, data.new), rtol=1e-8)


@BOTH
def test_grids_over_hyperparameters(kind, data):
    grid = {"hyperparameters": [{"ls": ls} for ls in (0.01, 1.0, 100.0)]}
    found = GridSearchCV(kind(), grid, cv=3).fit(data.X, target(kind, data))
    assert found.best_params_["hyperparameters"] == {"ls": 1.0}


@BOTH
def test_copies_learn_on(kind, data):
    y, first, then = target(kind, data), slice(0, 30), slice(30, 40)
    model = kind(max_basis=10).fit(data.X[first], y[first])
    content = pickle.dumps(model)
    kept = {tuple(z) for z in model.basis_vectors_}
    left_out = [x for x in data.X[first] if tuple(x) not in kept]
    assert left_out
    assert not any(x.tobytes() in content for x in left_out)
    before = said(model, data.new)
    copy = pickle.loads(content)
    np.testing.assert_array_equal(said(copy, data.new), before)
    copy.partial_fit(data.X[then], y[then])
    np.testing.assert_array_equal(said(model, data.new), before)
    model.partial_fit(data.X[then], y[then])
    np.testing.assert_array_equal(said(copy, data.new), said(model, data.new))
    assert not np.array_equal(said(model, data.new), before)
    twin = clone(model).fit(data.X[first], y[first])
    np.testing.assert_array_equal(said(twin, data.new), before)


@BOTH
def test_settings_after_the_fit_do_not_change_it(kind, data):
    y = target(kind, data)
    model, other = (kind(max_basis=10).fit(data.X, y) for _ in range(2))
    model.set_params(kernel="linear", max_basis=3, novelty=0.5, offset=0.0)
    np.testing.assert_array_equal(said(model, data.new), said(other, data.new))
    for each in (model, other):
        each.partial_fit(data.X + 0.1, y)
    np.testing.assert_array_equal(said(model, data.new), said(other, data.new))


@BOTH
def test_too_few_sweeps_warn(kind, data):
    with pytest.warns(ConvergenceWarning, match=r"n_sweeps=2 sweeps.*Raise n_sweeps") as record:
        model = kind(n_sweeps=2).fit(data.X, target(kind, data))
    assert (model.converged_, model.n_iter_) == (False, 2)
    assert model.residual_ > 1e-6
    assert record[0].filename == __file__


def test_losses_by_name_are_objects(data):
    one = OnlineSVR(loss="huber", C=3.0, epsilon=0.2).fit(data.X, data.y)
    two = OnlineSVR(loss=Huber(3.0, 0.2)).fit(data.X, data.y)
    np.testing.assert_array_equal(said(one, data.new), said(two, data.new))
    assert one.loss_ == two.loss_ == Huber(3.0, 0.2)
    assert OnlineSVC(loss="logistic").fit(data.X, data.labels).loss_ == Logistic()


@BOTH
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "precomputed"}, ["kernel", "'precomputed'"]),
        ({"kernel": "wavelet"}, ["kernel", "'wavelet'"]),
        ({"hyperparameters": {"gamma": 0.5}}, ["'gamma'", "'eta', 'ls'"]),
        ({"hyperparameters": 0.5}, ["hyperparameters", "dict"]),
        ({"offset": -1.0}, ["offset", "0 <= offset"]),
        ({"max_basis": 0}, ["max_basis", ">= 1"]),
        ({"max_basis": 2.5}, ["max_basis", "2.5"]),
        ({"novelty": 0.0}, ["novelty", "1e-08 <= novelty < 1"]),
        ({"n_sweeps": 0}, ["n_sweeps", ">= 1"]),
        ({"n_sweeps": True}, ["n_sweeps", "True"]),
        ({"tol": 0.0}, ["tol", "0 < tol"]),
        ({"loss": "hinge"}, ["loss", "'hinge'"]),
        ({"loss": SoftMarginL1(1.0)}, ["likelihood"]),
    ],
    ids=str,
)
def test_settings_that_are_wrong(kind, settings, words, data):
    with refused(ValueError, *words):
        kind(**settings).fit(data.X, target(kind, data))


@pytest.mark.parametrize("name", ["C", "epsilon", "beta"])
def test_parameters_of_a_loss_that_are_wrong(name, data):
    with refused(ValueError, name, "-1"):
        OnlineSVR(**{name: -1.0}).fit(data.X, data.y)


@BOTH
def test_nothing_works_before_the_fit(kind, data):
    for name in ("predict", "predict_interval", "decision_function", "predict_proba"):
        if hasattr(kind, name):
            with pytest.raises(NotFittedError):
                getattr(kind(), name)(data.new)
