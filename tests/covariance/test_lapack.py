"""The two LAPACK routines against SciPy."""

import numba
import numpy as np
import pytest
import scipy.linalg

from pymc_bsvm.covariance.lapack import cholesky_in_place, cholesky_solve_in_place


def positive(n, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n + 2))
    return root @ root.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 64, 129, 300])
def test_cholesky(n):
    A = positive(n)
    L = A.copy()
    assert cholesky_in_place(L)
    np.testing.assert_allclose(
        np.tril(L), scipy.linalg.cholesky(A, lower=True), rtol=0, atol=1e-13 * np.abs(A).max()
    )
    np.testing.assert_array_equal(np.triu(L, 1), np.triu(A, 1))


@pytest.mark.parametrize("n", [1, 2, 17, 129])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_solve(n, count):
    A = positive(n)
    x = np.random.default_rng(1).normal(size=(count, n))
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(A, lower=True), x.T).T
    L, z = A.copy(), x.copy()
    assert cholesky_in_place(L)
    cholesky_solve_in_place(L, z)
    np.testing.assert_allclose(z, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(z @ A, x, rtol=0, atol=1e-9)


def test_nothing_to_do():
    assert cholesky_in_place(np.empty((0, 0)))
    cholesky_solve_in_place(np.empty((0, 0)), np.empty((2, 0)))


@pytest.mark.parametrize("bad", [-1.0, -1e-300, 0.0])
def test_what_is_not_positive_definite_is_told(bad):
    A = np.eye(5)
    A[3, 3] = bad
    assert not cholesky_in_place(A)


def test_the_upper_triangle_is_never_read():
    A = positive(9)
    L = np.tril(A)
    L[np.triu_indices(9, 1)] = np.nan
    assert cholesky_in_place(L)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-12, atol=1e-12)


def test_callable_from_compiled_code():
    @numba.njit
    def both(A, x):
        L = A.copy()
        definite = cholesky_in_place(L)
        cholesky_solve_in_place(L, x)
        return definite

    A, x = positive(6), np.ones((1, 6))
    assert both(A, x)
    np.testing.assert_allclose(x[0], np.linalg.solve(A, np.ones(6)), rtol=1e-10)
