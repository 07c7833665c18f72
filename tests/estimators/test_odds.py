"""Shares of several classes against the outcomes of independent events, counted one by one."""

import math

import numpy as np
import pytest

from pymc_bsvm.estimators.odds import log_share_of_only_one
from tests.estimators import cases


@pytest.mark.parametrize("k", [3, 4, 7])
def test_the_share_is_that_of_just_one_event(k):
    p = np.random.default_rng(k).uniform(0.01, 0.99, (5, k))
    share = np.exp(log_share_of_only_one(np.log(p / (1.0 - p))))
    np.testing.assert_allclose(share, cases.only_one(p), rtol=1e-13)
    np.testing.assert_array_equal(share.argmax(axis=1), p.argmax(axis=1))


def test_by_hand():
    """Of 1/2, 1/3 and 1/5 alone, the probabilities are as 1 to 1/2 to 1/4."""
    odds = np.log([[1.0, 1.0 / 2.0, 1.0 / 4.0]])
    np.testing.assert_allclose(np.exp(log_share_of_only_one(odds)), [[4 / 7, 2 / 7, 1 / 7]])


def test_extreme_odds():
    """Nothing cancels near certainty: 1 - p of 1e-300 against 1e-290, and both against 1e-300."""
    sure = -np.log([1e-300, 1e-290, 1e300])
    got = log_share_of_only_one(sure[None])[0]
    assert got[0] == pytest.approx(-1e-10, rel=1e-9)
    assert got[1] == pytest.approx(math.log(1e-10), rel=1e-9)
    assert got[2] == pytest.approx(-600.0 * math.log(10.0), rel=1e-9)


@pytest.mark.parametrize(
    ("odds", "share"),
    [
        ([np.inf, 2.0, -1.0], [1.0, 0.0, 0.0]),
        ([np.inf, np.inf, 3.0], [0.5, 0.5, 0.0]),
        ([-np.inf, 0.0, 0.0], [0.0, 0.5, 0.5]),
        ([-np.inf, -np.inf, -np.inf], [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_infinite_odds(odds, share):
    np.testing.assert_allclose(np.exp(log_share_of_only_one(np.array([odds])))[0], share)
