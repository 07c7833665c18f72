"""Rows that are read at once, and the blocks they are worked on in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_real

__all__ = ["ROWS", "Block", "Piece", "block_of"]

ROWS = 8192  # of a block; it does not depend on the number of workers, so that sums do not either


class Piece(Protocol):
    """Rows that are read at once, by whoever needs them: a file's name is sent, not its rows."""

    @property
    def size(self) -> int:
        """Number of rows."""

    def read(self) -> Block:
        """Return the rows."""


class Block(NamedTuple):
    """Some consecutive rows; a piece that is read."""

    X: Array
    """Inputs, of shape (b, d), row by row."""
    y: NDArray[Any]
    """Targets, of shape (b,); labels are -1 and +1 in a machine, anything in the data."""
    weight: Array
    """How often each row counts, of shape (b,)."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.y.size)

    def read(self) -> Block:
        """Return itself."""
        return self

    def cut(self, size: int = ROWS) -> Iterator[Block]:
        """Yield blocks of at most so many rows, in order."""
        for start in range(0, self.size, size):
            yield self.part(slice(start, start + size))

    def part(self, rows: Any) -> Block:
        """Return the rows at a slice, a mask or places."""
        return Block(self.X[rows], self.y[rows], self.weight[rows])


def block_of(X: Any, y: Any, weight: Any = None) -> Block:
    """Return rows whose layout is the same wherever they come from, so that sums are."""
    X = np.ascontiguousarray(numbers("X", X, 2))
    check_real("y", y, dates=True)
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    count = len(X)
    weights = np.ones(count) if weight is None else numbers("sample_weight", weight, 1)
    for name, values in (("y", y), ("sample_weight", weights)):
        if values.shape != (count,):
            raise ValueError(
                f"{name} has the shape {values.shape} where X has {count} rows. "
                "Pass one number for each row."
            )
    return Block(X, np.ascontiguousarray(y), np.ascontiguousarray(weights))


def numbers(name: str, values: Any, dimensions: int) -> Array:
    """Return values as float64 after checking that they are numbers, in so many dimensions."""
    check_real(name, values)
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must hold real numbers, but its type is {array.dtype}. "
                "Encode what is not a number first."
            ) from None
    if array.ndim != dimensions:
        raise ValueError(
            f"{name} must have {dimensions} dimension{'s' * (dimensions > 1)}, but its shape is "
            f"{array.shape}. Pass {'rows and columns' if dimensions == 2 else 'one for each row'}."
        )
    return np.asarray(array, dtype=np.float64)
