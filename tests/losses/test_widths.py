"""Functions of many widths, read off polynomials; and the quantiles that are."""

import numpy as np
import pytest
from scipy.special import ndtri

from pymc_bsvm.evidence.contaminated import ContaminatedNoise
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.evidence.student import StudentNoise
from pymc_bsvm.losses import SILF, EpsilonInsensitive, Gaussian, Huber, Laplace
from pymc_bsvm.losses.convolution import Convolution, PiecewiseConvolution
from pymc_bsvm.losses.widths import over_widths
from tests.losses.test_new_loss import Skewed

RNG = np.random.default_rng(2)
NOISE = [
    SILF(22.0, 0.1, 0.3),
    SILF(22.0, 0.1, 0.01),
    Huber(10.0, 0.1),
    EpsilonInsensitive(22.0, 0.1),
    Laplace(10.0),
    StudentNoise(3.0, 0.1),
    Skewed(20.0, 40.0, 500.0, 900.0),
    ContaminatedNoise(Gaussian(0.1), 0.05, 10.0),
    ContaminatedNoise(SILF(22.0, 0.1, 0.3), 0.2, 3.0),
]
RANGES = {"narrow": (0.0, 0.05), "alike": (0.2, 0.2), "usual": (0.01, 0.5), "all": (1e-8, 1e4)}
SHARES = np.array([1e-12, 0.05, 0.25, 0.5, 0.9, 1.0 - 1e-9])


@pytest.mark.parametrize("ends", RANGES.values(), ids=RANGES)
@pytest.mark.parametrize("noise", NOISE, ids=repr)
def test_quantiles_of_many_widths(noise, ends):
    """Where the Gaussian is narrow, a quantile near a knot has no Taylor series in its width."""
    sd = np.append(np.geomspace(max(ends[0], 1e-4), ends[1], 120), ends[0])
    p = RegressionPredictive(0.0, sd**2, noise)
    t = p.quantile(SHARES[:, None])
    lower = SHARES <= 0.5
    below, above = p.logcdf(t[lower]), p.logsf(t[~lower])
    slack = 5e-12  # of Student's rule, whose rounding depends on the rows that go together
    np.testing.assert_allclose(below - np.log(SHARES[lower, None]), 0.0, atol=slack)
    np.testing.assert_allclose(above - np.log1p(-SHARES[~lower, None]), 0.0, atol=slack)


def test_each_row_has_its_share():
    sd = RNG.uniform(0.01, 0.3, 400)
    u = RNG.choice([0.1, 0.3, 0.9], 400)
    got = RegressionPredictive(0.0, sd**2, SILF(22.0, 0.1, 0.3)).quantile(u)
    for k in range(0, 400, 50):
        one = RegressionPredictive(0.0, sd[k] ** 2, SILF(22.0, 0.1, 0.3)).quantile(u[k])
        assert got[k] == pytest.approx(float(one), rel=1e-12)


def test_many_rows_cost_few_values(monkeypatch):
    """Those of 5000 rows by Newton's method are some 30,000, each an integral in the tails."""
    closed, integrals = [], []
    by_areas, by_quadrature = PiecewiseConvolution.log_tail_and_density, Convolution.log_tail

    def area(self, d, variance):
        closed.append(d.size)
        return by_areas(self, d, variance)

    def integral(self, d, variance):
        integrals.append(d.size)
        return by_quadrature(self, d, variance)

    monkeypatch.setattr(PiecewiseConvolution, "log_tail_and_density", area)
    monkeypatch.setattr(Convolution, "log_tail", integral)
    p = RegressionPredictive(0.0, RNG.uniform(0.01, 0.3, 5000) ** 2, SILF(22.0, 0.1, 0.3))
    p.quantile([[0.05], [0.95]])  # one share and its mirror image, but for rounding
    assert len(closed) <= 10
    assert sum(closed) < 250
    assert not integrals
    p.quantile(1e-6)
    assert 0 < sum(integrals) < 300


def exact(functions):
    """Return values of functions of the standard deviation, and the error of each start."""

    def values(variance, start):
        x = np.array([function(np.sqrt(variance)) for function in functions])
        return x, np.abs(x - start)

    return values


def test_smooth_functions():
    functions = [lambda s: np.hypot(1.0, s) * ndtri(0.1), lambda s: 1.0 + s**3 / (1.0 + s**2)]
    variance, which = RNG.uniform(0.0, 4.0, 300) ** 2, RNG.integers(2, size=300)
    got, smooth = over_widths(
        exact(functions), lambda v: np.zeros((2, v.size)), variance, which, 1.0, 1e-11
    )
    assert smooth
    expected = np.choose(which, [function(np.sqrt(variance)) for function in functions])
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_function_with_a_corner_is_said_to_be_off():
    variance = RNG.uniform(0.0, 4.0, 300) ** 2
    corner = exact([lambda s: np.abs(s - 1.0)])
    got, smooth = over_widths(
        corner, lambda v: np.zeros((1, v.size)), variance, np.zeros(300, int), 1.0, 1e-11
    )
    assert not smooth
    np.testing.assert_allclose(got, np.abs(np.sqrt(variance) - 1.0), atol=0.02)


def test_shares_that_differ_by_rounding_are_one():
    """So that the two ends of an interval are read off the same polynomial."""
    variance = RNG.uniform(0.01, 0.3, 300) ** 2
    low, high = RegressionPredictive(0.0, variance, SILF(22.0, 0.1, 0.3)).quantile([[0.05], [0.95]])
    np.testing.assert_array_equal(low, -high)
