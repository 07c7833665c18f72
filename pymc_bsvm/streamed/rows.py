"""Training rows that are read piece by piece, as often as needed."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm.streamed.block import ROWS, Block, Piece, block_of
from pymc_bsvm.streamed.chunks import is_dask, read_together, row_chunks
from pymc_bsvm.streamed.mapped import mapped

__all__ = ["ArrayRows", "Block", "ReopenedRows", "Rows", "rows_of"]


class Rows(ABC):
    """Rows that are read in the same pieces, in the same order, each time."""

    n: int
    """Number of rows."""
    d: int
    """Number of columns."""

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Say once, in order, where the rows are."""

    def blocks(self) -> Iterator[Block]:
        """Read all rows once."""
        for piece in self.pieces():
            yield from piece.read().cut()


class Sliced(NamedTuple):
    """The same rows of several arrays: in memory, in a file, or still to be computed by Dask."""

    size: int
    arrays: tuple[Any, ...]

    def read(self) -> Block:
        """Return the rows."""
        return block_of(*read_together(self.arrays))


class ArrayRows(Rows):
    """The rows of arrays in memory, memory-mapped arrays, and `dask.array`.

    What is mapped or computed by Dask is read by the worker that needs it.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Targets.
    weight : array of shape (n,), optional
        How often each row counts; once by default.
    size : int, default 8192
        Rows of a piece. The pieces of a Dask array are its chunks.
    """

    def __init__(self, X: Any, y: Any, weight: Any = None, size: int = ROWS) -> None:
        given = [("X", X), ("y", y), ("sample_weight", weight)]
        self._arrays = {name: _array(values) for name, values in given if values is not None}
        chunks = [row_chunks(name, array) for name, array in self._arrays.items() if is_dask(array)]
        X = self._arrays["X"]
        if X.ndim != 2 or not len(X):
            raise ValueError(
                f"X must have rows and columns, but its shape is {X.shape}. Pass one row or more."
            )
        self.n, self.d = X.shape
        steps = np.cumsum([0, *chunks[0]]) if chunks else np.arange(0, self.n, size)
        cuts = np.append(steps[steps < self.n], self.n)
        self._cuts: list[int] = cuts.tolist()
        for name, array in self._arrays.items():
            if len(array) != self.n:
                raise ValueError(
                    f"{name} has {len(array)} rows where X has {self.n}. "
                    "Pass one number for each row of X."
                )

    def pieces(self) -> Iterator[Piece]:
        """Say once, in order, where the rows are."""
        for start, stop in pairwise(self._cuts):
            if stop > start:
                arrays = (mapped(array[start:stop]) for array in self._arrays.values())
                yield Sliced(stop - start, tuple(arrays))


def _array(values: Any) -> Any:
    return values if isinstance(values, np.ndarray) or is_dask(values) else np.asarray(values)


class ReopenedRows(Rows):
    """The rows that a function yields, afresh each time it is called.

    The numbers of rows and columns are known after the first pass. Later passes have to yield the
    same blocks: as many rows, starting with the same one.

    Parameters
    ----------
    open_blocks : callable
        Returns an iterable of ``(X, y)`` or ``(X, y, sample_weight)``.
    """

    def __init__(self, open_blocks: Callable[[], Iterable[Any]]) -> None:
        self._open = open_blocks
        self._seen: list[tuple[int, int]] = []

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows once, as they are read."""
        before, seen = self._seen, list[tuple[int, int]]()
        columns = None
        for block in self._read():
            columns = columns or block.X.shape[1]
            if block.X.shape[1] != columns:
                raise ValueError(
                    f"A block has {block.X.shape[1]} columns where the first has {columns}. "
                    "Yield the same columns each time."
                )
            seen.append((block.size, zlib.crc32(block.X[0].tobytes())))
            if before and seen[-1:] != before[len(seen) - 1 : len(seen)]:
                raise _changed(f"number {len(seen)} of {len(before)} holds other rows")
            yield from block.cut()
        if len(seen) < len(before):
            raise _changed(f"there are {len(seen)} where there were {len(before)}")
        if columns is None:
            raise ValueError("There are no rows in the blocks. Yield one row or more.")
        self._seen, self.d = seen, columns
        self.n = sum(size for size, _ in seen)

    def _read(self) -> Iterator[Block]:
        found = self._open()
        if not isinstance(found, Iterable):
            raise ValueError(
                f"The function that opens the blocks returned {type(found).__name__}. "
                "Let it yield (X, y) or (X, y, sample_weight)."
            )
        for block in found:
            if not isinstance(block, tuple | list) or len(block) not in (2, 3):
                raise ValueError(
                    "A block must be (X, y) or (X, y, sample_weight), but it is of type "
                    f"{type(block).__name__}. Yield a tuple of arrays."
                )
            if len(block[0]):
                yield block_of(*block)


def _changed(how: str) -> ValueError:
    return ValueError(
        f"The blocks changed when they were read again: {how}. "
        "Let the function open the data afresh each time, in the same order."
    )


def rows_of(X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
    """Return rows to be read block by block.

    Parameters
    ----------
    X : array_like or dask.array of shape (n, d), or callable
        Inputs; memory-mapped arrays are not read here. Or a function that returns an iterable of
        ``(X, y)`` or ``(X, y, sample_weight)`` afresh each time.
    y : array_like or dask.array of shape (n,), optional
        Targets, unless X yields them.
    sample_weight : array_like or dask.array of shape (n,), optional
        How often each row counts.
    """
    if callable(X):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "X is a function that yields blocks, but y or sample_weight is passed as well. "
                "Let it yield (X, y) or (X, y, sample_weight)."
            )
        return ReopenedRows(X)
    if isinstance(X, Iterator):
        raise ValueError(
            f"X is a {type(X).__name__}, which can be read once only. "
            "Pass a function that returns a new one."
        )
    if y is None:
        raise ValueError("There are no targets. Pass y, or a function that yields (X, y).")
    return ArrayRows(X, y, sample_weight)
