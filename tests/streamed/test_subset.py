"""Random subsets: of every source the same, and uniform."""

import numpy as np
import pytest

from pymc_bsvm.streamed.rows import ArrayRows, rows_of
from pymc_bsvm.streamed.subset import sample

N = 3000
X = np.arange(float(N))[:, None]
Y = -X[:, 0]


def drawn(rows, k, seed=0):
    return sample(rows, k, np.random.default_rng(seed))


@pytest.mark.parametrize("k", [1, 10, 700])
def test_the_subset_does_not_depend_on_the_blocks(k):
    found = drawn(ArrayRows(X, Y), k)
    assert found.size == k
    assert (np.diff(found.X[:, 0]) > 0).all()  # in their order, without repetition
    np.testing.assert_array_equal(found.y, -found.X[:, 0])
    for rows in (ArrayRows(X, Y, size=11), rows_of(lambda: [(X[:5], Y[:5]), (X[5:], Y[5:])])):
        np.testing.assert_array_equal(drawn(rows, k).X, found.X)
    assert not np.array_equal(drawn(ArrayRows(X, Y), k, 1).X, found.X)


def test_fewer_rows_than_are_wanted():
    np.testing.assert_array_equal(drawn(ArrayRows(X, Y, size=11), N + 1).X, X)


def test_rows_without_weight_are_not_drawn():
    weight = np.where(X[:, 0] < 100, 2.0, 0.0)
    found = drawn(ArrayRows(X, Y, weight, 11), 200)
    np.testing.assert_array_equal(found.X, X[:100])
    np.testing.assert_array_equal(found.weight, 2.0)


def test_every_row_is_as_likely():
    """Counts of 400 draws of 30 rows: their mean rank is that of all rows, three sigma."""
    rows = ArrayRows(X, Y, size=100)
    values = np.concatenate([drawn(rows, 30, seed).X[:, 0] for seed in range(400)])
    sigma = N / np.sqrt(12.0 * values.size)
    assert abs(values.mean() - (N - 1) / 2) < 3 * sigma
    assert abs(np.mean(values < N / 4) - 0.25) < 3 * np.sqrt(0.1875 / values.size)
