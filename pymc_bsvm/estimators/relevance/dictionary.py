"""The basis functions that a relevance vector machine chooses from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels import Kernel

__all__ = ["Dictionary"]

_HELD = 2**24  # numbers of a kernel matrix that are kept
_BLOCK = 2**21  # numbers that are made at a time otherwise


class Dictionary:
    """The kernel at each row of the data as columns of unit length, and a constant behind them.

    Scaled to unit length, columns of any amplitude are alike to rounding. A column of zeros stays
    one. The kernel matrix is kept if it is small, or else made in blocks wherever it is needed.

    Parameters
    ----------
    kernel : Kernel
        The basis functions.
    values : ndarray of shape (p,)
        Its hyperparameters.
    X : ndarray of shape (n, d)
        Rows of the data.
    bias : bool
        Whether there is a constant.
    held : int
        Largest number of elements of a kernel matrix that is kept.
    """

    def __init__(
        self, kernel: Kernel, values: Array, X: Array, bias: bool, held: int = _HELD
    ) -> None:
        self.kernel, self.values, self.X, self.bias = kernel, values, X, bias
        self.n = len(X)
        self._matrix: Array | None = None
        if self.n**2 <= held:
            self._matrix = np.ones((self.n, self.n + bias))
            self._matrix[:, : self.n] = kernel.matrix(values, X)
        self.lengths = np.ones(self.n + bias)
        squares = self._squares()
        self.lengths = np.where(squares > 0.0, np.sqrt(squares), np.inf)
        if self._matrix is not None:
            self._matrix /= self.lengths

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.lengths.size

    def column(self, place: int) -> Array:
        """Return a column."""
        if self._matrix is not None:
            return self._matrix[:, place].copy()
        if place == self.n:
            return np.full(self.n, 1.0 / self.lengths[place])
        return self._columns(slice(place, place + 1))[:, 0]

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield all columns with their places, some at a time."""
        if self._matrix is not None:
            yield slice(0, self.size), self._matrix
            return
        step = max(_BLOCK // self.n, 1)
        for start in range(0, self.n, step):
            places = slice(start, min(start + step, self.n))
            yield places, self._columns(places)
        if self.bias:
            yield slice(self.n, self.n + 1), self.column(self.n)[:, None]

    def products(self, v: Array) -> Array:
        """Return the inner products of all columns with a vector."""
        result = np.empty(self.size)
        for places, block in self.blocks():
            result[places] = v @ block
        return result

    def _squares(self) -> Array:
        """Return the sums of squares of all columns."""
        result = np.empty(self.size)
        for places, block in self.blocks():
            result[places] = np.einsum("ij,ij->j", block, block)
        return result

    def _columns(self, places: slice) -> Array:
        block: Array = self.kernel.matrix(self.values, self.X, self.X[places])
        return block / self.lengths[places]
