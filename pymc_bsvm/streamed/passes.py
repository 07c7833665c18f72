"""One pass over all rows: a task for each block, and the sum of what the tasks return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._numba import explained_numba
from pymc_bsvm._typing import Array
from pymc_bsvm.streamed.block import Piece
from pymc_bsvm.streamed.rows import Rows
from pymc_bsvm.streamed.threads import one_thread
from pymc_bsvm.streamed.workers import results

__all__ = ["Partial", "Passes", "Step"]


class Partial(NamedTuple):
    """What a task returns for its block, and a pass for all rows."""

    sums: tuple[Any, ...] = ()
    """What can be added, in the order of the blocks: numbers, and arrays of one shape each."""
    of_rows: tuple[NDArray[Any], ...] = ()
    """Numbers of each row, of shape (b,), which are put one behind the other."""


class Step(NamedTuple):
    """How far a pass is."""

    stage: str
    """What the pass is part of."""
    number: int
    """Of the pass, from one."""
    done: int
    """Rows that are done."""
    total: int | None
    """All rows, None if that is not known yet."""


type Task = Callable[..., Partial]
"""``task(block, of_rows, *shared)``: stateless, and importable by a worker.

``of_rows`` holds the block's part of each array that the pass was given. A task must not write into
what it is given.
"""
type _Item = tuple[Task, Piece, tuple[Array, ...]]


class Passes:
    """Passes over the same rows.

    Blocks and the order of their sums do not depend on where tasks run, and BLAS has one thread
    wherever they do: one process and many return the same bits.

    Parameters
    ----------
    rows : Rows
        What is read, once in each pass.
    n_jobs : int or None, default None
        Number of tasks at a time, through joblib; one is a plain loop.
    report : callable, optional
        Is told about each `Step`.
    """

    def __init__(
        self,
        rows: Rows,
        n_jobs: int | None = None,
        report: Callable[[Step], None] | None = None,
    ) -> None:
        self.rows, self.n_jobs, self.report = rows, n_jobs, report
        self.stage = ""
        self.count = 0

    @explained_numba()
    def run(self, task: Task, *shared: Any, of_rows: Sequence[Array] = ()) -> Partial:
        """Apply a task to all blocks; ``shared`` goes to each, ``of_rows`` in parts.

        A pass that is interrupted leaves nothing behind: another may follow.
        """
        self.count += 1
        total, done = _Total(), 0
        found = results(_apply, self._items(task, of_rows), shared, self.n_jobs)
        with one_thread(), closing(found):
            for size, partial in found:
                total.add(partial)
                done += size
                self._tell(done)
        return total.end()

    def _items(self, task: Task, of_rows: Sequence[Array]) -> Iterator[_Item]:
        start = 0
        for piece in self.rows.pieces():
            stop = start + piece.size
            yield task, piece, tuple(each[start:stop] for each in of_rows)
            start = stop

    def _tell(self, done: int) -> None:
        if self.report is not None:
            self.report(Step(self.stage, self.count, done, getattr(self.rows, "n", None)))


def _apply(item: _Item, *shared: Any) -> tuple[int, Partial]:
    """Apply a task to the blocks of a piece; a worker runs this."""
    task, piece, parts = item
    total, start = _Total(), 0
    with one_thread():
        for block in piece.read().cut():
            stop = start + block.size
            total.add(task(block, tuple(each[start:stop] for each in parts), *shared))
            start = stop
    return piece.size, total.end()


class _Total:
    """Sums in the order in which they come."""

    def __init__(self) -> None:
        self._sums: list[Any] = []
        self._of_rows: list[tuple[NDArray[Any], ...]] = []

    def add(self, found: Partial) -> None:
        sums = self._sums
        self._sums = (
            [a + b for a, b in zip(sums, found.sums, strict=True)] if sums else list(found.sums)
        )
        self._of_rows.append(found.of_rows)

    def end(self) -> Partial:
        of_rows = (np.concatenate(each) for each in zip(*self._of_rows, strict=True))
        return Partial(tuple(self._sums), tuple(of_rows))
