"""`RelevanceVectorRegressor` against dense matrices, in the units of the data."""

import numpy as np
import pytest

from pymc_bsvm.datasets import sinc
from pymc_bsvm.estimators import RelevanceVectorRegressor, kernels
from pymc_bsvm.estimators.kernels.precomputed import UnknownVariance
from tests.estimators import cases as rows
from tests.estimators.relevance import cases


@pytest.fixture(scope="module")
def data():
    return rows.plane(60)


@pytest.fixture(scope="module")
def model(data):
    return RelevanceVectorRegressor(hyperparameters={"ls": 1.0}).fit(data.X, data.y)


def dense(model, X, new, unit):
    """Return mean and variance of the function from what the model says of itself."""
    ls = X.std(axis=0)
    alpha = model._machine.alpha / unit**2
    own, cross = (rows.rbf(each, model.relevance_vectors_, 1.0, ls) for each in (X, new))
    if alpha.size > model.relevance_.size:
        own, cross = (np.column_stack([each, np.ones(len(each))]) for each in (own, cross))
    beta = 1.0 / model.noise_.sigma**2
    return own, cross, alpha, np.linalg.inv(np.diag(alpha) + beta * own.T @ own)


def test_predictions_are_those_of_dense_matrices(data, model):
    unit, centre = data.y.std(), data.y.mean()
    own, cross, _, covariance = dense(model, data.X, data.new, unit)
    weights = covariance @ own.T @ (data.y - centre) / model.noise_.sigma**2
    mean, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(mean, centre + cross @ weights, rtol=1e-8)
    variance = np.einsum("ij,jk,ik->i", cross, covariance, cross) + model.noise_.sigma**2
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(data.new), mean)


def test_the_function_is_the_sum_of_its_attributes(data, model):
    K = rows.rbf(data.new, model.relevance_vectors_, 1.0, data.X.std(axis=0))
    np.testing.assert_allclose(
        K @ model.dual_coef_ + model.intercept_, model.predict(data.new), rtol=1e-10
    )
    np.testing.assert_array_equal(model.relevance_vectors_, data.X[model.relevance_])
    assert model.relevance_.size < 15


def test_the_evidence_is_that_of_the_targets(data, model):
    own, _, alpha, _ = dense(model, data.X, data.new, data.y.std())
    expected = cases.log_evidence(own, alpha, model.noise_.sigma**2, data.y - data.y.mean())
    assert model.log_evidence_ == pytest.approx(expected, abs=1e-8)
    assert model.log_evidence_ == model.evidence_path_[-1]
    assert np.diff(model.evidence_path_).min() > -1e-8
    assert model.n_iter_ == model.evidence_path_.size - 1


def test_the_full_variance_is_that_of_the_process_far_away(data):
    """With what the relevance vectors leave, as conditioning on the values at them says."""
    ls, unit = data.X.std(axis=0), data.y.std()
    model = RelevanceVectorRegressor(hyperparameters={"ls": 1.0}, variance="full")
    model.fit(data.X, data.y)
    Z, machine = model.relevance_vectors_, model._machine
    m = len(Z)
    _, cross, _, covariance = dense(model, data.X, data.new, unit)
    K, kz = rows.rbf(Z, Z, 1.0, ls), cross[:, :m]
    w = model.dual_coef_
    amplitude = (w @ K @ w + np.trace(K @ covariance[:m, :m])) / m
    left = 1.0 - np.einsum("ij,ij->i", kz, np.linalg.solve(K, kz.T).T)
    expected = np.einsum("ij,jk,ik->i", cross, covariance, cross) + amplitude * left
    _, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(std**2, expected + model.noise_.sigma**2, rtol=1e-5)
    far = data.X.mean(axis=0) + 50.0 * ls
    _, std = model.predict([far], return_std=True)
    constant = covariance[m:, m:].sum()
    assert std[0] ** 2 == pytest.approx(amplitude + constant + model.noise_.sigma**2, rel=1e-8)
    assert machine.amplitude * unit**2 == pytest.approx(amplitude, rel=1e-8)


