"""Rows in a machine's units, converted as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.streamed.block import Block, Piece
from pymc_bsvm.streamed.rows import Rows
from pymc_bsvm.streamed.summary import Summary

__all__ = ["ByClass", "OneAgainstRest", "Scaled"]

type Conversion = Callable[[NDArray[Any]], Array]


@dataclass(frozen=True)
class OneAgainstRest:
    """Labels as +1 for one class and -1 for all others."""

    label: Any

    def __call__(self, y: NDArray[Any]) -> Array:
        """Convert the labels of some rows."""
        return np.where(y == self.label, 1.0, -1.0)


@dataclass(frozen=True)
class ByClass:
    """A number for each row by its label.

    Parameters
    ----------
    labels : ndarray of shape (k,)
        In ascending order.
    values : ndarray of shape (k,)
        Their numbers.
    """

    labels: NDArray[Any]
    values: Array

    def __call__(self, y: NDArray[Any]) -> Array:
        """Return the numbers of some rows."""
        return self.values[np.searchsorted(self.labels, y)]


class Converted(NamedTuple):
    """A piece of rows whose worker converts it."""

    size: int
    piece: Piece
    inputs: Conversion
    targets: Conversion
    factors: Conversion | None

    def read(self) -> Block:
        """Return the rows whose weight is positive, in the machine's units."""
        block = self.piece.read()
        if self.size < block.size:
            block = block.part(block.weight > 0.0)
        X, y, weight = block
        if self.factors is not None:
            weight = weight * self.factors(y)
        return Block(self.inputs(X), self.targets(y), weight)


class Scaled(Rows):
    """Rows in a machine's units, without those of weight zero.

    Parameters
    ----------
    rows : Rows
        In the units of the data.
    summary : Summary
        Of these rows.
    inputs, targets : callable
        Convert the inputs, of shape (b, d), and the targets or labels, of shape (b,). They go to
        the workers.
    factors : callable, optional
        What the weights are multiplied by, as a function of the targets; positive.
    """

    def __init__(
        self,
        rows: Rows,
        summary: Summary,
        inputs: Conversion,
        targets: Conversion,
        factors: Conversion | None = None,
    ) -> None:
        self.rows, self.kept = rows, summary.kept
        self.n, self.d = summary.n, summary.d
        self._conversions = inputs, targets, factors

    def pieces(self) -> Iterator[Piece]:
        """Say once, in order, where the rows are."""
        start = 0
        for piece in self.rows.pieces():
            size, stop = piece.size, start + piece.size
            if self.kept is not None:
                size = int(np.count_nonzero(self.kept[start:stop]))
            if size:
                yield Converted(size, piece, *self._conversions)
            start = stop
