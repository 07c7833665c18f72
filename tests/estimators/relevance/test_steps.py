"""Steps in one precision against dense matrices."""

import numpy as np
import pytest

from pymc_bsvm.estimators.relevance.steps import (
    best_addition,
    inverse_factor,
    renewed,
    settle,
    settled,
)
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


def factor(Phi, alpha, variance):
    return inverse_factor(np.diag(alpha) + Phi.T @ Phi / variance)[0]


def unit(Phi):
    return Phi / np.linalg.norm(Phi, axis=0)


def products(Phi, places):
    """Return the inner products of chosen columns with all, with room for more."""
    return np.vstack([Phi[:, places].T @ Phi, np.full((3, Phi.shape[1]), np.nan)])


@pytest.mark.parametrize("m", [0, 1, 2, 7, 40, 61, 90])
def test_the_inverse_of_a_factor(m):
    rng = np.random.default_rng(m)
    A = rng.normal(size=(m + 5, m))
    H = A.T @ A
    half, definite = inverse_factor(H.copy())
    assert definite
    np.testing.assert_array_equal(half, np.tril(half))
    # rounding, times a condition number of some hundreds
    np.testing.assert_allclose(half @ H @ half.T, np.eye(m), atol=1e-11)


def test_a_matrix_that_is_not_definite_has_none():
    assert not inverse_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))[1]
    assert not inverse_factor(np.array([[np.nan]]))[1]
    assert not inverse_factor(np.diag(np.append(np.ones(69), -1.0)))[1]
    assert not inverse_factor(np.diag(np.append(np.ones(69), np.nan)))[1]


def test_the_posterior_and_the_evidence(problem):
    Phi, t, alpha, variance = problem
    places = np.arange(5)
    half, mean, value, beta, gain, definite = renewed(
        products(Phi, places), Phi.T @ t, places, alpha, 1.0 / variance, t @ t, t.size, 1e-8, True
    )
    covariance, expected = posterior(Phi, t, alpha, variance)
    np.testing.assert_allclose(half.T @ half, covariance, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(mean, expected, rtol=1e-9)
    assert value == pytest.approx(cases.log_evidence(Phi, alpha, variance, t), abs=1e-9)
    assert (beta, gain, definite) == (1.0 / variance, 0.0, True)


def test_the_noise_is_re_estimated(problem):
    """(7.88), and what it gains."""
    Phi, t, alpha, variance = problem
    places = np.arange(5)
    *_, value, beta, gain, _ = renewed(
        products(Phi, places), Phi.T @ t, places, alpha, 1.0 / variance, t @ t, t.size, 1e-8, False
    )
    covariance, mean = posterior(Phi, t, alpha, variance)
    determined = 5.0 - alpha @ np.diag(covariance)
    expected = np.sum((t - Phi @ mean) ** 2) / (t.size - determined)
    assert 1.0 / beta == pytest.approx(expected, rel=1e-9)
    after = cases.log_evidence(Phi, alpha, 1.0 / beta, t)
    assert value == pytest.approx(after, abs=1e-9)
    before = cases.log_evidence(Phi, alpha, variance, t)
    assert gain == pytest.approx(after - before, abs=1e-9)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_best_addition_is_that_of_dense_matrices(problem, count):
    Phi, t, alpha, variance = problem
    X, _ = cases.wave(30)
    Phi = unit(cases.columns(X, 0.8))
    places, alpha = np.array([2, 9, 16, 23, 30])[:count], alpha[:count]
    own = Phi[:, places]
    half, beta = factor(own, alpha, variance), 1.0 / variance
    mean = half.T @ half @ own.T @ t * beta
    place, s, ratio = best_addition(
        products(Phi, places), Phi.T @ t, places, half, mean, beta, 1e-9
    )
    of_all = cases.qualities(Phi, places, alpha, variance, t)
    quality = of_all[1] ** 2 / of_all[0]
    quality[places] = 0.0
    assert place == quality.argmax()
    assert s == pytest.approx(of_all[0][place], rel=1e-7)
    assert ratio == pytest.approx(quality.max(), rel=1e-7)


def test_columns_that_others_make_up_are_left_out(problem):
    Phi, t, alpha, variance = problem
    Phi = unit(np.column_stack([Phi, Phi[:, 0]]))
    places = np.arange(5)
    half = factor(Phi[:, places], 1e-12 * alpha, variance)
    mean = half.T @ half @ Phi[:, places].T @ t / variance
    found = best_addition(
        products(Phi, places), Phi.T @ t, places, half, mean, 1.0 / variance, 1e-9
    )
    assert found[2] == 0.0


def test_settling_from_a_factor_is_the_same(problem):
    Phi, t, alpha, variance = problem
    covariance, mean = posterior(Phi, t, alpha, variance)
    expected, new = alpha.copy(), alpha.copy()
    gain, left = settled(factor(Phi, alpha, variance), mean, new, 1e-9, 40)
    assert gain == pytest.approx(settle(covariance, mean, expected, 1e-9, 40), rel=1e-9)
    np.testing.assert_allclose(new, expected, rtol=1e-7)
    assert left == np.isfinite(expected).sum()
    assert settled(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1e-9, 40) == (0.0, 0)
