"""A map that keeps distances positive, and the rows whose distances it takes."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_bsvm.inference.bend import Bend, rows_before
from tests.gp.cases import UNFUSED


@pytest.fixture(scope="module")
def example():
    rng = np.random.default_rng(4)
    return np.array([1.0, 0.2, -0.5]), rng.normal(size=(3, 6)), rng.normal(size=6)


def evaluated(make, *values):
    inputs = [pt.as_tensor(value).type() for value in values]
    return pytensor.function(inputs, make(*inputs), mode=UNFUSED)(*values)


def test_distances_are_positive_and_the_rest_stays(example):
    c, B, u = example
    sd = np.sqrt((B**2).sum(1))
    z = evaluated(lambda c, B, u: Bend(c, B)(u), c, B, u)
    np.testing.assert_allclose(c + B @ z, sd * np.log1p(np.exp((c + B @ u) / sd)), rtol=1e-12)
    across = np.linalg.svd(B)[2][3:]
    np.testing.assert_allclose(across @ z, across @ u, atol=1e-12)


def test_far_from_the_wall_nothing_moves(example):
    _, B, u = example
    c = np.full(3, 200.0)
    np.testing.assert_allclose(evaluated(lambda c, B, u: Bend(c, B)(u), c, B, u), u, rtol=1e-12)


def test_determinant(example):
    c, B, u = example
    step = 1e-6
    ends = [
        evaluated(lambda c, B, u: Bend(c, B)(u), c, B, u + sign * e)
        for e in step * np.eye(6)
        for sign in (1, -1)
    ]
    jacobian = (np.array(ends[::2]) - np.array(ends[1::2])) / (2.0 * step)
    log_det = evaluated(lambda c, B, u: Bend(c, B).log_det(u), c, B, u)
    assert log_det == pytest.approx(np.linalg.slogdet(jacobian)[1], abs=1e-8)
    assert log_det < -0.5


def test_back(example):
    c, B, u = example
    there = evaluated(lambda c, B, u: Bend(c, B).back(Bend(c, B)(u)), c, B, u)
    np.testing.assert_allclose(there, u, rtol=1e-10)


def test_behind_a_wall_there_is_no_way_back(example):
    c, B, _ = example
    z = np.linalg.lstsq(B, np.array([1.0, -0.01, 1.0]) - c, rcond=None)[0]
    with pytest.raises(ValueError, match=r"behind a wall of the likelihood, .* without around"):
        evaluated(lambda c, B, z: Bend(c, B).back(z), c, B, z)


def test_rows_are_the_nearest_given_those_before():
    covariance = np.diag([1.0, 1.0, 0.25, 4.0, 1.0])
    covariance[0, 4] = covariance[4, 0] = 0.999
    distance = np.array([1.0, 3.0, 0.9, 20.0, 1.1])
    # the last row says what the first says; the fourth is five standard deviations away
    np.testing.assert_array_equal(rows_before(distance, covariance), [0, 2, 1])
    assert rows_before(np.full(5, np.inf), covariance).size == 0
