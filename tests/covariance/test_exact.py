"""Sums and products with their rounding errors, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from pymc_bsvm.covariance.dense import add_product_exactly
from pymc_bsvm.covariance.exact import exact_sum, two_product, two_sum


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=2) * 10.0 ** rng.integers(-12, 12, size=2)
    for pair, exact in (
        (two_sum(x, y), Fraction(x) + Fraction(y)),
        (two_product(x, y), Fraction(x) * Fraction(y)),
    ):
        assert pair[0] == float(exact)
        assert Fraction(pair[0]) + Fraction(pair[1]) == exact


def test_a_sum_that_cancels():
    x = np.array([1e16, 1.0, -1e16, 1e-3])
    assert exact_sum(x) == 1.001
    assert exact_sum(np.zeros(0)) == 0.0


def test_a_product_that_cancels():
    rng = np.random.default_rng(0)
    K, weights = rng.normal(size=(2, 6, 6))
    K, weights = K + K.T, 1e8 * weights[0]
    exact = [sum(Fraction(K[i, j]) * Fraction(weights[j]) for j in (0, 2, 5)) for i in range(6)]
    high, low = -np.array([float(x) for x in exact]), np.zeros(6)
    add_product_exactly(K, np.array([0, 2, 5]), weights, high, low)
    rest = np.array([float(x - Fraction(float(x))) for x in exact])
    np.testing.assert_allclose(high + low, rest, rtol=1e-9, atol=1e-22)
