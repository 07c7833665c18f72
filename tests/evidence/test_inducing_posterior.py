"""Predictions from whitened inducing values against the Gaussian formulas with matrices."""

import numpy as np
import pytest

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.evidence.inducing_posterior import InducingPosterior


def matrices(rng):
    """Return a joint prior covariance of inducing values and new rows, whitened."""
    root = rng.normal(size=(9, 12))
    joint = root @ root.T
    L = np.linalg.cholesky(joint[:4, :4])
    return np.linalg.solve(L, joint[:4, 4:]), joint[4:, 4:]


def test_moments():
    rng = np.random.default_rng(5)
    cross, prior = matrices(rng)
    A, W = rng.normal(size=(20, 4)), rng.uniform(0.0, 2.0, 20)
    B, w = np.eye(4) + A.T @ (W[:, None] * A), rng.normal(size=4)
    posterior = InducingPosterior(w, np.linalg.cholesky(B))
    # given w the new values have the mean cross'w and the covariance that w leaves out
    expected = prior - cross.T @ cross + cross.T @ np.linalg.solve(B, cross)
    np.testing.assert_allclose(posterior.mean(cross), cross.T @ w, rtol=1e-13)
    np.testing.assert_allclose(posterior.covariance(cross, prior), expected, rtol=1e-10)
    variance = posterior.variance(cross, np.diag(prior))
    np.testing.assert_allclose(variance, np.diag(expected), rtol=1e-10)


def test_it_predicts_for_inducing_points():
    """The training rows themselves have the posterior's moments, and what was left out."""
    rng = np.random.default_rng(6)
    A, left_out = rng.normal(size=(20, 4)), rng.uniform(0.0, 0.2, 20)
    y = A @ rng.normal(size=4) + 0.1 * rng.normal(size=20)
    found = laplace_evidence(Inducing(A, left_out, 1.0), y, losses.SILF(5.0, 0.2, 0.3))
    posterior = found.posterior
    predictor = posterior.predictor
    assert isinstance(predictor, InducingPosterior)
    np.testing.assert_allclose(predictor.mean(A.T), posterior.mean, rtol=1e-10)
    variance = predictor.variance(A.T, (A**2).sum(axis=1) + left_out)
    np.testing.assert_allclose(variance, posterior.variance + left_out, rtol=1e-9)
    covariance = posterior.covariance
    np.testing.assert_allclose(np.diag(covariance), posterior.variance, rtol=1e-7)
    # the trace is of the curvature in the determinant, and enters the evidence by half
    assert found.trace == pytest.approx(found.conditioned.curvature @ left_out)
    assert found.terms["trace"] == -0.5 * found.trace
    other = laplace_evidence(Inducing(A, left_out, 0.0), y, losses.SILF(5.0, 0.2, 0.3))
    assert found.log_evidence == pytest.approx(other.log_evidence - 0.5 * found.trace)
