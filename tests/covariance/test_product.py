"""Products in twice the working precision, against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from pymc_bsvm import LowRank
from pymc_bsvm.covariance.product import exact_product


def fractions(K, x):
    """Return the product, exactly."""
    return [sum(Fraction(k) * Fraction(v) for k, v in zip(row, x, strict=True)) for row in K]


@pytest.mark.parametrize("low_rank", [False, True])
def test_what_cancels_keeps_its_digits(low_rank):
    rng = np.random.default_rng(1)
    A = 1e4 + rng.normal(size=(6, 3))
    x = 1e6 * rng.normal(size=6)
    x[-1] -= x.sum()
    K = LowRank(A, 0.25) if low_rank else A @ A.T
    if low_rank:
        exact = [
            [sum(Fraction(p) * Fraction(q) for p, q in zip(a, b, strict=True)) for b in A]
            for a in A
        ]
        for i, row in enumerate(exact):
            row[i] += Fraction(1, 4)
        expected = [sum(k * Fraction(v) for k, v in zip(row, x, strict=True)) for row in exact]
    else:
        expected = fractions(K, x)
    np.testing.assert_allclose(exact_product(K, x), [float(e) for e in expected], rtol=1e-14)
    plain = K.times(x) if low_rank else K @ x
    assert np.abs(plain / [float(e) for e in expected] - 1.0).max() > 1e-13
