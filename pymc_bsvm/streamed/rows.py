"""Training rows that are read block by block, as often as needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["ArrayRows", "Block", "Rows"]

_ROWS = 8192  # of a block; it does not depend on the number of workers, so that sums do not either


class Block(NamedTuple):
    """Some consecutive rows."""

    X: Array
    """Inputs, of shape (b, d)."""
    y: Array
    """Targets, of shape (b,); labels are -1 and +1."""
    weight: Array
    """How often each row counts, of shape (b,)."""


class Rows(ABC):
    """Rows that are read in the same blocks, in the same order, each time."""

    n: int
    """Number of rows."""
    d: int
    """Number of columns."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Read all rows once."""


class ArrayRows(Rows):
    """The rows of arrays.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Inputs.
    y : ndarray of shape (n,)
        Targets; labels are -1 and +1.
    weight : ndarray of shape (n,), optional
        How often each row counts; once by default.
    size : int, default 8192
        Rows of a block.
    """

    def __init__(self, X: Array, y: Array, weight: Array | None = None, size: int = _ROWS) -> None:
        self.X, self.y, self.weight, self.size = X, y, weight, size
        self.n, self.d = X.shape

    def blocks(self) -> Iterator[Block]:
        """Read all rows once."""
        for start in range(0, self.n, self.size):
            rows = slice(start, start + self.size)
            y = self.y[rows]
            weight = np.ones(y.size) if self.weight is None else self.weight[rows]
            yield Block(self.X[rows], y, weight)
