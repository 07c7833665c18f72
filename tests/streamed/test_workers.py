"""Passes whose workers are killed, raise, or are interrupted."""

import logging
import os
import signal
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest

from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed import tasks

RNG = np.random.default_rng(5)
N, SIZE = 4000, 100  # more blocks than are sent at a time
X, Y, F = RNG.normal(size=(N, 3)), RNG.normal(size=N), RNG.normal(size=N)
SHARED = RNG.normal(size=(3, 30))
ROWS = ArrayRows(X, Y, size=SIZE)


def assert_same(one, other):
    for a, b in zip((*one.sums, *one.of_rows), (*other.sums, *other.of_rows), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def alone():
    return Passes(ROWS).run(tasks.gram, SHARED, of_rows=(F,))


@pytest.mark.parametrize("place", [0, 17, N // SIZE - 1])
def test_a_lost_process_changes_no_bit(alone, tmp_path, caplog, place):
    once = str(tmp_path / "once")
    with joblib.parallel_config(backend="loky"), caplog.at_level(logging.WARNING, "pymc_bsvm"):
        passes = Passes(ROWS, 2)
        found = passes.run(tasks.gram_with_a_death, SHARED, once, X[place * SIZE, 0], of_rows=(F,))
        assert_same(found, alone)
        assert "A worker was lost" in caplog.text
        assert_same(passes.run(tasks.gram, SHARED, of_rows=(F,)), alone)


@pytest.mark.parametrize("place", [0, 17, N // SIZE - 1])
def test_a_lost_worker_of_a_cluster_changes_no_bit(alone, tmp_path, cluster, place):
    once = str(tmp_path / "once")
    with joblib.parallel_config(backend="dask"):
        passes = Passes(ROWS, 2)
        found = passes.run(tasks.gram_with_a_death, SHARED, once, X[place * SIZE, 0], of_rows=(F,))
        assert (tmp_path / "once").exists()
        assert_same(found, alone)


def test_a_worker_that_is_killed_from_outside(alone, cluster):
    """It holds what was sent to all tasks, and may hold blocks that Dask computed."""
    import dask.array as da

    rows = ArrayRows(da.from_array(X, chunks=(SIZE, 3)).persist(), Y)
    killed = []

    def kill(step):
        if step.done == 10 * SIZE and not killed:
            killed.append(min(cluster.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    with joblib.parallel_config(backend="dask"):
        found = Passes(rows, 2, kill).run(tasks.gram, SHARED, of_rows=(F,))
    assert killed
    assert_same(found, alone)


def test_processes_that_die_again_and_again():
    with (
        joblib.parallel_config(backend="loky"),
        pytest.raises(RuntimeError, match=r"lost 4 times before any of 3 tasks was done\. Give"),
    ):
        Passes(ArrayRows(X[:300], Y[:300], size=SIZE), 2).run(tasks.death)


def test_workers_of_a_cluster_that_die_again_and_again(cluster):
    with (
        joblib.parallel_config(backend="dask"),
        pytest.raises(RuntimeError, match=r"it was in 4 workers that were lost\. Give"),
    ):
        Passes(ArrayRows(X[:100], Y[:100], size=SIZE), 2).run(tasks.death)


def test_a_pass_inside_a_task_of_a_cluster_is_a_plain_loop(alone, cluster):
    found = cluster.submit(tasks.gram_of, X, Y, SHARED, F).result()
    assert_same(found, alone)


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_an_error_in_a_task_is_not_tried_again(backend):
    with joblib.parallel_config(backend=backend), pytest.raises(ValueError, match="is bad"):
        Passes(ROWS, 2).run(tasks.error)


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_an_interruption_leaves_passes_that_can_go_on(alone, backend):
    with joblib.parallel_config(backend=backend):
        passes = Passes(ROWS, 2)
        with pytest.raises(KeyboardInterrupt):
            passes.run(tasks.interruption, X[-1, 0])
        assert_same(passes.run(tasks.gram, SHARED, of_rows=(F,)), alone)


def test_an_interruption_between_two_blocks(alone):
    def interrupt(step):
        if step.done == 20 * SIZE:
            raise KeyboardInterrupt

    with joblib.parallel_config(backend="loky"):
        passes = Passes(ROWS, 2, interrupt)
        with pytest.raises(KeyboardInterrupt):
            passes.run(tasks.gram, SHARED, of_rows=(F,))
        passes.report = None
        assert_same(passes.run(tasks.gram, SHARED, of_rows=(F,)), alone)


@pytest.mark.parametrize("backend", ["sequential", "loky"])
def test_control_c(backend):
    """A real signal to the process that fits; its workers are gone with it."""
    script = f"""
        import os, signal, sys, threading
        import joblib, numpy as np
        from pymc_bsvm.streamed.passes import Passes
        from pymc_bsvm.streamed.rows import ArrayRows
        from tests.streamed import tasks

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it

        def press(step):
            if step.done == 500:
                threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGINT)).start()

        passes = Passes(ArrayRows(np.ones((200_000, 3)), np.ones(200_000), size=100), 2, press)
        with joblib.parallel_config(backend={backend!r}):
            try:
                passes.run(tasks.gram, np.ones((3, 3)), of_rows=(np.ones(200_000),))
            except KeyboardInterrupt:
                passes.report = None
                passes.rows = ArrayRows(np.ones((200, 3)), np.ones(200), size=100)
                found = passes.run(tasks.gram, np.ones((3, 3)), of_rows=(np.ones(200),))
                print("then", found.sums[1].tolist())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "then [600.0, 600.0, 600.0]"
