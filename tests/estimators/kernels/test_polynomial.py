"""Values of the polynomial kernel, and its degree."""

import numpy as np
import pytest

from pymc_bsvm.estimators.kernels import Polynomial


def test_values():
    X, Z = np.array([[1.0, 2.0]]), np.array([[3.0, -4.0]])
    assert Polynomial(degree=2).matrix(np.array([3.0, 0.5]), X, Z).item() == 9.0 * 19.0**2
    values = np.array([1.0, 1.0, 2.0])
    assert Polynomial(degree=3, ard=True).matrix(values, X, Z).item() == 8.0


@pytest.mark.parametrize("degree", [0, -1, 2.5, True])
def test_degree(degree):
    with pytest.raises(ValueError, match=r"degree must be a positive integer, but it is .*\. Pass"):
        Polynomial(degree=degree)
