"""One pass over all rows, in one process and in many."""

import joblib
import numpy as np
import pytest

from pymc_bsvm.streamed.passes import Partial, Passes, Step
from pymc_bsvm.streamed.rows import ArrayRows, rows_of
from tests.streamed import tasks


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


# ---- the same bits everywhere -------------------------------------------------------------------

RNG = np.random.default_rng(4)
N = 20_000
X, Y, F = RNG.normal(size=(N, 5)), RNG.normal(size=N), RNG.normal(size=N)
SHARED = RNG.normal(size=(5, 40))


def sources(folder):
    """Return the same rows in an array, in a file, in blocks."""
    np.save(folder / "X.npy", np.asfortranarray(X))
    return {
        "array": rows_of(X, Y),
        "file": rows_of(np.load(folder / "X.npy", mmap_mode="r"), Y),
        "blocks": rows_of(lambda: [(X, Y)]),
    }


def assert_same(one, other):
    for a, b in zip((*one.sums, *one.of_rows), (*other.sums, *other.of_rows), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def alone():
    return Passes(rows_of(X, Y)).run(tasks.gram, SHARED, of_rows=(F,))


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
@pytest.mark.parametrize("source", ["array", "file", "blocks"])
def test_neither_workers_nor_sources_change_a_bit(alone, tmp_path, backend, source):
    rows = sources(tmp_path)[source]
    with joblib.parallel_config(backend=backend):
        assert_same(Passes(rows, 2).run(tasks.gram, SHARED, of_rows=(F,)), alone)


def test_a_cluster_changes_no_bit(alone, tmp_path, cluster):
    """Dask's chunks are blocks here, so that the sums are those of the arrays."""
    import dask.array as da

    rows = sources(tmp_path)
    chunks = da.from_array(X, chunks=(8192, 5)), da.from_array(Y, chunks=8192)
    rows["lazy"] = rows_of(*chunks)
    rows["persisted"] = rows_of(*(each.persist() for each in chunks))
    with joblib.parallel_config(backend="dask"):
        for source in rows.values():
            assert_same(Passes(source, 2).run(tasks.gram, SHARED, of_rows=(F,)), alone)


def test_chunks_of_several_blocks():
    da = pytest.importorskip("dask.array")
    passes = [
        Passes(rows_of(da.from_array(X, chunks=(18_000, 5)), Y), n_jobs) for n_jobs in (None, 2)
    ]
    with joblib.parallel_config(backend="threading"):
        one, other = (each.run(tasks.gram, SHARED, of_rows=(F,)) for each in passes)
    assert_same(one, other)
    np.testing.assert_allclose(one.sums[1], (X @ SHARED).T @ Y, rtol=1e-9)


# ---- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        {"backend": "sequential"},
        {"backend": "threading"},
        {"backend": "loky", "inner_max_num_threads": 2},
    ],
)
def test_a_task_has_one_thread(config):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(2), joblib.parallel_config(**config):
        _, (seen,) = Passes(ArrayRows(X, Y, size=2000), 2).run(tasks.threads)
        assert set(seen) == {1}
        assert tasks.most_threads() == 2


# ---- reports ------------------------------------------------------------------------------------


def test_reports():
    seen = []
    passes = Passes(rows_of(lambda: [(X[:50], Y[:50]), (X[50:90], Y[50:90])]), report=seen.append)
    for passes.stage in ("check", "fit"):
        passes.run(tasks.threads)
    assert seen == [
        Step("check", 1, 50, None),
        Step("check", 1, 90, None),
        Step("fit", 2, 50, 90),
        Step("fit", 2, 90, 90),
    ]
