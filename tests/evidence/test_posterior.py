"""`LaplacePosterior` against dense matrices, literal deletion of rows, and exact regression."""

import numpy as np
import pytest
from scipy.stats import norm

from pymc_bsvm import losses
from pymc_bsvm.evidence.laplace import laplace_evidence
from pymc_bsvm.evidence.sparse_posterior import SparsePosterior
from tests.evidence.test_laplace import LOSSES
from tests.oracle import evidence as oracle
from tests.solvers.problems import problem, rbf, sinc, two_classes

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def regular(loss, n, seed=0):
    """Return a well conditioned problem with a prior mean."""
    K, y = problem(loss, n, seed)
    return K + 0.1 * np.eye(n), y, 0.05 * np.random.default_rng(seed).normal(size=n)


def with_new_rows(loss, n, n_new, seed=0):
    """Split a covariance into that of the training rows, of the new ones, and across."""
    if loss.task == "regression":
        X, y = sinc(n + n_new, seed)
        K = rbf(X, 1.0, 5.0, 0.5)
    else:
        X, y = two_classes(n + n_new, seed)
        K = rbf(X, 2.0, 1.0, 1.0)
    return K[:n, :n], y[:n], K[:n, n:], K[n:, n:]


# ---- the latent values of the training rows -----------------------------------------------------


@every_loss
@pytest.mark.parametrize("curvature", ["smooth", "exact"])
@pytest.mark.parametrize("seed", [0, 1])
def test_mean_variance_and_effective_parameters(loss, curvature, seed):
    K, y, m = regular(loss, 30, seed)
    got = laplace_evidence(K, y, loss, curvature, m=m)
    posterior, f = got.posterior, got.solution.f
    V = oracle.posterior_covariance(K, y, loss, f)
    np.testing.assert_array_equal(posterior.mean, f)
    np.testing.assert_allclose(posterior.variance, np.diag(V), **CLOSE)
    assert np.all(posterior.variance <= np.diag(K))
    W = oracle.curvature(loss, y, f)
    share = np.trace(K @ np.diag(W) @ np.linalg.inv(np.eye(30) + K @ np.diag(W)))
    assert posterior.effective_parameters == pytest.approx(share, rel=1e-10)
    assert 0.0 < posterior.effective_parameters < got.solution.free.sum()
    # each row that is free takes away what its curvature says
    assert share == pytest.approx((W * np.diag(V)).sum(), rel=1e-10)


@every_loss
def test_mode_is_where_the_oracle_has_no_slope(loss):
    K, y, m = regular(loss, 30)
    s = laplace_evidence(K, y, loss, m=m).solution
    formulas = oracle.FORMULAS[type(loss).__name__]
    slope = formulas.slope(y, s.f, *(getattr(loss, p) for p in formulas.parameters))
    np.testing.assert_allclose(slope + np.linalg.solve(K, s.f - m), 0.0, rtol=0, atol=1e-7)


@every_loss
def test_the_ramps_leave_the_posterior_alone(loss):
    K, y, m = regular(loss, 30)
    width = 1.0 if loss.ramp_width > 0.0 else None
    smooth = laplace_evidence(K, y, loss, "smooth", m=m, ramp_width=width).posterior
    exact = laplace_evidence(K, y, loss, "exact", m=m).posterior
    np.testing.assert_array_equal(smooth.variance, exact.variance)
    np.testing.assert_array_equal(smooth.cavity.mean, exact.cavity.mean)
    assert smooth.effective_parameters == exact.effective_parameters


@every_loss
def test_singular_covariance(loss):
    """Duplicate rows share their posterior; the limit of a small jitter is reached."""
    K, y = problem(loss, 10)
    rows = np.tile(np.arange(10), 2)
    K, y = K[np.ix_(rows, rows)], y[rows]
    got = laplace_evidence(K, y, loss).posterior
    np.testing.assert_allclose(got.variance[:10], got.variance[10:], rtol=1e-10)
    W = oracle.curvature(loss, y, got.mean)
    V = np.linalg.solve(np.eye(20) + K * W, K)  # (K⁻¹ + W)⁻¹ without K⁻¹
    np.testing.assert_allclose(got.variance, np.diag(V), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6, 1e12])
def test_variance_does_not_cancel_where_the_data_say_much(scale):
    sigma = 1e-4
    K = scale * (np.eye(4) + 0.5)
    got = laplace_evidence(K, [1.0, -1.0, 0.5, 0.0], losses.Gaussian(sigma)).posterior
    values, vectors = np.linalg.eigh(K)
    V = (vectors * (values * sigma**2 / (values + sigma**2))) @ vectors.T  # terms of one sign
    np.testing.assert_allclose(got.variance, np.diag(V), rtol=1e-10)
    np.testing.assert_allclose(got.cavity.variance, _deleted_variance(K, sigma), rtol=1e-6)


def _deleted_variance(K, sigma):
    """Latent variance of each row given the noisy targets of the others."""
    n = len(K)
    result = np.empty(n)
    for i in range(n):
        o = np.delete(np.arange(n), i)
        A = K[np.ix_(o, o)] + sigma**2 * np.eye(n - 1)
        result[i] = K[i, i] - K[i, o] @ np.linalg.solve(A, K[o, i])
    return result


