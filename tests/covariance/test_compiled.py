"""Compiled conditioning on sites against plain matrices."""

import numpy as np
import pytest

from pymc_bsvm.covariance.compiled import (
    DENSE_CONDITIONING,
    LOW_RANK_CONDITIONING,
    reduced,
)
from pymc_bsvm.covariance.lapack import pivoted_cholesky, triangular_inverse_in_place
from pymc_bsvm.covariance.woodbury import Parts

RNG = np.random.default_rng(4)
A, D = RNG.normal(size=(9, 3)), np.full(9, 0.2)
K = A @ A.T + np.diag(D)
T = np.array([0.0, 1e-9, 1e-3, 0.5, 1.0, 3.0, 0.0, 1e3, 1e6])


@pytest.mark.parametrize(
    ("conditioning", "covariance"),
    [(DENSE_CONDITIONING, K), (LOW_RANK_CONDITIONING, Parts(A, D))],
    ids=["dense", "low rank"],
)
def test_what_sites_leave(conditioning, covariance):
    root = np.sqrt(T)
    B = np.eye(9) + root[:, None] * K * root
    known = conditioning.condition(covariance, T)
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(T))
    np.testing.assert_allclose(known.variance, np.diag(Sigma), rtol=1e-8)
    np.testing.assert_allclose(known.left, np.diag(np.linalg.inv(B)), rtol=1e-8)
    assert known.log_det == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-12)
    x = RNG.normal(size=9)
    got = conditioning.shrink(covariance, known, T, x)
    np.testing.assert_allclose((np.eye(9) + T[:, None] * K) @ got, x, atol=1e-8)
    np.testing.assert_allclose(conditioning.times(covariance, x), K @ x, rtol=1e-12)
    if conditioning is DENSE_CONDITIONING:
        expected = root[:, None] * np.linalg.inv(B) * root
        np.testing.assert_allclose(reduced(K, T), expected, rtol=1e-7, atol=1e-12)


def test_an_indefinite_covariance_has_no_determinant():
    known = DENSE_CONDITIONING.condition(np.array([[1.0, 2.0], [2.0, 1.0]]), np.full(2, 10.0))
    assert np.isnan(known.log_det)


def test_a_pivoted_factor_has_the_rank_of_the_matrix():
    factor = pivoted_cholesky(A @ A.T)
    assert factor.shape == (9, 3)
    np.testing.assert_allclose(factor @ factor.T, A @ A.T, atol=1e-13)


def test_a_triangular_inverse():
    L = np.linalg.cholesky(K)
    inverse = L.copy()
    triangular_inverse_in_place(inverse)
    np.testing.assert_allclose(np.tril(inverse), np.linalg.inv(L), atol=1e-12)
