"""What the first pass over rows finds out: that they can be used, and their moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_size
from pymc_bsvm.streamed.block import Block, numbers
from pymc_bsvm.streamed.passes import Partial, Passes

__all__ = ["Classes", "Moments", "Summary", "summarise"]


@dataclass(frozen=True)
class Moments:
    """Weighted mean, variance and range of columns; those of parts add up to those of all."""

    weight: float
    mean: Array
    squares: Array
    """Weighted sum of squared distances from the mean."""
    low: Array
    high: Array

    @classmethod
    def of(cls, x: Array, weight: Array) -> Moments:
        """Return the moments of rows with positive weights."""
        total, d = float(weight.sum()), x.shape[1]
        mean = weight @ x / total if total else np.zeros(d)
        return cls(
            total,
            mean,
            weight @ (x - mean) ** 2,
            x.min(axis=0, initial=np.inf),
            x.max(axis=0, initial=-np.inf),
        )

    def __add__(self, other: Moments) -> Moments:
        """Put two parts together (Chan, Golub and LeVeque, 1983)."""
        if not (self.weight and other.weight):
            return self if self.weight else other
        total = self.weight + other.weight
        distance = other.mean - self.mean
        share = other.weight / total
        return Moments(
            total,
            self.mean + share * distance,
            self.squares + other.squares + self.weight * share * distance**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def largest(self) -> Array:
        """Return the largest absolute values."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def spread(self) -> Array:
        """Return the standard deviations."""
        return np.sqrt(self.squares / self.weight)


@dataclass(frozen=True)
class Classes:
    """The labels that occur, in order, with the weights of their rows."""

    labels: NDArray[Any]
    weight: Array

    @classmethod
    def of(cls, y: NDArray[Any], weight: Array) -> Classes:
        """Return the labels of some rows."""
        labels, place = np.unique(y, return_inverse=True)
        return cls(labels, np.bincount(place, weight, labels.size))

    def __add__(self, other: Classes) -> Classes:
        """Put two parts together."""
        labels = np.concatenate([self.labels, other.labels])
        return Classes.of(labels, np.concatenate([self.weight, other.weight]))


@dataclass(frozen=True)
class Summary:
    """Facts about rows whose weight is positive."""

    n: int
    """Their number."""
    columns: Moments
    targets: Moments | None
    """Those of the targets, as one column; None for labels."""
    classes: Classes | None
    """The labels; None for targets."""
    kept: NDArray[np.bool_] | None
    """Which of all rows these are; None if they are all."""

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.columns.mean.size)


def summarise(passes: Passes, labels: bool = False) -> Summary:
    """Check all rows in one pass, and return what is to be known about them.

    Rows of weight zero count as if they were not there.

    Parameters
    ----------
    passes : Passes
        Over the rows as they are given.
    labels : bool, default False
        Whether the targets are labels of classes.
    """
    (columns, targets), (kept,) = passes.run(_summary, labels)
    n = int(np.count_nonzero(kept))
    if not n:
        raise ValueError(
            "sample_weight is zero for all rows, so that nothing is left to fit. "
            "Pass a positive weight for some rows."
        )
    for name, moments in (("X", columns), ("y", targets)):
        if isinstance(moments, Moments):
            check_size(name, moments.largest)
    if labels and targets.labels.size < 2:
        raise ValueError(
            f"There is one class only, {str(targets.labels[0])!r}. Pass two classes or more."
        )
    return Summary(
        n,
        columns,
        None if labels else targets,
        targets if labels else None,
        None if n == kept.size else kept,
    )


def _summary(block: Block, _: tuple[Array, ...], labels: bool) -> Partial:
    """Check a block and return its moments."""
    weight = block.weight
    _check_finite("sample_weight", weight)
    if (weight < 0.0).any():
        raise ValueError(
            f"sample_weight must not be negative, but it holds {weight.min():.3g}. "
            "Pass how often each row counts."
        )
    kept = weight > 0.0
    X, y, weight = block.part(kept) if not kept.all() else block
    _check_finite("X", X)
    check_size("X", np.abs(X).max(axis=0, initial=0.0), least=False)
    columns = Moments.of(X, weight)
    if labels:
        return Partial((columns, Classes.of(_labels(y), weight)), (kept,))
    targets = numbers("y", y, 1)
    _check_finite("y", targets)
    check_size("y", np.abs(targets).max(initial=0.0), least=False)
    return Partial((columns, Moments.of(targets[:, None], weight)), (kept,))


def _labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return labels after checking that they are no measurements."""
    if y.dtype.kind == "f":
        other = y[y != np.round(y)]
        if other.size:
            raise ValueError(
                f"y must hold labels of classes, but it holds {other[0]!s}. "
                "Pass integers or names, or use a regressor."
            )
    return y


def _check_finite(name: str, values: Array) -> None:
    if not np.isfinite(values).all():
        bad = values[~np.isfinite(values)]
        where = ""
        if values.ndim == 2:
            columns = np.flatnonzero(~np.isfinite(values).all(axis=0))
            where = f" in column {columns[0]}"
        raise ValueError(
            f"{name} must be finite, but it holds {bad[0]!s}{where}. "
            "Remove or impute these rows first."
        )
