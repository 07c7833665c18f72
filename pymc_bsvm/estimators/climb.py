"""Climbs of the evidence within bounds, which give way where narrow noise presses against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import MachineEvidence
from pymc_bsvm.search import Ascents, Restart, Start, multistart

__all__ = ["climb", "rises"]

_RISES = 1.0  # nats for each factor of e: the least slope at a bound that counts
_STEP = float(np.log(30.0))  # by which a bound moves out


def climb(
    objective: MachineEvidence, starts: Sequence[Start], *, give_way: bool = True, **options: Any
) -> Ascents:
    """Climb from each start; those that end at a bound where the evidence rises go on beyond it.

    Parameters
    ----------
    objective : MachineEvidence
        What to maximise.
    starts : sequence of Start
        The starts; bounds are widened to hold them.
    give_way : bool
        Whether bounds move out, as far as they may reach.
    **options
        For `multistart`.
    """
    bounds, reach = np.array(objective.blueprint.bounds), np.array(objective.blueprint.reach)
    begun = np.array([start.x for start in starts])
    bounds[:, 0] = np.minimum(bounds[:, 0], begun.min(axis=0))
    bounds[:, 1] = np.maximum(bounds[:, 1], begun.max(axis=0))
    found = multistart(objective, starts, bounds=bounds, **options)
    while give_way and not found.interrupted:
        wider = _wider(found.runs, bounds, reach)
        if (wider == bounds).all():
            break
        bounds = wider
        again = [Start(run.label, run.end) for run in found.runs if rises(run).any()]
        found = _joined(found.runs, multistart(objective, again, bounds=bounds, **options))
    return found


def rises(run: Restart) -> Array:
    """Return where a climb ended at a bound beyond which the evidence rises, of shape (k,).

    A slope of less than a nat for each factor of e does not count: it is what is left where a
    hyperparameter has no effect any more, such as a long length-scale of a column that does not
    matter, or the amplitude of a term that vanishes.
    """
    return np.asarray(run.held * run.slope > _RISES)


def _wider(runs: Sequence[Restart], bounds: Array, reach: Array) -> Array:
    """Return bounds moved out where a climb presses against them."""
    wider = bounds.copy()
    for run in runs:
        pressed = np.where(rises(run), run.held, 0.0)
        wider[pressed < 0.0, 0] = bounds[pressed < 0.0, 0] - _STEP
        wider[pressed > 0.0, 1] = bounds[pressed > 0.0, 1] + _STEP
    low, high = np.minimum(bounds[:, 0], reach[:, 0]), np.maximum(bounds[:, 1], reach[:, 1])
    return np.clip(wider, low[:, None], high[:, None])


def _joined(runs: Sequence[Restart], more: Ascents) -> Ascents:
    """Return all climbs, those that went on from their starts to their last ends."""
    after = {run.label: run for run in more.runs}
    joined = []
    for run in runs:
        last = after.get(run.label, run)
        if last is not run:
            last = replace(
                last,
                start=run.start,
                evaluations=run.evaluations + last.evaluations,
                seconds=run.seconds + last.seconds,
            )
        joined.append(last)
    return Ascents(sorted(joined, key=lambda run: -run.objective), more.interrupted)
