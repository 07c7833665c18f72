"""The inspection of a kernel matrix."""

import numpy as np
import pytest

from pymc_bsvm.solvers.dual import check_kernel
from pymc_bsvm.solvers.kernel import inspect


def symmetric(n, seed=0):
    K = np.random.default_rng(seed).normal(size=(n, n))
    return K + K.T


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
