"""The search for the hyperparameters of the highest evidence."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from pymc_bsvm.estimators.machine import Objective, Specification
from pymc_bsvm.evidence.restart import Ending, Restart, ascend
from pymc_bsvm.losses.base import Array

__all__ = ["search"]

_SCREEN = 100  # rows on which starts are compared
_HALF_WAY = 500  # from so many rows on, a share of them finds the neighbourhood of the optimum
_SHARE, _LEAST = 0.25, 300
# Factors of the starts. A narrow and a wide tube are hills of their own, so that both are climbed.
_FACTORS = {
    "eta": (1.0, 4.0),
    "C": (1.0, 10.0),
    "ls": (1.0, 0.3),
    "epsilon": (1.0, 6.0),
    "sigma": (1.0, 6.0),
    "period": (1.0, 0.25, 0.5, 2.0),
}
_HILLS = "epsilon"


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
    some of the rows, and random points around the best of them. If there are many rows, all starts
    climb on a share of them first, and the best `restarts` ends go on with all rows.
    """
    climb = _Climb(objective.specification.bounds, gain, maxiter, callback)
    starts = _starts(objective, restarts, rng)
    n = objective.y.size
    if n > _HALF_WAY:
        some = _subset(objective, max(int(_SHARE * n), _LEAST), rng)
        first = climb.all(some, starts, 3.0 * gain, n_jobs)
        starts = [(run.label, run.end) for run in first[:restarts]]
        if any(run.ending is Ending.INTERRUPTED for run in first):
            raise KeyboardInterrupt  # nothing is known of all rows
    return climb.all(objective, starts, gain, n_jobs)


@dataclass(frozen=True)
class _Climb:
    """How all starts climb."""

    bounds: list[tuple[float, float]]
    gain: float
    maxiter: int
    callback: Callable[[float], object]

    def all(
        self, objective: Objective, starts: list[tuple[str, Array]], gain: float, n_jobs: int | None
    ) -> list[Restart]:
        """Climb from each start; an interruption keeps what was finished. The best comes first."""
        settings: dict[str, Any] = {"gain": gain, "maxiter": self.maxiter, "bounds": self.bounds}
        if effective_n_jobs(n_jobs) == 1 or len(starts) == 1:
            runs: list[Restart] = []
            for label, x in starts:
                runs.append(ascend(objective, x, label, callback=self.callback, **settings))
                if runs[-1].ending is Ending.INTERRUPTED:
                    if not np.isfinite(max(run.objective for run in runs)):
                        raise KeyboardInterrupt  # there is nothing to keep
                    break
        else:
            runs = Parallel(n_jobs=n_jobs)(
                delayed(ascend)(objective.copy(), x, label, **settings) for label, x in starts
            )
        return sorted(runs, key=lambda run: -run.objective)


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
    names = [h.name for h in specification.hyperparameters]
    best: dict[float, Array] = {}
    for _, x in found:
        best.setdefault(x[names.index(_HILLS)] if _HILLS in names else 0.0, x)
    starts = [(f"grid {k + 1}", x) for k, x in enumerate(best.values())]
    for k in range(1, count):
        x = found[0][1] + rng.normal(size=bounds.shape[0])
        starts.append((f"random {k}", np.clip(x, *bounds.T)))
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
