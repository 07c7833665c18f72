"""Hyperparameters by name."""

import numpy as np
import pytest

from pymc_bsvm.estimators.kernels import RBF, Periodic
from pymc_bsvm.estimators.kernels.values import values_of
from tests.estimators.cases import refused


@pytest.mark.parametrize(
    ("kernel", "given", "expected"),
    [
        (RBF(), None, [1.0, np.sqrt(3.0)]),
        (RBF(), {"ls": 0.5}, [1.0, 0.5]),
        (RBF(ard=True), {"ls": 0.5, "eta": 2}, [2.0, 0.5, 0.5, 0.5]),
        (RBF(ard=True), {"ls": [1, 2, 3]}, [1.0, 1.0, 2.0, 3.0]),
        (RBF() + RBF(), {"eta_2": 4.0, "ls": 0.5}, [1.0, 0.5, 4.0, np.sqrt(3.0)]),
    ],
    ids=str,
)
def test_values_are_those_given_or_where_a_search_starts(kernel, given, expected):
    np.testing.assert_allclose(values_of(kernel, 3, given), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0.5], ["hyperparameters", "dict"]),
        ({"gamma": 0.5}, ["'gamma'", "'eta', 'period', 'ls'"]),
        ({"ls": 0.0}, ["ls", "0 < ls"]),
        ({"ls": "wide"}, ["ls", "'wide'"]),
        ({"ls": [1.0, 2.0]}, ["(2,)", "ard=True"]),
    ],
    ids=str,
)
def test_values_that_are_wrong(given, words):
    with refused(ValueError, *words):
        values_of(Periodic(), 3, given)
