"""The inspection of a kernel matrix."""

import numpy as np
import pytest

from pymc_bsvm.solvers import dual
from pymc_bsvm.solvers.dual import check_kernel
from pymc_bsvm.solvers.kernel import inspect, is_plain


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


def verdict(K):
    """Return what `check_kernel` says."""
    try:
        check_kernel(K)
    except ValueError as error:
        return str(error)
    return "plain"


def disturbed(rng, n):
    """Return a covariance with one element changed, by much or by nearly what is allowed."""
    Z = rng.normal(size=(n, 3))
    K = Z @ Z.T * 10.0 ** rng.choice([-200, -80, -9, 0, 9, 80, 200])
    K = 0.5 * (K + K.T)
    i, j = rng.integers(n, size=2)
    top = K.max()
    match rng.integers(6):
        case 0:
            K[i, j] += top * 1e-8 * rng.choice([0.5, 0.9999, 1.0001, 2.0])
        case 1:
            bound = np.sqrt(K[i, i] * K[j, j] + 1e-6 * top * top * rng.choice([0.999, 1.001]))
            K[i, j] = K[j, i] = -bound
        case 2:
            K[i, j] = rng.choice([np.nan, np.inf, -np.inf])
        case 3:
            K[i, j] = K[j, i] = rng.choice([np.nan, np.inf, -np.inf])
        case 4:
            K[i, i] = rng.choice([-1e-7, -1e-9, 0.0, 1e200]) * top
    return K


@pytest.mark.parametrize("n", [1, 2, 31, 33, 70])
def test_the_fast_pass_never_changes_the_verdict(n, monkeypatch):
    rng, seen = np.random.default_rng(n), []
    for _ in range(150):
        with np.errstate(all="ignore"):
            K = disturbed(rng, n)
            fast = verdict(K)
            monkeypatch.setattr(dual, "is_plain", lambda *_: False)
            assert fast == verdict(K)
            monkeypatch.undo()
        seen.append(fast == "plain")
    assert n == 1 or 20 < sum(seen) < 130


@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 100])
def test_what_is_plain(n):
    x = np.linspace(-1, 1, n)
    K = np.exp(-((x[:, None] - x) ** 2))
    assert is_plain(K, 1e-8, 1e-6)
    assert is_plain(np.zeros((n, n)), 1e-8, 1e-6)
    for i, j in {(0, 0), (n - 1, 0), (0, n - 1), (n - 1, n // 2), (n // 2, n - 1)}:
        for bad in (np.nan, np.inf, -1e-3, 1.1):
            changed = K.copy()
            changed[i, j] = bad
            assert not is_plain(changed, 1e-8, 1e-6) or (i == j and bad > 1.0)
