"""The covariance of low rank as users see it."""

import dataclasses
import pickle

import numpy as np
import pytest

import pymc_bsvm as bsvm
from tests.covariance.cases import DIAGONALS, low_rank


@pytest.mark.parametrize("diagonal", DIAGONALS)
def test_the_matrix(diagonal):
    K = low_rank(9, 3, diagonal)
    expected = K.A @ K.A.T + np.diag(np.broadcast_to(K.d, 9))
    assert K.shape == (9, 9)
    np.testing.assert_allclose(K.dense(), expected, rtol=1e-15)
    np.testing.assert_allclose(K.diagonal(), np.diag(expected), rtol=1e-15)


def test_the_text_has_no_arrays():
    assert repr(bsvm.LowRank(np.ones((4, 2)))) == "LowRank(n=4, m=2, d=0)"
    assert repr(low_rank(4, 2, "number")) == "LowRank(n=4, m=2, d=0.3)"
    assert repr(low_rank(4, 2, "vector")) == "LowRank(n=4, m=2, d=<vector of shape (4,)>)"


def test_features_are_copied_only_if_needed():
    A = np.ones((4, 2))
    assert bsvm.LowRank(A).A is A
    assert bsvm.LowRank(np.ones((2, 4)).T).A.flags.c_contiguous
    assert bsvm.LowRank([[1, 2]], 1).A.dtype == float


def test_it_is_frozen_and_pickles():
    K = low_rank(5, 2, "vector")
    with pytest.raises(dataclasses.FrozenInstanceError):
        K.d = 1.0
    copy = pickle.loads(pickle.dumps(K))
    np.testing.assert_array_equal(copy.A, K.A)
    np.testing.assert_array_equal(copy.d, K.d)


@pytest.mark.parametrize(
    ("A", "d", "message"),
    [
        (np.ones(3), 0.0, r"A must be a matrix .* its shape is \(3,\)\. Pass the features"),
        (np.ones((3, 0)), 0.0, r"its shape is \(3, 0\)"),
        (np.ones((0, 3)), 0.0, r"its shape is \(0, 3\)"),
        ([[1.0], [np.nan]], 0.0, r"A must be finite, but element \(1, 0\) is nan\. Check"),
        (np.ones((3, 2)), -0.5, r"d must satisfy 0 <= d, but it is -0\.5\. Pass"),
        (np.ones((3, 2)), [0, 0, np.inf], r"d must satisfy 0 <= d, but element 2 is inf"),
        (
            np.ones((3, 2)),
            [0.0, 1.0],
            r"d must be a number or have shape \(3,\) .* \(2,\)\. Pass",
        ),
        (np.ones((3, 2)), np.ones((3, 1)), r"its shape is \(3, 1\)"),
    ],
)
def test_values_outside_the_domain(A, d, message):
    with pytest.raises(ValueError, match=message):
        bsvm.LowRank(A, d)


@pytest.mark.parametrize(("A", "d"), [("features", 0.0), (np.ones((2, 1)), "noise")])
def test_what_is_no_number(A, d):
    with pytest.raises(TypeError, match=r"must hold real numbers, but it is of type str\. Pass"):
        bsvm.LowRank(A, d)


def test_it_never_becomes_a_matrix_by_itself():
    with pytest.raises(TypeError, match=r"used as a matrix, which it is not\. Call its meth"):
        np.asarray(low_rank(5, 2, "zero"))