def test_the_variance_of_the_weights_vanishes_far_away(data, model):
    far = data.X.mean(axis=0) + 50.0 * data.X.std(axis=0)
    _, std = model.predict([far], return_std=True)
    constant = model._machine.covariance[model.relevance_.size :, model.relevance_.size :].sum()
    assert std[0] ** 2 == pytest.approx(
        model.noise_.sigma**2 + data.y.std() ** 2 * constant, rel=1e-8
    )


def test_intervals_hold_the_targets():
    noise = {"noise": "gaussian", "sigma": 0.1}
    X, y = sinc(200, random_state=1, **noise)
    X_new, y_new = sinc(1000, random_state=2, **noise)
    model = RelevanceVectorRegressor(hyperparameters={"ls": 0.35}).fit(X, y)
    low, high = model.predict_interval(X_new, coverage=0.9)
    assert 0.83 < np.mean((low <= y_new) & (y_new <= high)) < 0.93
    assert np.sqrt(np.mean((model.predict(X_new) - np.sinc(X_new[:, 0] / np.pi)) ** 2)) < 0.03
    assert 0.09 < model.noise_.sigma < 0.11


def test_units_are_those_of_the_data(data, model):
    other = RelevanceVectorRegressor(hyperparameters={"ls": 1.0})
    other.fit(data.X * [1e3, 1e-2], 100.0 * data.y - 7.0)
    np.testing.assert_array_equal(other.relevance_, model.relevance_)
    new = data.new * [1e3, 1e-2]
    np.testing.assert_allclose(other.predict(new), 100.0 * model.predict(data.new) - 7.0, rtol=1e-6)
    assert other.noise_.sigma == pytest.approx(100.0 * model.noise_.sigma, rel=1e-6)
    shift = data.y.size * np.log(100.0)
    assert other.log_evidence_ == pytest.approx(model.log_evidence_ - shift, abs=1e-5)


def test_a_length_scale_for_each_column(data):
    kernel, scales = kernels.RBF(ard=True), np.array([1.0, 3.0])
    own = RelevanceVectorRegressor(kernel, hyperparameters={"ls": scales}).fit(data.X, data.y)
    same = RelevanceVectorRegressor(hyperparameters={"ls": 1.0}, standardize=False)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0) / scales
    same.fit(X, (data.y - data.y.mean()) / data.y.std())
    np.testing.assert_array_equal(own.relevance_, same.relevance_)


def test_the_constant_is_an_option(data):
    model = RelevanceVectorRegressor(bias=False).fit(data.X, data.y)
    assert model.intercept_ == data.y.mean()
    free = RelevanceVectorRegressor(bias=False, standardize=False, hyperparameters={"ls": 1.0})
    assert free.fit(data.X / data.X.std(axis=0), data.y).intercept_ == 0.0


def test_targets_that_do_not_vary():
    model = RelevanceVectorRegressor(variance="full").fit(np.arange(5.0)[:, None], np.full(5, 3.0))
    assert model.relevance_.size == 0
    mean, std = model.predict([[2.0]], return_std=True)
    assert mean[0] == 3.0
    assert 0.0 < std[0] < 1e-6


def test_a_function_is_not_asked_about_no_rows():
    def function(A, B):
        assert min(len(A), len(B)) > 0
        return rows.rbf(A, B, 1.0, 1.0)

    X, y = np.arange(5.0)[:, None], np.full(5, 3.0)
    model = RelevanceVectorRegressor(function).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    matrix = RelevanceVectorRegressor("precomputed", variance="full").fit(function(X, X), y)
    np.testing.assert_array_equal(matrix.predict(np.ones((2, 5))), [3.0, 3.0])
    with rows.refused(UnknownVariance, "2 new rows", "variances"):
        matrix.predict(np.ones((2, 5)), return_std=True)