def test_no_free_row_leaves_the_prior():
    K = rbf(np.linspace(-1.0, 1.0, 6)[:, None])
    for loss, y in [
        (losses.SILF(0.05, 0.2), np.resize([4.0, -4.0, 5.0], 6)),  # all bound
        (losses.SILF(5.0, 0.5), np.full(6, 0.01)),  # all flat
    ]:
        got = laplace_evidence(K, y, loss).posterior
        np.testing.assert_array_equal(got.variance, 1.0)
        assert got.effective_parameters == 0.0
        np.testing.assert_array_equal(got.cavity.variance, 1.0)
        np.testing.assert_allclose(got.cavity.mean, got.mean - got.a, rtol=1e-14)
        cross, prior = K[:, :2], K[:2, :2]
        np.testing.assert_array_equal(got.predict_variance(cross, np.ones(2)), 1.0)
        np.testing.assert_array_equal(got.predict_covariance(cross, prior), prior)
        expected = cross.T @ got.a
        np.testing.assert_allclose(got.predict_mean(cross), expected, rtol=1e-13, atol=1e-15)


# ---- leave-one-out ------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("seed", [0, 1])
def test_cavity_by_literal_deletion(loss, seed):
    K, y, m = regular(loss, 25, seed)
    got = laplace_evidence(K, y, loss, m=m)
    expected = oracle.leave_one_out(K, y, loss, got.solution.a, got.solution.f)
    cavity = got.posterior.cavity
    np.testing.assert_allclose(cavity.variance, expected.variance, **CLOSE)
    np.testing.assert_allclose(cavity.mean, expected.mean, rtol=1e-8, atol=1e-9)
    assert np.all(cavity.variance >= got.posterior.variance)
    off = ~got.solution.support
    np.testing.assert_array_equal(cavity.mean[off], got.posterior.mean[off])


