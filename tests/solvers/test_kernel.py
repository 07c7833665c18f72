"""What touches K: products with its support rows, the factor of the free set, the inspection."""

from fractions import Fraction

import numpy as np
import pytest

from pymc_bsvm.solvers.dual import check_kernel
from pymc_bsvm.solvers.kernel import (
    add_product,
    add_product_exactly,
    exact_sum,
    factorize,
    inspect,
)


def symmetric(n, seed=0):
    K = np.random.default_rng(seed).normal(size=(n, n))
    return K + K.T


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


def test_exact_sum():
    """Terms of very different sizes that cancel, against rational numbers."""
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 7, 200):
        x = rng.normal(size=size) * 10.0 ** rng.integers(-12, 12, size=size)
        x = np.concatenate([x, -x[::-1], rng.normal(size=1)])
        exact = float(sum(map(Fraction, x)))
        assert exact_sum(x) == pytest.approx(exact, rel=1e-14)


def test_exact_products():
    """What is left of a product that nearly cancels is good to all digits."""
    n, rng = 30, np.random.default_rng(1)
    K, weights = symmetric(n), rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, size=n)
    rows = np.flatnonzero(rng.uniform(size=n) < 0.6)
    high, low = -(weights[rows] @ K[rows]), np.zeros(n)
    exact = [
        float(sum((Fraction(K[i, j]) * Fraction(weights[i]) for i in rows), Fraction(high[j])))
        for j in range(n)
    ]
    add_product_exactly(K, rows, weights, high, low)
    np.testing.assert_allclose(high + low, exact, rtol=1e-10)
    assert 0.0 < np.abs(exact).max() < 1e-7


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


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 128, 130, 200])
def test_inspect(n):
    K = symmetric(n)
    K[np.diag_indices(n)] = np.random.default_rng(1).uniform(-0.5, 2.0, size=n)
    K[n - 1, 0] += 0.125 * (n > 1)
    size, asymmetry, least, excess = inspect(K)
    lower = np.tril(K)
    diagonal = np.diag(K)
    assert size == np.abs(lower).max()
    assert asymmetry == pytest.approx(np.abs(K - K.T).max(), abs=1e-15)
    assert least == diagonal.min()
    minors = np.tril(K**2 - np.outer(diagonal, diagonal))
    expected = max(minors.max(), 0.0) / np.abs(diagonal).max() ** 2
    assert excess == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (99, 0), (0, 99), (70, 65), (65, 70), (99, 99)])
def test_inspect_finds_what_is_not_finite(bad, place):
    K = np.eye(100)
    K[place] = bad
    assert np.isnan(inspect(K)[0])
    with pytest.raises(ValueError, match="K must be finite"):
        check_kernel(K)


def test_inspect_of_zero():
    assert inspect(np.zeros((3, 3))) == (0.0, 0.0, 0.0, 0.0)
    check_kernel(np.zeros((3, 3)))


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1.0, 1e12, 1e150])
def test_check_is_free_of_scale(scale):
    x = np.linspace(-1, 1, 50)
    K = scale * np.exp(-((x[:, None] - x) ** 2))
    check_kernel(K)
    with pytest.raises(ValueError, match="K must be symmetric"):
        check_kernel(K + np.triu(K, 1) * 1e-6)
    with pytest.raises(ValueError, match="exceeds the product of its variances"):
        check_kernel(K - 0.5 * np.diag(np.diag(K)))
    with pytest.raises(ValueError, match="its diagonal holds"):
        check_kernel(K - 2.0 * np.diag(np.diag(K)))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_covariance_may_hardly_exceed_its_variances(scale):
    """By a millionth of the largest variance squared."""
    check_kernel(scale * np.array([[1.0, 1.0 + 4e-7], [1.0 + 4e-7, 1.0]]))
    with pytest.raises(ValueError, match="exceeds the product of its variances"):
        check_kernel(scale * np.array([[1.0, 1.0 + 6e-7], [1.0 + 6e-7, 1.0]]))


def test_checks_allow_rounding():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(80, 3))
    check_kernel(Z @ Z.T)
    check_kernel((Z @ Z.T) * (1.0 + 1e-12 * rng.normal(size=(80, 80))))
    check_kernel(np.ones((80, 80)))
