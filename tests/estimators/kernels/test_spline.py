"""The B-spline kernel against convolutions, other formulas and its errors."""

import numpy as np
import pytest
from scipy.interpolate import BSpline as SciPy

from pymc_bsvm.estimators.kernels import RBF, BSpline

VALUES = np.array([1.0, 1.0])


def column(u):
    return np.asarray(u, dtype=float)[:, None]


def correlation(kernel, u):
    return kernel.matrix(VALUES, column(u), np.zeros((1, 1)))[:, 0]


@pytest.mark.parametrize("p", [1, 2, 3])
def test_convolution_of_indicators(p):
    h = 1e-3
    indicator = np.ones(round(1.0 / h))  # the middles of cells: a rule of second order
    density = indicator
    for _ in range(2 * p + 1):
        density = h * np.convolve(density, indicator)
    u = h * (np.arange(len(density)) - (len(density) - 1) / 2)
    kernel = correlation(BSpline(p=p), u)
    np.testing.assert_allclose(kernel, density / density.max(), atol=1e-6)


@pytest.mark.parametrize("p", [1, 2, 5, 10])
def test_scipy(p):
    u = np.linspace(-p - 2.0, p + 2.0, 401)
    spline = SciPy.basis_element(np.arange(-p - 1.0, p + 2.0), extrapolate=False)
    expected = np.nan_to_num(spline(u)) / spline(0.0)
    np.testing.assert_allclose(correlation(BSpline(p=p), u), expected, rtol=1e-10, atol=1e-13)
    assert correlation(BSpline(p=p), [0.0]) == pytest.approx(1.0, rel=1e-14)


def test_cubic():
    u = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    expected = np.array([4.0, 2.875, 1.0, 0.125, 0.0, 0.0]) / 4.0
    np.testing.assert_array_equal(correlation(BSpline(), u), expected)


def test_columns_are_multiplied():
    X = np.array([[0.5, 1.0]])
    K = BSpline(ard=True).matrix(np.array([3.0, 1.0, 2.0]), X, np.zeros((1, 2)))
    assert K == pytest.approx(9.0 * (2.875 / 4.0) ** 2)


def test_slopes_where_a_factor_is_zero():
    X = np.array([[0.0, 0.0], [5.0, 0.1]])
    slopes = BSpline(ard=True).slopes(np.ones(3), X, np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_array_equal(slopes, 0.0)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_start_is_as_wide_as_the_gaussian(p):
    u = np.linspace(-8.0, 8.0, 1601)
    widths = []
    for kernel in (RBF(), BSpline(p=p)):
        values = np.array([h.start for h in kernel.hyperparameters(1)])
        k = kernel.matrix(values, column(u), np.zeros((1, 1)))[:, 0]
        widths.append(np.sum(u**2 * k) / np.sum(k))
    assert widths[0] == pytest.approx(widths[1], rel=1e-4)


@pytest.mark.parametrize("p", [0, 11, 1.0, True, "1"])
def test_errors(p):
    with pytest.raises(ValueError, match=r"p must be an integer from 1 to 10, but it is .*\. Pass"):
        BSpline(p=p)
