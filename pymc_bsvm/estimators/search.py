"""The search for the hyperparameters of the highest evidence."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from pymc_bsvm.estimators.machine import Objective, Specification
from pymc_bsvm.evidence.restart import Ending, Restart, ascend
from pymc_bsvm.losses.base import Array

__all__ = ["search"]

_LOGGER = logging.getLogger("pymc_bsvm")
_SCREEN = 100  # rows on which starts are compared
_HALF_WAY = 500  # from so many rows on, a share of them finds the neighbourhood of the optimum
_SHARE, _LEAST = 0.25, 300
_FACTORS = {"eta": (1.0, 3.0, 10.0), "C": (1.0, 10.0), "ls": (1.0, 0.3)}  # of the starts


def search(
    objective: Objective,
    restarts: int,
    rng: np.random.Generator,
    *,
    gain: float,
    maxiter: int,
    n_jobs: int | None,
    callback: Callable[[float], object],
) -> list[Restart]:
    """Maximise the evidence from several starts; the best end comes first.

    The starts are the best points of a small grid around the papers' defaults, by the evidence of
    some of the rows, and after these random points around the best one.
    """
    starts = _starts(objective, restarts, rng)
    some = _some_rows(objective, rng)
    run = delayed(_run)
    settings: dict[str, Any] = {"gain": gain, "maxiter": maxiter}
    if effective_n_jobs(n_jobs) == 1 or restarts == 1:
        runs = []
        for label, start in starts:
            runs.append(_run(objective, some, label, start, callback=callback, **settings))
            if runs[-1].ending is Ending.INTERRUPTED:
                if not np.isfinite(max(r.objective for r in runs)):
                    raise KeyboardInterrupt
                _LOGGER.warning(
                    "The fit was interrupted after %d of %d starts; the best point is kept.",
                    len(runs),
                    len(starts),
                )
                break
    else:
        runs = Parallel(n_jobs=n_jobs)(
            run(objective, some, label, start, **settings) for label, start in starts
        )
    runs.sort(key=lambda result: -result.objective)
    return runs


def _run(
    objective: Objective,
    some: Objective | None,
    label: str,
    start: Array,
    *,
    gain: float,
    maxiter: int,
    callback: Callable[[float], object] | None = None,
) -> Restart:
    """Climb on a share of the rows, if there are many, and then on all of them."""
    bounds = objective.specification.bounds
    began, spent, evaluations = start, 0.0, 0
    if some is not None:
        first = ascend(some, start, label, gain=3.0 * gain, maxiter=maxiter, bounds=bounds)
        began, spent, evaluations = first.end, first.seconds, first.evaluations
        if first.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
    run = ascend(
        objective, began, label, gain=gain, maxiter=maxiter, bounds=bounds, callback=callback
    )
    return replace(
        run,
        start=start,
        seconds=run.seconds + spent,
        evaluations=run.evaluations + evaluations,
    )


def _some_rows(objective: Objective, rng: np.random.Generator) -> Objective | None:
    n = objective.y.size
    return _subset(objective, max(int(_SHARE * n), _LEAST), rng) if n > _HALF_WAY else None


def _subset(objective: Objective, size: int, rng: np.random.Generator) -> Objective:
    """Return the objective of random rows."""
    n = objective.y.size
    rows = np.sort(rng.choice(n, size, replace=False)) if size < n else np.arange(n)
    weight = objective.sample_weight
    return Objective(
        objective.specification,
        objective.specification.kernel.take(objective.X, rows),
        objective.y[rows],
        None if weight is None else weight[rows],
    )


def _starts(objective: Objective, count: int, rng: np.random.Generator) -> list[tuple[str, Array]]:
    """Return labelled starts, the most promising first."""
    specification = objective.specification
    bounds = np.array(specification.bounds)
    screen = _subset(objective, _SCREEN, rng)
    found = []
    for factors in _grid(specification):
        x = np.log([h.start for h in specification.hyperparameters]) + np.log(factors)
        x = np.clip(x, *bounds.T)
        found.append((screen(x)[0], x))
    found.sort(key=lambda pair: -pair[0])
    starts = [(f"grid {k + 1}", x) for k, (_, x) in enumerate(found[: (count + 1) // 2])]
    best = found[0][1]
    for k in range(len(starts), count):
        x = best + rng.normal(size=best.size)
        starts.append((f"random {k - (count + 1) // 2 + 1}", np.clip(x, *bounds.T)))
    return starts


def _grid(specification: Specification) -> list[Array]:
    """Return factors of the starts; length-scales of all columns share theirs."""
    names = [h.name.split("[")[0] for h in specification.hyperparameters]
    varied = [name for name in dict.fromkeys(names) if name in _FACTORS]
    combinations = itertools.product(*(_FACTORS[name] for name in varied))
    result = []
    for combination in combinations:
        chosen = dict(zip(varied, combination, strict=True))
        result.append(np.array([chosen.get(name, 1.0) for name in names]))
    return result
