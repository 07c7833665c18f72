"""A covariance kept as a matrix: products with rows of support, the factor of the free set."""

import numpy as np
import pytest

from pymc_bsvm.covariance.dense import DENSE, add_product, factorize, submatrix


@pytest.mark.parametrize("n", [1, 2, 5, 100, 2047, 2048, 2049])
@pytest.mark.parametrize("m", [0, 1, 2, 3, 4, 5, 7, 8, 9])
def test_add_product(n, m):
    rng = np.random.default_rng(n + m)
    m = min(m, n)
    K = np.zeros((n, n))
    rows = np.sort(rng.choice(n, size=m, replace=False))
    K[rows] = rng.normal(size=(m, n))  # only these rows may be read
    others = np.setdiff1d(np.arange(n), rows)
    K[others] = np.nan
    weights, out = rng.normal(size=(2, n))
    expected = out + weights[rows] @ K[rows]
    add_product(K, rows, weights, out)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


def test_add_product_over_two_blocks():
    n = 4100
    rng = np.random.default_rng(0)
    K = np.zeros((n, n), dtype=float)
    rows = np.array([0, 2047, 2048, 2049, 4095, 4096, 4099])
    K[rows] = rng.normal(size=(7, n))
    weights, out = rng.normal(size=(2, n))
    expected = out + weights[rows] @ K[rows]
    add_product(K, rows, weights, out)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("m", [0, 1, 2, 30])
def test_factorize(m):
    n = 40
    rng = np.random.default_rng(m)
    root = rng.normal(size=(n, n))
    K, scale = root @ root.T, rng.uniform(0.1, 3.0, size=n)
    free = np.sort(rng.choice(n, size=m, replace=False))
    L, definite = factorize(K, free, scale)
    assert definite
    B = np.eye(m) + scale[free, None] * K[np.ix_(free, free)] * scale[free]
    assert L.shape == (m, m)
    if m:
        np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(B), rtol=1e-11, atol=1e-12)


def test_factorize_tells_that_there_is_no_factor():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    assert not factorize(K, np.arange(2), np.ones(2))[1]
    assert factorize(K, np.arange(2), 0.1 * np.ones(2))[1]


def positive(n, seed=0):
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T


def test_diagonal_and_latent_values():
    K = positive(7)
    m, a = np.random.default_rng(1).normal(size=(2, 7))
    a[[0, 3]] = 0.0
    np.testing.assert_array_equal(DENSE.diagonal(K), np.diag(K))
    np.testing.assert_allclose(DENSE.latent(K, m, a, 0.5), m + K @ a + 0.5, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize("m", [0, 1, 12])
def test_solve(m):
    K, root = positive(20), np.random.default_rng(2).uniform(0.1, 2.0, 20)
    free = np.sort(np.random.default_rng(3).choice(20, size=m, replace=False))
    x = np.random.default_rng(4).normal(size=(2, m))
    factor = DENSE.factorize(K, free, root)[0] if m else DENSE.no_factor()
    solution = x.copy()
    DENSE.solve(factor, solution)
    B = np.eye(m) + root[free, None] * K[np.ix_(free, free)] * root[free]
    np.testing.assert_allclose(solution @ B, x, rtol=0, atol=1e-11)


@pytest.mark.parametrize("rows", [[], [2], [0, 1, 2, 3], [3, 0]], ids=str)
def test_submatrix(rows):
    K = np.random.default_rng(0).normal(size=(4, 4))
    rows = np.array(rows, dtype=np.int64)
    np.testing.assert_array_equal(submatrix(K, rows), K[np.ix_(rows, rows)])
