"""Tasks that workers of the tests import."""

import os
import signal
from pathlib import Path

import joblib
import numpy as np

from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.rows import ArrayRows


def gram(block, parts, shared):
    """Return sums whose bits depend on their order, and products row by row."""
    (f,) = parts
    X = block.X @ shared
    H = X.T @ (block.weight[:, None] * X)
    return Partial((np.exp(block.y).sum(), X.T @ block.y, H), (f * block.y,))


def gram_with_a_death(block, parts, shared, once, first):
    """Return the same, but let the worker die whose block starts with `first`, once."""
    if block.X[0, 0] == first and not Path(once).exists():
        Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return gram(block, parts, shared)


def gram_of(X, y, shared, f):
    """Make a pass where the task is that of another cluster."""
    with joblib.parallel_config(backend="dask"):
        return Passes(ArrayRows(X, y, size=100), 2).run(gram, shared, of_rows=(f,))


def death(block, parts):
    """Kill the worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def error(block, parts):
    """Raise as a check of the data does."""
    raise ValueError("This block is bad. Pass another.")


def interruption(block, parts, last):
    """Raise what a press of Ctrl-C does, in the last block."""
    if block.X[-1, 0] == last:
        raise KeyboardInterrupt
    return Partial((1,))


def threads(block, parts):
    """Return the number of threads of each BLAS, inside a task."""
    return Partial((), (np.full(block.size, most_threads()),))


def most_threads():
    from threadpoolctl import threadpool_info

    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
