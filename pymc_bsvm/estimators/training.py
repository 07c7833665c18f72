"""The rows of one machine in its units, and how its hyperparameters are found on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.ladder import Ladder
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence
from pymc_bsvm.estimators.repeats import merged
from pymc_bsvm.estimators.route import Route, route_of, route_on_points
from pymc_bsvm.estimators.search import Found, Move, search
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import Rows

__all__ = ["Given", "InMemory", "Streamed"]


class Given(Protocol):
    """Rows on which a model is fitted."""

    @property
    def d(self) -> int:
        """Number of columns."""

    def route(self, approximation: Any, loss: Loss) -> Route:
        """Return which evidence is maximised."""

    def search(
        self,
        blueprint: Blueprint,
        restarts: int,
        rng: np.random.Generator,
        moves: Sequence[Move],
        **settings: Any,
    ) -> Found[Any]:
        """Maximise the evidence."""


@dataclass(frozen=True)
class InMemory:
    """Rows whose kernel matrix is held in memory."""

    X: Array = field(repr=False)
    y: Array = field(repr=False)
    sample_weight: Array | None = field(repr=False)

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def route(self, approximation: Any, loss: Loss) -> Route:
        """Return which evidence is maximised."""
        return route_of(approximation, loss, self.y.size, self.sample_weight)

    def search(
        self,
        blueprint: Blueprint,
        restarts: int,
        rng: np.random.Generator,
        moves: Sequence[Move],
        **settings: Any,
    ) -> Found[Any]:
        """Maximise the evidence of all rows after that of a share of them."""
        rows = self.merged(blueprint)
        objective = MachineEvidence(blueprint, rows.X, rows.y, rows.sample_weight)
        found = search(objective, restarts, rng, moves=moves, **settings)
        if rows is self:
            return found
        best = found.objective.blueprint
        return replace(found, objective=MachineEvidence(best, self.X, self.y, self.sample_weight))

    def merged(self, blueprint: Blueprint) -> InMemory:
        """Return the rows that differ, in order, each as often as it counts in all.

        The evidence is the same, and a search on them is that with weights. Rows are left as they
        are where the covariance tells a row from its repetition, as white noise does.
        """
        found = merged(np.column_stack([self.X, self.y]), self.sample_weight)
        if found is None:
            return self
        kernel = blueprint.kernel
        values = np.array([h.start for h in blueprint.hyperparameters])
        K = blueprint.matrix(values, kernel.take(self.X, found.pair))
        if K[0, 1] != K[0, 0]:
            return self
        return InMemory(kernel.take(self.X, found.rows), self.y[found.rows], found.weight)


@dataclass(frozen=True)
class Streamed:
    """Rows that are read block by block, for a machine on inducing points."""

    source: Rows = field(repr=False)
    rows: float
    """Number of rows, each as often as it counts."""
    inducing: int | Literal["auto"]

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.source.d

    def route(self, approximation: Any, loss: Loss) -> Route:
        """Return which evidence is maximised."""
        return route_on_points(approximation, loss)

    def search(
        self,
        blueprint: Blueprint,
        restarts: int,
        rng: np.random.Generator,
        moves: Sequence[Move],
        **settings: Any,
    ) -> Found[Any]:
        """Maximise the evidence of more and more rows."""
        report = settings["report"]
        passes = Passes(self.source, settings.pop("n_jobs"), report.on_pass)
        ladder = Ladder(passes, self.rows, self.inducing, rng)
        return ladder.climb(blueprint, restarts, moves, **settings)
