"""Where rows come from: the same blocks, whatever holds them, each time they are read."""

import re

import numpy as np
import pytest

from pymc_bsvm.streamed.block import ROWS, Block, block_of
from pymc_bsvm.streamed.mapped import Mapped, mapped
from pymc_bsvm.streamed.rows import ArrayRows, ReopenedRows, rows_of

RNG = np.random.default_rng(0)
X, Y, WEIGHT = RNG.normal(size=(20, 3)), RNG.normal(size=20), RNG.uniform(size=20)


def whole(rows):
    """Return all rows at once, after checking that they are the same when read again."""
    first, second = list(rows.blocks()), list(rows.blocks())
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    return Block(*map(np.concatenate, zip(*first, strict=True)))


def assert_rows(rows, x=X, y=Y, weight=WEIGHT):
    found = whole(rows)
    for got, expected in zip(found, (x, y, weight), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert found.X.dtype == found.weight.dtype == np.float64
    assert (rows.n, rows.d) == x.shape


# ---- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("size", [1, 7, 20, 100])
def test_arrays(size, layout):
    rows = ArrayRows(np.array(X, order=layout), Y, WEIGHT, size)
    assert_rows(rows)
    assert [block.size for block in rows.blocks()][:-1] == [size] * ((20 - 1) // size)
    assert all(block.X.flags.c_contiguous for block in rows.blocks())


def test_a_block_of_an_array_is_no_copy():
    assert all(np.shares_memory(block.X, X) for block in rows_of(X, Y).blocks())


def test_lists_and_other_numbers():
    weight = np.arange(20)
    assert_rows(rows_of(X.tolist(), Y[:, None].tolist(), weight), weight=weight)
    assert_rows(rows_of(X.astype(np.float32), Y), X.astype(np.float32), weight=np.ones(20))


def test_labels_are_kept_as_they_are():
    labels = np.array(["no", "yes"] * 10)
    assert_rows(rows_of(X, labels, WEIGHT), y=labels)


def test_blocks_have_a_standard_size():
    n = 2 * ROWS + 5
    x, y = np.arange(float(n))[:, None], np.zeros(n)
    for rows in (ArrayRows(x, y), ArrayRows(x, y, size=n), rows_of(lambda: [(x, y)])):
        assert [block.size for block in rows.blocks()] == [ROWS, ROWS, 5]


# ---- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["C", "F"])
def test_memory_mapped_arrays_are_sent_by_name(tmp_path, layout):
    np.save(tmp_path / "X.npy", np.array(X, order=layout))
    np.save(tmp_path / "y.npy", Y)
    x, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy")
    rows = ArrayRows(x, y, WEIGHT, 7)
    assert_rows(rows)
    for piece in rows.pieces():
        assert [isinstance(array, Mapped) for array in piece.arrays] == [True, True, False]
    part = ArrayRows(np.asarray(x)[3::2, 1:], y[3::2], WEIGHT[3::2], 4)  # a view of a view
    assert_rows(part, X[3::2, 1:], Y[3::2], WEIGHT[3::2])
    assert isinstance(next(part.pieces()).arrays[0], Mapped)


def test_a_raw_file(tmp_path):
    x = np.memmap(tmp_path / "raw", np.float32, "w+", offset=64, shape=(20, 3))
    x[:] = X
    x.flush()
    assert_rows(ArrayRows(x, Y, WEIGHT, 7), X.astype(np.float32))
    assert mapped(X) is X


# ---- Dask ---------------------------------------------------------------------------------------


def test_chunks_of_dask_arrays():
    da = pytest.importorskip("dask.array")
    x, y = da.from_array(X, chunks=((4, 9, 7), (2, 1))), da.from_array(Y, chunks=6)
    rows = rows_of(x, y, WEIGHT)
    assert [piece.size for piece in rows.pieces()] == [4, 9, 7]
    assert_rows(rows)
    assert_rows(rows_of(X, y, WEIGHT))


def test_chunks_of_unknown_sizes():
    da = pytest.importorskip("dask.array")
    x = da.from_array(X, chunks=(6, 3))
    with pytest.raises(ValueError, match=r"X are of unknown sizes\. Call X\.compute_chunk_sizes"):
        rows_of(x[x[:, 0] > 0.0], Y)
    some = x[x[:, 0] > 0.0].compute_chunk_sizes()
    assert_rows(rows_of(some, Y[X[:, 0] > 0.0], WEIGHT[X[:, 0] > 0.0]),
                *(each[X[:, 0] > 0.0] for each in (X, Y, WEIGHT)))  # fmt: skip


# ---- functions that open them -------------------------------------------------------------------


def test_blocks_that_are_opened_afresh():
    def blocks():
        for start, stop in ((0, 3), (3, 3), (3, 20)):
            yield X[start:stop], Y[start:stop], WEIGHT[start:stop]

    rows = rows_of(blocks)
    assert not hasattr(rows, "n")
    found = whole(rows)
    assert (rows.n, rows.d) == (20, 3)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.weight, WEIGHT)


@pytest.mark.parametrize(
    ("second", "how"),
    [
        ([], "there are 0 where there were 2"),
        ([(X[:5], Y[:5])], "there are 1 where there were 2"),
        ([(X[:4], Y[:4])], "number 1 of 2 holds other rows"),
        ([(X[:5], Y[:5]), (X[5:], Y[5:]), (X, Y)], "number 3 of 2 holds other rows"),
        ([(X[5:10], Y[5:10])], "number 1 of 2 holds other rows"),
    ],
)
def test_blocks_that_change(second, how):
    found = iter([[(X[:5], Y[:5]), (X[5:], Y[5:])], second])
    rows = rows_of(lambda: next(found))
    list(rows.blocks())
    with pytest.raises(ValueError, match=f"{re.escape(how)}\\. Let the function open"):
        list(rows.blocks())


def test_a_generator_is_read_once_only():
    generator = ((X, Y) for _ in range(1))
    with pytest.raises(ValueError, match=r"read once only\. Pass a function"):
        rows_of(generator)
    rows = rows_of(lambda: generator)
    list(rows.blocks())
    with pytest.raises(ValueError, match="there are 0 where there were 1"):
        list(rows.blocks())


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X, None), r"no targets\. Pass y"),
        ((X, Y[:7]), r"y has 7 rows where X has 20\. Pass one"),
        ((X, Y, WEIGHT[:7]), r"sample_weight has 7 rows where X has 20\. Pass one"),
        ((Y, Y), r"X must have rows and columns, but its shape is \(20,\)\. Pass"),
        ((X[:0], Y[:0]), r"X must have rows and columns, but its shape is \(0, 3\)\. Pass"),
        ((lambda: [], Y), r"y or sample_weight is passed as well\. Let it yield"),
        ((lambda: 3,), r"returned int\. Let it yield"),
        ((lambda: [X],), r"it is of type ndarray\. Yield a tuple"),
        ((lambda: [],), r"no rows in the blocks\. Yield"),
        ((lambda: [(X, Y), (X[:, :2], Y)],), r"2 columns where the first has 3\. Yield"),
        ((lambda: [(X, Y[:3])],), r"y has the shape \(3,\) where X has 20 rows\. Pass"),
        ((np.array([["a"]]), [1.0]), r"X must hold real numbers, but its type is <U1\. Encode"),
        ((lambda: [(X[0], Y)],), r"X must have 2 dimensions, but its shape is \(3,\)\. Pass"),
    ],
)
def test_errors_say_what_to_do(arguments, message):
    with pytest.raises(ValueError, match=message):
        list(rows_of(*arguments).blocks())


def test_a_table_of_numbers_as_objects():
    np.testing.assert_array_equal(block_of(X.astype(object), Y).X, X)
    assert isinstance(rows_of(lambda: [(X, Y)]), ReopenedRows)
