"""What is made of the determinant's derivatives, by dense linear algebra once more."""

import numpy as np
import pytest

from pymc_bsvm.solvers.determinant import of_covariance


@pytest.mark.parametrize("place", [[], [1], [0, 2, 3], [0, 1, 2, 3, 4]], ids=str)
def test_the_derivative_with_respect_to_the_covariance(place):
    rng = np.random.default_rng(0)
    a, u, half = rng.normal(size=5), rng.normal(size=5), rng.normal(size=(len(place), 5))
    place, R = np.array(place, dtype=np.int64), half @ half.T
    some = np.eye(5)[:, place]
    expected = 0.5 * (np.outer(a, a) - some @ R @ some.T - np.outer(u, a) - np.outer(a, u))
    np.testing.assert_allclose(of_covariance(a, u, R, place), expected, rtol=1e-13, atol=1e-14)
