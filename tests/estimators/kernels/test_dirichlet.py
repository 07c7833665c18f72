"""The Dirichlet kernel against both sides of (3.50), its period and its errors."""

import numpy as np
import pytest

from pymc_bsvm.estimators.kernels import RBF, Dirichlet


def correlation(kernel, u):
    """Return the kernel where u is the difference itself."""
    return kernel.matrix(np.array([1.0, 2.0 * np.pi]), u[:, None], np.zeros((1, 1)))[:, 0]


@pytest.mark.parametrize("order", [1, 2, 3, 10])
def test_both_sides(order):
    u = np.linspace(-7.0, 7.0, 300)  # without zero
    cosines = 2.0 * sum(np.cos(j * u) for j in range(order + 1)) - 1.0
    quotient = np.sin((order + 0.5) * u) / np.sin(0.5 * u)
    kernel = (2 * order + 1) * correlation(Dirichlet(order=order), u)
    np.testing.assert_allclose(kernel, cosines, atol=1e-12)
    np.testing.assert_allclose(kernel, quotient, atol=1e-10)


def test_zero_and_periods():
    u = 2.0 * np.pi * np.array([0.0, 1.0, -2.0])
    np.testing.assert_allclose(correlation(Dirichlet(), u), 1.0, rtol=1e-13)


def test_slopes_where_a_factor_is_zero():
    kernel, step = Dirichlet(order=1, ard=True), 1e-5
    u = np.arccos(-0.5)  # 1 + 2 cos u = 0
    X, weights = np.array([[0.0, 0.0], [u, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    values = np.array([1.5, 2.0 * np.pi, 2.0 * np.pi])
    slopes = kernel.slopes(values, X, weights)
    assert abs(slopes[1]) > 0.1
    for k in range(3):
        shift = step * (np.arange(3) == k)
        up, down = (kernel.matrix(values * np.exp(s * shift), X)[0, 1] for s in (1.0, -1.0))
        assert slopes[k] == pytest.approx((up - down) / step, rel=1e-7, abs=1e-9)


def test_order_is_the_rank():
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    K = Dirichlet(order=3).matrix(np.array([1.0, 2.5]), X)
    assert np.linalg.matrix_rank(K, tol=1e-10) == 7


@pytest.mark.parametrize("order", [1, 4])
def test_start_has_the_curvature_of_the_gaussian(order):
    u, both = np.array([[1e-3]]), []
    for kernel in (RBF(), Dirichlet(order=order)):
        values = np.array([h.start for h in kernel.hyperparameters(1)])
        both.append(1.0 - kernel.matrix(values, u, np.zeros((1, 1))).item())
    assert both[0] == pytest.approx(both[1], rel=1e-3)


def test_names():
    assert [h.name for h in Dirichlet().hyperparameters(2)] == ["eta", "period"]
    names = [h.name for h in Dirichlet(ard=True).hyperparameters(2)]
    assert names == ["eta", "period[0]", "period[1]"]


@pytest.mark.parametrize("order", [0, -1, 2.0, True])
def test_errors(order):
    with pytest.raises(ValueError, match=r"order must be a positive integer, but it is .*\. Pass"):
        Dirichlet(order=order)