@pytest.mark.parametrize("sigma", [0.05, 0.4, 3.0])
def test_cavity_of_gaussian_noise_is_exact(sigma):
    """[RW06] (5.12): the noisy target given all others."""
    loss = losses.Gaussian(sigma)
    K, y, m = regular(loss, 30, 3)
    cavity = laplace_evidence(K, y, loss, m=m).posterior.cavity
    expected = oracle.gaussian_leave_one_out(K, y, sigma, m)
    np.testing.assert_allclose(cavity.mean, expected.mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(cavity.variance + sigma**2, expected.variance, rtol=1e-10)


@pytest.mark.parametrize("sigma", [0.05, 0.4, 3.0])
def test_log_predictive_of_gaussian_noise_is_exact(sigma):
    """[RW06] (5.10)."""
    loss = losses.Gaussian(sigma)
    K, y, m = regular(loss, 30, 3)
    got = laplace_evidence(K, y, loss, m=m).posterior.log_predictive
    expected = oracle.log_normal(y, *oracle.gaussian_leave_one_out(K, y, sigma, m))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


@every_loss
def test_log_predictive_by_quadrature(loss):
    """The density of each target under the Gaussian that its deletion leaves."""
    K, y, m = regular(loss, 12, 4)
    got = laplace_evidence(K, y, loss, m=m)
    mean, variance = oracle.leave_one_out(K, y, loss, got.solution.a, got.solution.f)
    u = np.linspace(-12.0, 12.0, 400_001)
    for i in range(12):
        f = mean[i] + np.sqrt(variance[i]) * u
        density = np.exp(-loss.value(y[i], f) - loss.log_normalizer() - 0.5 * u**2)
        expected = np.log(np.trapezoid(density, u) / np.sqrt(2.0 * np.pi))
        assert got.posterior.log_predictive[i] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_huber_with_a_wide_tube_leaves_one_out_like_gaussian_noise():
    loss = losses.Huber(0.8, 30.0)
    K, y, m = regular(loss, 25, 5)
    got = laplace_evidence(K, y, loss, m=m).posterior
    expected = oracle.gaussian_leave_one_out(K, y, np.sqrt(2.0 * 30.0 / 0.8), m)
    np.testing.assert_allclose(got.cavity.mean, expected.mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(got.cavity.variance + 75.0, expected.variance, rtol=1e-11)
    np.testing.assert_allclose(got.log_predictive, oracle.log_normal(y, *expected), rtol=1e-7)


# ---- new rows -----------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("curvature", ["smooth", "exact"])
def test_predictions_against_dense_matrices(loss, curvature):
    K, y, cross, prior = with_new_rows(loss, 40, 9, 1)
    got = laplace_evidence(K, y, loss, curvature)
    mean, covariance = oracle.predict(K, y, loss, got.solution.a, got.solution.f, cross, prior)
    posterior = got.posterior
    np.testing.assert_allclose(posterior.predict_mean(cross), mean, rtol=1e-10, atol=1e-11)
    variance = posterior.predict_variance(cross, np.diag(prior))
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-8, atol=1e-10)
    full = posterior.predict_covariance(cross, prior)
    np.testing.assert_allclose(full, covariance, rtol=1e-8, atol=1e-10)
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() > 1e-3
    lists = posterior.predict_variance(cross.tolist(), list(np.diag(prior)))
    np.testing.assert_array_equal(lists, variance)


@every_loss
def test_predictions_at_the_training_rows_are_the_posterior(loss):
    K, y, m = regular(loss, 30)
    posterior = laplace_evidence(K, y, loss, m=m).posterior
    np.testing.assert_allclose(m + posterior.predict_mean(K), posterior.mean, **CLOSE)
    variance = posterior.predict_variance(K, np.diag(K))
    np.testing.assert_allclose(variance, posterior.variance, rtol=1e-8, atol=1e-12)
    V = oracle.posterior_covariance(K, y, loss, posterior.mean)
    np.testing.assert_allclose(posterior.predict_covariance(K, K), V, rtol=1e-8, atol=1e-11)


def test_predictions_far_away_are_the_prior():
    K, y, m = regular(losses.SILF(10.0, 0.1), 30)
    posterior = laplace_evidence(K, y, losses.SILF(10.0, 0.1), m=m).posterior
    nothing, prior = np.zeros((30, 3)), np.array([[1.0, 0.2, 0.1], [0.2, 2.0, 0.0], [0.1, 0.0, 3]])
    np.testing.assert_array_equal(posterior.predict_mean(nothing), 0.0)
    np.testing.assert_array_equal(posterior.predict_variance(nothing, np.diag(prior)), [1, 2, 3])
    np.testing.assert_array_equal(posterior.predict_covariance(nothing, prior), prior)
    assert posterior.predict_mean(np.zeros((30, 0))).shape == (0,)


def test_arguments_of_the_predictions_are_not_changed():
    loss = losses.SILF(10.0, 0.1)
    K, y, cross, prior = with_new_rows(loss, 20, 4)
    posterior = laplace_evidence(K, y, loss).posterior
    diagonal = np.diag(prior).copy()
    copies = [x.copy() for x in (K, y, cross, prior, diagonal)]
    posterior.predict_mean(cross)
    posterior.predict_variance(cross, diagonal)
    posterior.predict_covariance(cross, prior)
    assert posterior.variance.min() >= 0.0
    for x, copy in zip((K, y, cross, prior, diagonal), copies, strict=True):
        np.testing.assert_array_equal(x, copy)


def test_variances_of_known_values_do_not_go_below_zero():
    loss = losses.Gaussian(1e-4)
    K = rbf(np.linspace(-1.0, 1.0, 40)[:, None])  # singular to rounding
    y = np.sin(np.linspace(-1.0, 1.0, 40))
    posterior = laplace_evidence(K, y, loss).posterior
    assert np.all(posterior.variance >= 0.0)
    assert np.all(posterior.variance <= 1.0001e-8)  # at most that of the row's own noise
    assert np.all(posterior.predict_variance(K, np.ones(40)) >= 0.0)


def test_leaving_out_rows_with_noise_of_their_own():
    """(5.12) of [RW06], with the noise variance of each row on the diagonal."""
    X, y = sinc(40)
    K, sigma = rbf(X, 1.0, 5.0), 0.3 * np.exp(np.linspace(-1.5, 1.5, 40))
    got = laplace_evidence(K, y, losses.Gaussian(sigma)).posterior.log_predictive
    inverse = np.linalg.inv(K + np.diag(sigma**2))
    variance = 1.0 / np.diag(inverse)
    mean = y - (inverse @ y) * variance
    np.testing.assert_allclose(got, norm(mean, np.sqrt(variance)).logpdf(y), rtol=1e-8)


# ---- at the limits ------------------------------------------------------------------------------


def test_rounding_does_not_make_variances_negative():
    """One row with the variance k and next to no noise leaves 1e-18 of what is its equal."""
    for k in np.random.default_rng(0).uniform(0.1, 10.0, 50):
        lower = np.array([[np.sqrt(1.0 + 1e18 * k)]])
        posterior = SparsePosterior(np.zeros(1), np.arange(1), np.array([1e9]), lower)
        variance = posterior.variance(np.array([[k]]), np.array([k]))
        assert 0.0 <= variance[0] < 1e-14


def test_covariances_of_the_wrong_shape():
    K, y, _ = regular(losses.SILF(10.0, 0.1), 12)
    posterior = laplace_evidence(K, y, losses.SILF(10.0, 0.1)).posterior
    for prior in (np.ones(2), np.ones(4), np.ones(1), 1.0):
        with pytest.raises(ValueError, match=r"prior has shape \(.*\), but cross has 3 columns"):
            posterior.predict_variance(K[:, :3], prior)
    with pytest.raises(ValueError, match="cross must have two dimensions, but it has 1"):
        posterior.predict_mean(K[0])
    with pytest.raises(ValueError, match="cross has 13 rows, but there are 12 training rows"):
        posterior.predict_mean(np.ones((13, 2)))
