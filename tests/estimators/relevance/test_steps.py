"""Steps in one precision against dense matrices."""

import numpy as np
import pytest

from pymc_bsvm.estimators.relevance.steps import settle
from tests.estimators.relevance import cases


@pytest.fixture
def problem():
    X, t = cases.wave(30)
    Phi = cases.columns(X, 0.8)[:, [2, 9, 16, 23, 30]]
    return Phi, t, np.array([1.0, 5.0, 0.2, 50.0, 2.0]), 0.1


def posterior(Phi, t, alpha, variance):
    covariance = np.linalg.inv(np.diag(alpha) + Phi.T @ Phi / variance)
    return covariance, covariance @ Phi.T @ t / variance


@pytest.mark.parametrize("steps", [1, 2, 40])
def test_the_gain_is_that_of_the_evidence(problem, steps):
    Phi, t, alpha, variance = problem
    covariance, mean = posterior(Phi, t, alpha, variance)
    before = cases.log_evidence(Phi, alpha, variance, t)
    new = alpha.copy()
    gain = settle(covariance, mean, new, 1e-9, steps)
    left = np.isfinite(new)
    after = cases.log_evidence(Phi[:, left], new[left], variance, t)
    assert gain == pytest.approx(after - before, abs=1e-9)
    assert gain > 0.0
    expected = posterior(Phi[:, left], t, new[left], variance)
    np.testing.assert_allclose(covariance[np.ix_(left, left)], expected[0], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(mean[left], expected[1], rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(mean[~left], 0.0)


def test_a_column_without_use_is_deleted(problem):
    Phi, t, alpha, variance = problem
    Phi = Phi.copy()
    Phi[:, 3] = np.random.default_rng(1).normal(size=30)
    t = t - Phi[:, 3] * (Phi[:, 3] @ t) / (Phi[:, 3] @ Phi[:, 3])  # says nothing of the targets
    covariance, mean = posterior(Phi, t, alpha, variance)
    settle(covariance, mean, alpha, 1e-9, 100)
    assert alpha[3] == np.inf


def test_nothing_is_done_for_less_than_is_asked(problem):
    Phi, t, alpha, variance = problem
    covariance, mean = posterior(Phi, t, alpha, variance)
    assert settle(covariance, mean, alpha.copy(), 1e3, 100) == 0.0
