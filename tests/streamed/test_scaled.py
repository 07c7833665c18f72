"""Rows in a machine's units, however they are cut."""

import pickle

import numpy as np
import pytest

from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows, rows_of
from pymc_bsvm.streamed.scaled import ByClass, OneAgainstRest, Scaled
from pymc_bsvm.streamed.summary import summarise
from tests.streamed.test_rows import whole

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=40)
WEIGHT = np.where(RNG.random(40) < 0.3, 0.0, RNG.uniform(size=40))
WEIGHT[14:21] = 0.0


def double(x):
    return 2.0 * x


def scaled(rows, labels=False, inputs=double, **settings):
    return Scaled(rows, summarise(Passes(rows), labels), inputs, **settings)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_targets(weight):
    rows = scaled(ArrayRows(X, Y, weight, 7), targets=np.negative)
    kept = np.ones(40) if weight is None else weight
    found = whole(rows)
    np.testing.assert_array_equal(found.X, 2.0 * X[kept > 0])
    np.testing.assert_array_equal(found.y, -Y[kept > 0])
    np.testing.assert_array_equal(found.weight, kept[kept > 0])
    assert (rows.n, rows.d) == (np.count_nonzero(kept), 2)
    assert [piece.size for piece in rows.pieces()] == [block.size for block in rows.blocks()]


def test_one_class_against_the_rest():
    labels = np.array(["a", "b", "c"])[RNG.integers(0, 3, 40)]
    factors = ByClass(np.array(["a", "b", "c"]), np.array([1.0, 5.0, 2.0]))
    rows = ArrayRows(X, labels, WEIGHT, 7)
    found = whole(scaled(rows, True, targets=OneAgainstRest("b"), factors=factors))
    kept = WEIGHT > 0
    np.testing.assert_array_equal(found.y, np.where(labels[kept] == "b", 1.0, -1.0))
    by_hand = [{"a": 1.0, "b": 5.0, "c": 2.0}[label] for label in labels[kept]]
    np.testing.assert_array_equal(found.weight, WEIGHT[kept] * by_hand)


def test_arrays_of_rows_follow_those_that_are_kept():
    """A task sees the same rows in its block and in the arrays that it is given parts of."""
    rows = scaled(rows_of(lambda: [(X[:25], Y[:25], WEIGHT[:25]), (X[25:], Y[25:], WEIGHT[25:])]),
                  targets=np.negative)  # fmt: skip
    f = -Y[WEIGHT > 0]
    (count,), _ = Passes(rows).run(differences, of_rows=(f,))
    assert count == 0


def differences(block, parts):
    from pymc_bsvm.streamed.passes import Partial

    return Partial((np.count_nonzero(block.y != parts[0]),))


def test_pieces_can_be_sent():
    for piece in scaled(ArrayRows(X, Y, WEIGHT, 7), targets=np.negative).pieces():
        there = pickle.loads(pickle.dumps(piece))
        np.testing.assert_array_equal(there.read().X, piece.read().X)
