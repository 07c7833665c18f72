"""The search for hyperparameters on many rows: on few of them first, then on more with more points.

A step on few rows and few inducing points costs next to nothing and finds the neighbourhood; what
is left to find, more rows and more points find in a few steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.climb import climb
from pymc_bsvm.estimators.induced import InducedEvidence, points_of
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence
from pymc_bsvm.estimators.polish import curvature_at, polish
from pymc_bsvm.estimators.search import Found, Move, Rival, explore, starts_of
from pymc_bsvm.search import Ascents, Ending
from pymc_bsvm.streamed.ep import PropagationError
from pymc_bsvm.streamed.mode import ModeError
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.rows import ArrayRows, Block
from pymc_bsvm.streamed.subset import sample

__all__ = ["Ladder"]

_DENSE = 400  # rows on which the kernel matrix is whole
_FEW = 4000, 150  # rows, and inducing points at most, on which models are compared
# Rows that tell of the hyperparameters. Those of k numbers, learned from n rows, cost a new row
# about k / (2 n) nats: here, less than can be measured.
_ROWS_OF_SEARCH = 50_000
_POINTS_OF_SEARCH = 300  # inducing points, before all of them
_OF_NOISE = 10_000  # rows that tell of the noise
_ROWS = 1000  # for each `gain` that ends a climb
_FEWEST, _MOST = 125, 1000  # inducing points of their own choice
_WORTH = 0.1  # of a `gain`, for each row: what twice as many points have to add


class Ladder:
    """Rows in the machine's units, and how many inducing points there may be.

    Parameters
    ----------
    passes : Passes
        Over all rows.
    rows : float
        Number of rows, each as often as it counts.
    inducing : int or "auto"
        Number of inducing points.
    rng : Generator
        Chooses the rows at hand.
    """

    def __init__(
        self,
        passes: Passes,
        rows: float,
        inducing: int | Literal["auto"],
        rng: np.random.Generator,
    ) -> None:
        self.passes, self.rows, self.inducing, self.rng = passes, rows, inducing, rng
        self._some = sample(passes.rows, _ROWS_OF_SEARCH, rng)
        self._order = rng.permutation(self._some.y.size)

    def climb(
        self,
        blueprint: Blueprint,
        restarts: int,
        moves: Sequence[Move] = (),
        *,
        gain: float,
        **settings: Any,
    ) -> Found[InducedEvidence]:
        """Maximise the evidence; models are compared on the first rows with inducing points."""
        rough = {"gain": 3.0 * gain, "give_way": False, **settings}
        dense = MachineEvidence(blueprint, *self._first(_DENSE))
        starts = starts_of(dense, restarts, self.rng)
        begun = explore(dense, starts, (), restarts, **rough)
        if begun.ascents.interrupted:
            raise KeyboardInterrupt  # too few rows to go on with
        ends = begun.ends(len(starts))
        most = _MOST if self.inducing == "auto" else self.inducing
        rows, points = _FEW
        first = self._objective(rows, min(points, most), blueprint, ends[0].x)
        found = explore(first, ends, moves, restarts, **rough)
        try:
            for better in self._steps(found, most, restarts, gain, settings):
                found = better
                if found.ascents.interrupted:
                    break
        except KeyboardInterrupt:
            found = replace(found, ascents=replace(found.ascents, interrupted=True))
        if found.objective.passes is not self.passes:
            x, begin = found.ascents.best.end, found.objective.posterior
            points = len(found.objective.Z)
            whole = self._objective(self.passes.rows.n, points, found.objective.blueprint, x, begin)
            found = replace(found, objective=whole)
        return found

    def _steps(
        self,
        found: Found[InducedEvidence],
        most: int,
        restarts: int,
        gain: float,
        settings: dict[str, Any],
    ) -> Iterator[Found[InducedEvidence]]:
        """Go on with more rows and points; an interruption leaves the last that was yielded."""
        if found.ascents.interrupted:
            return
        if self.passes.rows.n <= _FEW[0]:
            if self.inducing == "auto":
                found, most = self._enough(found, gain)
            yield self._climbed(found, most, restarts, gain=gain, **settings)
            return
        best = found.ascents.best
        bounds = _around(np.array(found.objective.blueprint.bounds), best.end)
        slower = partial(
            self._polished, curvature_at(found.objective, best.end, bounds), bounds, gain
        )
        points = min(_POINTS_OF_SEARCH, most)
        found = slower(found, points)
        yield found
        if self.inducing == "auto":
            found, most = self._enough(found, gain)
            yield found
        if most != points:
            found = slower(found, most)
            yield found
        if found.objective.passes is not self.passes:
            yield slower(found, most, whole=True)

    def _climbed(
        self, found: Found[InducedEvidence], points: int, restarts: int, **settings: Any
    ) -> Found[InducedEvidence]:
        """Go on with points chosen afresh."""
        ends = found.ends(restarts)
        blueprint, begin = found.objective.blueprint, found.objective.posterior
        objective = self._objective(self.passes.rows.n, points, blueprint, ends[0].x, begin)
        return replace(found, objective=objective, ascents=climb(objective, ends, **settings))

    def _polished(
        self,
        curvature: Array,
        bounds: Array,
        gain: float,
        found: Found[InducedEvidence],
        points: int,
        whole: bool = False,
    ) -> Found[InducedEvidence]:
        """Go on with more rows, and with points chosen afresh."""
        best = found.ascents.best
        blueprint, begin = found.objective.blueprint, found.objective.posterior
        rows = self.passes.rows.n if whole else _ROWS_OF_SEARCH
        objective = self._objective(rows, points, blueprint, best.end, begin)
        run = polish(objective, best, curvature, bounds, gain * objective.rows / _ROWS)
        ascents = Ascents([run], run.ending is Ending.INTERRUPTED)
        return replace(found, objective=objective, ascents=ascents)

    def _enough(
        self, found: Found[InducedEvidence], gain: float
    ) -> tuple[Found[InducedEvidence], int]:
        """Return how many points are enough: twice as many add little to the evidence, or fail."""
        blueprint, x = found.objective.blueprint, found.ascents.best.end
        whole = self._objective(_ROWS_OF_SEARCH, _MOST, blueprint, x)
        tried: list[Rival] = []
        points, values = min(_FEWEST, len(whole.Z)), np.exp(x)
        while True:
            some = InducedEvidence(
                blueprint, whole.passes, whole.Z[:points], whole.rows, whole.some
            )
            try:
                value = some.evidence(values).log_evidence
            except (ModeError, PropagationError):
                if not tried:
                    raise
                value = -np.inf
            tried.append(Rival(blueprint, value, some.n, points))
            little = len(tried) > 1 and (
                tried[-1].log_evidence - tried[-2].log_evidence < _WORTH * gain * some.rows
            )
            if little or points >= len(whole.Z):
                break
            points = min(2 * points, len(whole.Z))
        chosen = tried[-2] if little else tried[-1]
        return replace(found, rivals=[*found.rivals, *tried]), chosen.points or points

    def _objective(
        self,
        rows: int,
        points: int,
        blueprint: Blueprint,
        x: Array,
        begin: InducingPosterior | None = None,
    ) -> InducedEvidence:
        """Return the evidence of so many rows, with points chosen at hyperparameters x."""
        Z, known = points_of(blueprint, np.exp(x), self._some.X, points, self.rng)
        of_noise = self._first(_OF_NOISE)
        if rows >= self.passes.rows.n:
            Z = Z[:known] if rows > _ROWS_OF_SEARCH else Z
            return InducedEvidence(blueprint, self.passes, Z, self.rows, of_noise, begin)
        block = self._first(rows)
        passes = Passes(ArrayRows(*block), self.passes.n_jobs if rows > _FEW[0] else 1)
        count = float(block.weight.sum())
        return InducedEvidence(blueprint, passes, Z, count, of_noise, begin)

    def _first(self, count: int) -> Block:
        """Return the first of the rows at hand in their random order."""
        rows = np.sort(self._order[:count])
        return Block(*(each[rows] for each in self._some))


def _around(bounds: Array, x: Array) -> Array:
    """Return bounds widened to hold a point."""
    return np.stack([np.minimum(bounds[:, 0], x), np.maximum(bounds[:, 1], x)], axis=1)
