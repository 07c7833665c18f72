"""The data of a fit: arrays whose rows are held at once, or rows that are read block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.training import Given, InMemory, Streamed
from pymc_bsvm.streamed.rows import Rows
from pymc_bsvm.streamed.scaled import ByClass, Scaled
from pymc_bsvm.streamed.summary import Summary

__all__ = ["Data", "Held", "Read"]

type Conversion = Callable[[NDArray[Any]], Array]


class Data(Protocol):
    """Rows with targets or labels, of which those of weight zero are left out."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def count(self) -> float:
        """The same, each as often as it counts."""

    @property
    def spread(self) -> Array:
        """Standard deviations of the columns in the units of the machine."""

    @property
    def labels(self) -> NDArray[Any]:
        """The labels that occur, in order."""

    @property
    def inputs(self) -> Array | None:
        """All inputs in the units of the user, if they are held."""

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where rows that are not left out are among all rows."""

    def target_scale(self) -> Scale:
        """Return the map of targets to mean zero and variance one."""

    def target_spread(self, scale: Scale) -> float:
        """Return the standard deviation of scaled targets; one if they do not vary."""

    def given(self, convert: Conversion) -> Given:
        """Return what a machine is fitted to, with its targets."""


@dataclass(frozen=True)
class Held:
    """Rows whose kernel matrix is held in memory."""

    inputs: Array = field(repr=False)
    rows: Array = field(repr=False)
    """Inputs in the units of the machine."""
    y: NDArray[Any] = field(repr=False)
    weight: Array | None = field(repr=False)
    kept: NDArray[np.intp] = field(repr=False)
    """Where the rows are among all."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.y.size

    @property
    def count(self) -> float:
        """The same, each as often as it counts."""
        return float(self.y.size if self.weight is None else self.weight.sum())

    @property
    def spread(self) -> Array:
        """Standard deviations of the columns in the units of the machine."""
        spread: Array = self.rows.std(axis=0)
        return spread

    @property
    def labels(self) -> NDArray[Any]:
        """The labels that occur, in order."""
        return np.unique(self.y)

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where rows that are not left out are among all rows."""
        return self.kept[rows]

    def target_scale(self) -> Scale:
        """Return the map of targets to mean zero and variance one."""
        return Scale.of_targets(self.y[:, None], self.weight)

    def target_spread(self, scale: Scale) -> float:
        """Return the standard deviation of scaled targets; one if they do not vary."""
        return float(Scale.of(scale(self.y[:, None]), self.weight).spread[0])

    def given(self, convert: Conversion) -> InMemory:
        """Return what a machine is fitted to, with its targets."""
        return InMemory(self.rows, convert(self.y), self.weight)


@dataclass(frozen=True)
class Read:
    """Rows that are read block by block."""

    source: Rows = field(repr=False)
    summary: Summary = field(repr=False)
    scale: Scale
    """Of the inputs."""
    inducing: int | Literal["auto"]
    factors: ByClass | None = None
    """How often rows of each class count."""

    inputs = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.summary.n

    @property
    def count(self) -> float:
        """The same, each as often as it counts."""
        if self.factors is None or self.summary.classes is None:
            return self.summary.columns.weight
        return float(self.summary.classes.weight @ self.factors.values)

    @property
    def spread(self) -> Array:
        """Standard deviations of the columns in the units of the machine."""
        return self.summary.columns.spread / self.scale.spread

    @property
    def labels(self) -> NDArray[Any]:
        """The labels that occur, in order."""
        assert self.summary.classes is not None
        labels = self.summary.classes.labels
        return labels if self.factors is None else labels[self.factors.values > 0.0]

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where rows that are not left out are among all rows."""
        kept = self.summary.kept
        return rows if kept is None else np.flatnonzero(kept)[rows]

    def target_scale(self) -> Scale:
        """Return the map of targets to mean zero and variance one."""
        targets = self.summary.targets
        assert targets is not None
        length = float((targets.high - targets.low)[0])
        return Scale.of_moments(targets.mean, targets.spread).for_targets(length, self.n)

    def target_spread(self, scale: Scale) -> float:
        """Return the standard deviation of scaled targets; one if they do not vary."""
        targets = self.summary.targets
        assert targets is not None
        scaled = Scale.of_moments(scale(targets.mean), targets.spread / scale.spread)
        return float(scaled.spread[0])

    def given(self, convert: Conversion) -> Streamed:
        """Return what a machine is fitted to, with its targets."""
        rows = Scaled(self.source, self.summary, self.scale, convert, self.factors)
        return Streamed(rows, self.count, self.inducing)
