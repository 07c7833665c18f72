"""Climbs of the evidence within bounds, which give way where narrow noise presses against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import Blueprint
from pymc_bsvm.search import Ascents, Ending, PortableObjective, Restart, Start, multistart

__all__ = ["Tunable", "bounds_around", "climb", "joined", "rises"]

_RISES = 1.0  # nats for each factor of e: the least slope at a bound that counts
_ROWS = 10  # for each hyperparameter: the least that move bounds of the noise
_STEP = float(np.log(30.0))  # by which a bound moves out


class Tunable(PortableObjective, Protocol):
    """The evidence of a model in the logarithms of its hyperparameters."""

    @property
    def blueprint(self) -> Blueprint:
        """The model."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def rows(self) -> float:
        """The same, each as often as it counts."""

    def of(self, blueprint: Blueprint) -> Self:
        """Return the evidence of another model on the same rows."""


def climb(
    objective: Tunable, starts: Sequence[Start], *, give_way: bool = True, **options: Any
) -> Ascents:
    """Climb from each start; where the best ends at a bound and the evidence rises, go on beyond.

    Parameters
    ----------
    objective : Tunable
        What to maximise.
    starts : sequence of Start
        The starts; bounds are widened to hold them.
    give_way : bool
        Whether bounds move out, as far as they may reach.
    **options
        For `multistart`.
    """
    bounds = bounds_around(objective.blueprint, [start.x for start in starts])
    found = multistart(objective, starts, bounds=bounds, **options)
    pressing = give_way and bool(rises(found.best).any())
    while pressing and not found.interrupted:
        wider = _wider(objective, found.runs, bounds)
        if (wider == bounds).all():
            break
        bounds = wider
        again = [Start(run.label, run.end) for run in found.runs if rises(run).any()]
        found = joined(found, multistart(objective, again, bounds=bounds, **options))
    return found


def bounds_around(blueprint: Blueprint, points: Sequence[Array]) -> Array:
    """Return the bounds of a model widened to hold some points, of shape (k, 2)."""
    low, high = np.array(blueprint.bounds).T
    low, high = np.minimum(low, np.min(points, axis=0)), np.maximum(high, np.max(points, axis=0))
    return np.stack([low, high], axis=1)


def rises(run: Restart) -> Array:
    """Return where a climb ended at a bound beyond which the evidence rises, of shape (k,).

    A slope of less than a nat for each factor of e does not count: it is what is left where a
    hyperparameter has no effect any more, such as a long length-scale of a column that does not
    matter, or the amplitude of a term that vanishes.
    """
    return np.asarray(run.held * run.slope > _RISES)


def _wider(objective: Tunable, runs: Sequence[Restart], bounds: Array) -> Array:
    """Return bounds moved out where climbs press against them, as far as they may reach.

    Few rows do not tell narrow noise from none: a function with as many parameters as rows fits
    them all, and Laplace's method does not see the width of those inside the tube.
    """
    if objective.rows < _ROWS * len(bounds):
        return bounds
    reach = np.array(objective.blueprint.reach)
    pressed = np.array([np.where(rises(run), run.held, 0.0) for run in runs])
    out = np.stack([pressed.min(axis=0, initial=0.0), pressed.max(axis=0, initial=0.0)], axis=1)
    wider = bounds + _STEP * out
    low, high = np.minimum(bounds[:, 0], reach[:, 0]), np.maximum(bounds[:, 1], reach[:, 1])
    return np.clip(wider, low[:, None], high[:, None])


def joined(found: Ascents, more: Ascents) -> Ascents:
    """Return all climbs, with the account of those that went on from start to last end."""
    last = {run.label: run for run in more.runs}
    runs = [_whole(run, last.get(run.label)) for run in found.runs]
    return Ascents(sorted(runs, key=lambda run: -run.objective), more.interrupted)


def _whole(first: Restart, last: Restart | None) -> Restart:
    """Return a climb together with how it went on, if it did; a failure leaves what was known."""
    if last is None:
        return first
    evaluations, seconds = first.evaluations + last.evaluations, first.seconds + last.seconds
    best = last if last.objective >= first.objective else first
    ending = last.ending if last.ending is Ending.INTERRUPTED else best.ending
    return replace(best, start=first.start, ending=ending, evaluations=evaluations, seconds=seconds)
