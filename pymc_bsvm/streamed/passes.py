"""One pass over all rows: a task for each block, and the sum of what the tasks return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.streamed.rows import Block, Rows

__all__ = ["Partial", "Passes"]


class Partial(NamedTuple):
    """What a task returns for its block, and a pass for all rows."""

    sums: tuple[Any, ...] = ()
    """Numbers and arrays of one shape each, which are added in the order of the blocks."""
    of_rows: tuple[Array, ...] = ()
    """Numbers of each row, of shape (b,), which are put one behind the other."""


type Task = Callable[..., Partial]
"""``task(block, of_rows, *shared)``: stateless, and importable by a worker.

``of_rows`` holds the block's part of each array that the pass was given.
"""


class Passes:
    """Passes over the same rows.

    Parameters
    ----------
    rows : Rows
        What is read, once in each pass.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.count = 0

    def run(self, task: Task, *shared: Any, of_rows: Sequence[Array] = ()) -> Partial:
        """Apply a task to all blocks; ``shared`` goes to each, ``of_rows`` in parts."""
        self.count += 1
        sums: list[Any] = []
        rows: list[tuple[Array, ...]] = []
        for block, parts in self._blocks(of_rows):
            found = task(block, parts, *shared)
            sums = [a + b for a, b in zip(sums or [0.0] * len(found.sums), found.sums, strict=True)]
            rows.append(found.of_rows)
        return Partial(tuple(sums), tuple(np.concatenate(each) for each in zip(*rows, strict=True)))

    def _blocks(self, of_rows: Sequence[Array]) -> Iterator[tuple[Block, tuple[Array, ...]]]:
        start = 0
        for block in self.rows.blocks():
            stop = start + block.y.size
            yield block, tuple(each[start:stop] for each in of_rows)
            start = stop
