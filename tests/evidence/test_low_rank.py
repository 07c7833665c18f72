"""The Laplace evidence of a covariance of low rank against that of the matrix, and differences."""

import numpy as np
import pytest

from pymc_bsvm import LowRank, laplace_evidence, losses
from pymc_bsvm.covariance.conditioned import Conditioned

LOSSES = (
    losses.SILF(6.0, 0.15, 0.3),
    losses.Huber(4.0, 0.2),
    losses.Gaussian(0.3),
    losses.Trigonometric(1.0),
    losses.Logistic(),
    losses.Probit(),
)
EVERY = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def problem(loss, n=60, rank=7, seed=4):
    """Return features, targets and a prior mean."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    A = np.exp(-0.5 * (x[:, None] - np.linspace(-3.0, 3.0, rank)) ** 2)
    y = np.sin(2.0 * x) + 0.3 * rng.normal(size=n)
    return A, np.sign(y) if loss.task == "classification" else y, 0.1 * np.cos(x)


def diagonals(n):
    return 0.0, 0.05, np.random.default_rng(0).uniform(0.0, 0.2, n)


@EVERY
@pytest.mark.parametrize("curvature", ["smooth", "exact"])
@pytest.mark.parametrize("kind", range(3), ids=["zero", "number", "vector"])
def test_everything_is_that_of_the_matrix(loss, curvature, kind):
    A, y, m = problem(loss)
    K = LowRank(A, diagonals(y.size)[kind])
    weights = np.random.default_rng(1).integers(0, 3, y.size).astype(float)
    for settings in ({}, {"m": m, "sample_weight": weights}):
        got = laplace_evidence(K, y, loss, curvature, **settings)
        expected = laplace_evidence(K.dense(), y, loss, curvature, **settings)
        assert got.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
        for name, value in expected.terms.items():
            assert got.terms[name] == pytest.approx(value, abs=1e-8)
        for name in ("mean", "variance", "effective_parameters"):
            np.testing.assert_allclose(
                getattr(got.posterior, name), getattr(expected.posterior, name), atol=1e-7
            )
        np.testing.assert_allclose(got.log_predictive, expected.log_predictive, atol=1e-6)
        G = np.zeros((y.size, y.size))
        G[np.ix_(expected.gradient.rows, expected.gradient.rows)] = expected.gradient.K
        np.testing.assert_allclose(got.gradient.K.A, 2.0 * G @ A, atol=1e-6)
        of_d = np.diag(G) if np.ndim(K.d) else np.trace(G)
        np.testing.assert_allclose(got.gradient.K.d, of_d, atol=1e-6)
        of_m = np.zeros(y.size)
        of_m[expected.gradient.rows] = expected.gradient.m
        np.testing.assert_allclose(got.gradient.m, of_m, atol=1e-6)
        np.testing.assert_allclose(got.gradient.parameters, expected.gradient.parameters, atol=1e-6)


@EVERY
def test_gradient_against_central_differences(loss):
    A, y, m = problem(loss, n=30, rank=4)
    d = diagonals(30)[2]

    def value(A, d):
        return laplace_evidence(LowRank(A, d), y, loss, m=m).log_evidence

    gradient = laplace_evidence(LowRank(A, d), y, loss, m=m).gradient.K
    rng, h = np.random.default_rng(2), 1e-6
    for _ in range(3):
        of_A, of_d = rng.normal(size=A.shape), rng.normal(size=d.size)
        slope = (value(A + h * of_A, d) - value(A - h * of_A, d)) / (2.0 * h)
        assert (gradient.A * of_A).sum() == pytest.approx(slope, rel=1e-5, abs=1e-5)
        slope = (value(A, d + h * of_d) - value(A, d - h * of_d)) / (2.0 * h)
        assert gradient.d @ of_d == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_two_thousand_rows():
    loss = losses.SILF(8.0, 0.1, 0.3)
    A, y, _ = problem(loss, n=2000, rank=30)
    K = LowRank(A, 0.01)
    got, expected = laplace_evidence(K, y, loss), laplace_evidence(K.dense(), y, loss)
    assert got.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    np.testing.assert_allclose(got.solution.f, expected.solution.f, atol=1e-8)
    assert isinstance(got.posterior.conditioned, Conditioned)


def test_predictions_by_covariances_and_by_coefficients():
    loss = losses.SILF(6.0, 0.15, 0.3)
    A, y, m = problem(loss)
    K = LowRank(A, 0.05)
    new = problem(loss, n=5, seed=9)[0]
    cross, prior = A @ new.T, new @ new.T + 0.05 * np.eye(5)
    got = laplace_evidence(K, y, loss, m=m).posterior
    expected = laplace_evidence(K.dense(), y, loss, m=m).posterior
    np.testing.assert_allclose(got.predict_mean(cross), expected.predict_mean(cross), atol=1e-8)
    variance = expected.predict_variance(cross, np.diag(prior))
    np.testing.assert_allclose(got.predict_variance(cross, np.diag(prior)), variance, atol=1e-8)
    covariance = expected.predict_covariance(cross, prior)
    np.testing.assert_allclose(got.predict_covariance(cross, prior), covariance, atol=1e-8)
    mean, of_z = got.coefficients
    np.testing.assert_allclose(new @ mean, expected.predict_mean(cross), atol=1e-8)
    np.testing.assert_allclose(0.05 + np.einsum("ij,jk,ik->i", new, of_z, new), variance, atol=1e-8)


def test_what_only_one_kind_of_covariance_has():
    loss = losses.Gaussian(0.3)
    A, y, _ = problem(loss)
    K = LowRank(A, 0.05)
    with pytest.raises(TypeError, match=r"is LowRank, so that there is no factor.*coefficients"):
        _ = laplace_evidence(K, y, loss).posterior.sparse
    with pytest.raises(TypeError, match=r"Only a LowRank covariance has coefficients, but K is"):
        _ = laplace_evidence(K.dense(), y, loss).posterior.coefficients
