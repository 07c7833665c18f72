"""The covariance of inducing points is that of their features."""

import numpy as np
import pytest

from pymc_bsvm import LowRank
from pymc_bsvm.covariance.inducing import Inducing


def test_it_is_the_covariance_of_its_features():
    A, left_out = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]]), np.array([0.1, 0.0, 0.3])
    K = Inducing(A, left_out, charge=1.0)
    assert isinstance(K, LowRank)
    np.testing.assert_array_equal(K.dense(), A @ A.T)
    np.testing.assert_array_equal(K.diagonal(), (A**2).sum(axis=1))
    np.testing.assert_array_equal(K.left_out, left_out)
    assert K.charge == 1.0
    assert repr(K) == "LowRank(n=3, m=2, d=0)"


def test_features_are_checked():
    with pytest.raises(ValueError, match="A must be finite"):
        Inducing([[np.nan]], [0.0], 0.0)
