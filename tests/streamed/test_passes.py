"""One pass over all rows."""

import numpy as np
import pytest

from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.rows import ArrayRows


def moments(block, parts, power):
    """Weighted sums of a power of the targets and of the columns; products row by row."""
    (f,) = parts
    sums = (block.weight @ block.y**power, block.X.T @ block.weight)
    return Partial(sums, (f * block.y,))


@pytest.mark.parametrize("size", [1, 7, 20, 100])
def test_sums_are_those_of_all_rows_at_once(size):
    rng = np.random.default_rng(1)
    X, y, f, weight = rng.normal(size=(20, 3)), *rng.normal(size=(2, 20)), rng.uniform(size=20)
    passes = Passes(ArrayRows(X, y, weight, size))
    for count in (1, 2):  # the rows can be read again
        sums, of_rows = passes.run(moments, 2, of_rows=(f,))
        np.testing.assert_allclose(sums[0], (weight * y**2).sum(), rtol=1e-14)
        np.testing.assert_allclose(sums[1], (weight[:, None] * X).sum(axis=0), rtol=1e-13)
        np.testing.assert_array_equal(of_rows[0], f * y)
        assert passes.count == count


def test_rows_without_weights_count_once():
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    sums, _ = Passes(ArrayRows(X, y, size=4)).run(moments, 1, of_rows=(y,))
    assert sums[0] == 45.0
