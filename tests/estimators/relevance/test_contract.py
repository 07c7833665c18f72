"""The contract and the habits of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from pymc_bsvm.estimators import RelevanceVectorClassifier, RelevanceVectorRegressor, kernels
from tests.estimators import cases

BOTH = pytest.mark.parametrize("kind", [RelevanceVectorRegressor, RelevanceVectorClassifier])


@parametrize_with_checks(
    [
        RelevanceVectorRegressor(),
        RelevanceVectorRegressor("linear", variance="full"),
        RelevanceVectorClassifier(),
        RelevanceVectorClassifier(variance="full", bias=False, standardize=False),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return cases.plane(60)


def target(kind, data):
    return data.y if is_regressor(kind()) else data.labels


@BOTH
def test_grids_over_hyperparameters(kind, data):
    grid = {"hyperparameters": [{"ls": ls} for ls in (0.01, 1.0, 100.0)]}
    found = GridSearchCV(kind(), grid, cv=3).fit(data.X, target(kind, data))
    assert found.best_params_["hyperparameters"] == {"ls": 1.0}


@BOTH
@pytest.mark.parametrize(
    "kernel",
    ["matern52", "poly", "bspline", "dirichlet", kernels.RBF() + kernels.Linear()],
    ids=str,
)
def test_any_kernel(kind, kernel, data):
    y = target(kind, data)
    model = kind(kernel).fit(data.X, y)
    assert model.converged_
    assert model.score(data.X, y) > 0.7


@BOTH
def test_a_function_and_its_matrix_are_the_same(kind, data):
    y, X = target(kind, data), (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    new = (data.new - data.X.mean(axis=0)) / data.X.std(axis=0)

    def function(A, B):
        return cases.rbf(A, B, 2.0, 1.0)

    one = kind(function, standardize=is_regressor(kind())).fit(X, y)
    two = kind("precomputed").fit(function(X, X), y)
    np.testing.assert_array_equal(two.relevance_, one.relevance_)
    if is_regressor(two):
        np.testing.assert_allclose(two.predict(function(new, X)), one.predict(new), rtol=1e-12)
    else:
        np.testing.assert_array_equal(two.predict(function(new, X)), one.predict(new))


@BOTH
@pytest.mark.parametrize("variance", ["relevance", "full"])
def test_copies(kind, variance, data):
    model = kind(variance=variance).fit(data.X, target(kind, data))
    content = pickle.dumps(model)
    copy = pickle.loads(content)
    method = "predict_interval" if is_regressor(model) else "predict_proba"
    np.testing.assert_array_equal(getattr(copy, method)(data.new), getattr(model, method)(data.new))
    left_out = np.setdiff1d(np.arange(60), model.relevance_)
    assert not any(data.X[k].tobytes() in content for k in left_out)
    twin = clone(model).fit(data.X, target(kind, data))
    np.testing.assert_array_equal(twin.relevance_, model.relevance_)


@BOTH
def test_settings_after_the_fit_do_not_change_it(kind, data):
    model = kind().fit(data.X, target(kind, data))
    method = "predict_interval" if is_regressor(model) else "predict_proba"
    before = getattr(model, method)(data.new)
    model.set_params(kernel="linear", standardize=False, variance="full")
    np.testing.assert_array_equal(getattr(model, method)(data.new), before)


@BOTH
def test_a_search_that_is_cut_short_warns(kind, data):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .*Raise max_iter") as record:
        model = kind(max_iter=2).fit(data.X, target(kind, data))
    assert not model.converged_
    assert model.n_iter_ == 2
    assert record[0].filename == __file__


@BOTH
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variance": "both"}, ["variance", "'both'"]),
        ({"bias": 1}, ["bias", "True or False"]),
        ({"standardize": "yes"}, ["standardize", "True or False"]),
        ({"tol": 0.0}, ["tol", "0 < tol"]),
        ({"max_iter": 0}, ["max_iter", ">= 1"]),
        ({"hyperparameters": 0.5}, ["hyperparameters", "dict"]),
        ({"hyperparameters": {"gamma": 0.5}}, ["'gamma'", "'eta', 'ls'"]),
        ({"hyperparameters": {"ls": -0.5}}, ["ls", "0 < ls"]),
        ({"hyperparameters": {"ls": "wide"}}, ["ls", "'wide'"]),
        ({"hyperparameters": {"ls": [1.0, 2.0]}}, ["(2,)", "ard=True"]),
    ],
)
def test_settings_that_are_wrong(kind, settings, words, data):
    with cases.refused(ValueError, *words):
        kind(**settings).fit(data.X, target(kind, data))


@BOTH
def test_nothing_works_before_the_fit(kind, data):
    for name in ("predict", "predict_interval", "decision_function", "predict_proba"):
        if hasattr(kind, name):
            with pytest.raises(NotFittedError):
                getattr(kind(), name)(data.new)
