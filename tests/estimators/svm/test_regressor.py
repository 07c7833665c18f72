"""Regression against scikit-learn and against (B.1) and (B.30)."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from pymc_bsvm.estimators import SVMRegressor
from tests.estimators.svm import problems
from tests.refusal import refused

X, Y, _, WEIGHT = problems.rows()


def objective(loss, C, K, a, b, weight):
    f = K @ a + b
    return C * weight @ problems.REGRESSION[loss](Y - f) + 0.5 * a @ K @ a


@pytest.mark.parametrize("loss", problems.REGRESSION)
def test_the_gap_is_that_of_the_papers(loss):
    C, K = 5.0, problems.rbf(X, X, 0.4)
    model = SVMRegressor(gamma=0.4, loss=loss, C=C).fit(X, Y, WEIGHT)
    a = problems.dual_of(model, Y.size)
    primal = objective(loss, C, K, a, model.intercept_, WEIGHT)
    dual = problems.dual_of_regression(loss, K, Y, a, C * WEIGHT)
    assert a.sum() == pytest.approx(0.0, abs=1e-9)
    if loss != "squared":
        assert np.all(np.abs(a) <= C * WEIGHT * (1.0 + 1e-12))
    assert model.converged_
    assert model.objective_ == pytest.approx(primal, rel=1e-10)
    assert model.duality_gap_ <= 1e-8 * primal
    assert primal + dual == pytest.approx(model.duality_gap_, abs=1e-10 * primal)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_objective_of_libsvm(kernel, C):
    theirs = SVR(kernel=kernel, gamma=0.4, C=C, epsilon=0.1, tol=1e-7).fit(X, Y, WEIGHT)
    ours = SVMRegressor(kernel, gamma=0.4, C=C, epsilon=0.1).fit(X, Y, WEIGHT)
    K = problems.rbf(X, X, 0.4) if kernel == "rbf" else X @ X.T
    a = np.zeros(Y.size)
    a[theirs.support_] = theirs.dual_coef_[0]
    reached = objective("epsilon_insensitive", C, K, a, theirs.intercept_[0], WEIGHT)
    assert ours.objective_ <= reached * (1.0 + 1e-12)
    assert ours.objective_ == pytest.approx(reached, rel=2e-5)  # what its tolerance leaves
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


def test_the_squared_loss_is_ridge_regression():
    C = 3.0
    model = SVMRegressor("linear", loss="squared", C=C).fit(X, Y, WEIGHT)
    ridge = Ridge(alpha=1.0 / C).fit(X, Y, WEIGHT)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_gap_is_relative_to_the_objective_in_any_unit(unit):
    model = SVMRegressor(C=2.0, epsilon=0.1).fit(X, Y)
    scaled = SVMRegressor(C=2.0 * unit, epsilon=0.1 * unit).fit(X, unit * Y)
    assert scaled.duality_gap_ <= 1e-8 * scaled.objective_
    assert scaled.objective_ == pytest.approx(unit**2 * model.objective_, rel=1e-7)
    np.testing.assert_allclose(scaled.predict(X), unit * model.predict(X), atol=1e-3 * unit)


def test_a_row_of_weight_zero_is_no_row():
    weight = np.where(np.arange(Y.size) % 4 == 0, 0.0, 1.0)
    kept = weight > 0.0
    model = SVMRegressor().fit(X, Y, weight)
    alone = SVMRegressor().fit(X[kept], Y[kept])
    assert kept[model.support_].all()
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@pytest.mark.parametrize("loss", ["silf", "epsilon_insensitive"])
@pytest.mark.parametrize("values", [[0.1, 1.0, 10.0], [10.0, 1.0]])
def test_a_path_ends_where_single_fits_do(loss, values):
    path = SVMRegressor(loss=loss).path(X, Y, values, WEIGHT)
    assert [model.C for model in path] == values
    for model in path:
        alone = SVMRegressor(loss=loss, C=model.C).fit(X, Y, WEIGHT)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-7)
        np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-3)


def test_gram_matrices_and_functions():
    model = SVMRegressor(gamma=0.4).fit(X[::2], Y[::2])
    K = problems.rbf(X, X[::2], 0.4)
    matrix = SVMRegressor("precomputed").fit(K[::2], Y[::2])
    function = SVMRegressor(lambda A, B: problems.rbf(A, B, 0.4)).fit(X[::2], Y[::2])
    np.testing.assert_allclose(matrix.predict(K), model.predict(X), atol=1e-5)
    np.testing.assert_allclose(function.predict(X), model.predict(X), atol=1e-5)


def test_a_grid_search():
    grid = {"C": [0.01, 1.0], "gamma": [0.01, 0.4], "epsilon": [0.1]}
    found = GridSearchCV(SVMRegressor(tol=1e-3), grid, cv=2).fit(X, Y)
    assert found.best_params_["C"] == 1.0


def test_what_is_refused():
    for name, value in {"loss": "hinge", "gamma": "wide"}.items():
        with refused(ValueError, name, value):
            SVMRegressor(**{name: value}).fit(X, Y)
    with refused(ValueError, "sample_weight", "negative"):
        SVMRegressor().fit(X, Y, -WEIGHT)
    with pytest.raises(ValueError, match="zero"):
        SVMRegressor().fit(X, Y, 0.0 * WEIGHT)
    with refused(ValueError, "square"):
        SVMRegressor("precomputed").fit(X, Y)
    with refused(ValueError, "max_iter", "0"):
        SVMRegressor(max_iter=0).fit(X, Y)
    with refused(ValueError, "nu", "'silf'"):
        SVMRegressor(loss="silf", nu=0.5).fit(X, Y)
    with refused(ValueError, "positive semidefinite"):
        SVMRegressor(lambda A, B: -A @ B.T).fit(X, Y)


def test_too_few_steps_are_a_warning():
    with pytest.warns(ConvergenceWarning, match="duality gap") as record:
        model = SVMRegressor(max_iter=1).fit(X, Y)
    assert not model.converged_
    assert record[0].filename == __file__
