"""The search for the hyperparameters of the highest evidence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.climb import Tunable, bounds_around, climb, joined, rises
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence
from pymc_bsvm.estimators.polish import curvature_at, polish
from pymc_bsvm.estimators.thin import thin_covariance
from pymc_bsvm.search import Ascents, Ending, Report, Restart, Start

__all__ = ["Found", "Move", "Rival", "explore", "search", "starts_of"]

type Move = Callable[[Blueprint], Blueprint | None]
"""Takes a model and returns another that may be better; None if there is none."""

_SCREEN = 100  # rows on which starts are compared
_HALF_WAY = 500  # from so many rows on, a share of them finds the neighbourhood of the optimum
_SHARE, _LEAST = 0.25, 300
_NEWTON_STEPS = 8
_PROMISE = 0.2  # of the gain of an iteration: what a Newton step may promise in vain
_FURTHER = 0.1  # of the gain that ends a climb, where evaluations cost little
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


@dataclass(frozen=True)
class Rival:
    """A model that was tried, at its best hyperparameters."""

    blueprint: Blueprint
    log_evidence: float
    rows: int
    """Number of rows on which it was tried."""
    points: int | None = None
    """Number of inducing points, if there were any."""


@dataclass(frozen=True)
class Found[E: Tunable]:
    """The best model, the climbs to its hyperparameters, and what it was chosen from."""

    objective: E
    ascents: Ascents
    rivals: list[Rival]
    beaten: tuple[Found[E], ...] = ()
    """What has the rivals' climbs, where they were kept."""

    def ends(self, count: int) -> list[Start]:
        """Return where the best climbs ended, to go on from there."""
        return [Start(run.label, run.end) for run in self.ascents.runs[:count]]

    @property
    def score(self) -> float:
        """Log evidence, less a nat for each hyperparameter: [PRML]_ (1.73).

        A model with further hyperparameters always reaches the evidence of the one without.
        """
        return self.ascents.best.objective - len(self.objective.blueprint.hyperparameters)


def search(
    objective: MachineEvidence,
    restarts: int,
    rng: np.random.Generator,
    *,
    moves: Sequence[Move] = (),
    gain: float,
    maxiter: int,
    n_jobs: int | None,
    report: Report,
) -> Found[MachineEvidence]:
    """Maximise the evidence from several starts, and try models beside the first.

    The starts are the best points of a small grid around the papers' defaults, by the evidence of
    some of the rows, and random points around the best of them. Each move makes another model of
    the best one so far, which starts where that ended. If there are many rows, all of this happens
    on a share of them, and the best `restarts` ends of the best model go on with all rows. So do
    those of the others where that costs little, and all rows choose among them. Bounds give way on
    all rows only.
    """
    starts = starts_of(objective, restarts, rng)
    n = objective.y.size
    everywhere = n <= _HALF_WAY
    some = objective if everywhere else objective.some(max(int(_SHARE * n), _LEAST), rng)
    settings: dict[str, Any] = {"n_jobs": n_jobs, "report": report, "maxiter": maxiter}
    first = {"gain": gain if everywhere else 3.0 * gain, "give_way": everywhere, **settings}
    found = explore(some, starts, moves, restarts, **first)
    if everywhere:
        return found
    if found.ascents.interrupted:
        raise KeyboardInterrupt  # nothing is known of all rows
    chosen = _on_all_rows(found, objective, restarts, gain, settings)
    if not _thin(chosen.objective, chosen.ascents.best):
        return replace(chosen, rivals=found.rivals)  # of the same rows
    for other in found.beaten:
        if not chosen.ascents.interrupted:
            chosen = _challenged(chosen, other, objective, restarts, gain, settings)
    return chosen


def _thin(whole: MachineEvidence, run: Restart) -> bool:
    """Return whether evaluations of all rows near an end cost little more than those of a share."""
    values = np.exp(run.end)
    return thin_covariance(whole.blueprint, values, whole.X, whole.sample_weight) is not None


def _challenged(
    chosen: Found[MachineEvidence],
    other: Found[MachineEvidence],
    objective: MachineEvidence,
    *settings: Any,
) -> Found[MachineEvidence]:
    """Return the better one of what was chosen and what a share of the rows thought less of."""
    try:
        tried = _on_all_rows(replace(other, rivals=chosen.rivals), objective, *settings)
    except KeyboardInterrupt:  # before it got anywhere
        return replace(chosen, ascents=replace(chosen.ascents, interrupted=True))
    best = tried if tried.score > chosen.score else chosen
    ascents = replace(best.ascents, interrupted=tried.ascents.interrupted)
    return replace(best, ascents=ascents, rivals=tried.rivals)


def _on_all_rows(
    found: Found[MachineEvidence],
    objective: MachineEvidence,
    restarts: int,
    gain: float,
    settings: dict[str, Any],
) -> Found[MachineEvidence]:
    """Go on with all rows; the rival of the same model has the evidence of all of them then."""
    whole = objective.of(found.objective.blueprint)
    ascents = _climbed(found, whole, restarts, gain, settings)
    own = Rival(whole.blueprint, ascents.best.objective, whole.n)
    rivals = [own if each.blueprint is own.blueprint else each for each in found.rivals]
    return Found(whole, ascents, rivals)


def _climbed(
    found: Found[MachineEvidence],
    whole: MachineEvidence,
    restarts: int,
    gain: float,
    settings: dict[str, Any],
) -> Ascents:
    """Go on with all rows: by Newton steps, and by climbs if these do not settle in the bounds.

    Where evaluations cost little there are climbs alone, which need no curvature from elsewhere,
    and go further.
    """
    if _thin(whole, found.ascents.best):
        begun = [replace(run, objective=-np.inf) for run in found.ascents.runs[:restarts]]
        starts = [Start(run.label, run.end) for run in begun]
        return joined(Ascents(begun, False), climb(whole, starts, gain=_FURTHER * gain, **settings))
    near = _polished(found, whole, restarts, gain, settings)
    settled = near.best.ending is Ending.CONVERGED and not rises(near.best).any()
    if near.interrupted or settled:
        return near
    starts = [Start(run.label, run.end) for run in near.runs]
    try:
        return joined(near, climb(whole, starts, gain=gain, **settings))
    except KeyboardInterrupt:  # before it got anywhere
        return replace(near, interrupted=True)


def _polished(
    found: Found[MachineEvidence],
    whole: MachineEvidence,
    restarts: int,
    gain: float,
    settings: dict[str, Any],
) -> Ascents:
    """Take Newton steps from the best ends; an interruption keeps what was finished."""
    some, ends = found.objective, found.ascents.runs[:restarts]
    bounds = bounds_around(whole.blueprint, [run.end for run in ends])
    some.forget()
    curvature = curvature_at(some, found.ascents.best.end, bounds)
    steps, interrupted = min(_NEWTON_STEPS, settings["maxiter"]), False
    runs: list[Restart] = []
    try:
        for end in ends:
            whole.forget()
            runs.append(polish(whole, end, curvature, bounds, _PROMISE * gain, steps))
            settings["report"](1, max(run.objective for run in runs))
            if runs[-1].ending is Ending.INTERRUPTED:
                break
    except KeyboardInterrupt:
        interrupted = True
    interrupted |= any(run.ending is Ending.INTERRUPTED for run in runs)
    if interrupted and not any(np.isfinite(run.objective) for run in runs):
        raise KeyboardInterrupt
    return Ascents(sorted(runs, key=lambda run: -run.objective), interrupted)


def explore[E: Tunable](
    objective: E, starts: Sequence[Start], moves: Sequence[Move], restarts: int, **settings: Any
) -> Found[E]:
    """Climb from each start, and try the models that the moves lead to, beside the first."""
    found = _of(objective, climb(objective, starts, **settings), [])
    for move in moves:
        blueprint = move(found.objective.blueprint)
        if blueprint is None or found.ascents.interrupted:
            continue
        found = _better(found, objective.of(blueprint), restarts, settings)
    return found


def _of[E: Tunable](objective: E, ascents: Ascents, rivals: list[Rival]) -> Found[E]:
    """Return what was found, the objective itself last among the rivals."""
    best = Rival(objective.blueprint, ascents.best.objective, objective.n)
    return Found(objective, ascents, [*rivals, best])


def _better[E: Tunable](
    found: Found[E], rival: E, restarts: int, settings: dict[str, Any]
) -> Found[E]:
    """Climb with another model from where the best ended, and return the better one."""
    here, there = found.objective.blueprint, rival.blueprint
    ends = found.ends(restarts)
    starts = [Start(end.label, there.translated(here, end.x)) for end in ends]
    try:
        tried = _of(rival, climb(rival, starts, **settings), found.rivals)
    except KeyboardInterrupt:  # before it got anywhere
        return replace(found, ascents=replace(found.ascents, interrupted=True))
    interrupted = tried.ascents.interrupted
    best, other = (tried, found) if tried.score > found.score else (found, tried)
    return Found(
        best.objective,
        replace(best.ascents, interrupted=interrupted),
        tried.rivals,
        (*found.beaten, replace(other, beaten=())),
    )


def starts_of(objective: MachineEvidence, count: int, rng: np.random.Generator) -> list[Start]:
    """Return labelled starts, the most promising first."""
    blueprint = objective.blueprint
    bounds = np.array(blueprint.bounds)
    screen = objective.some(_SCREEN, rng)
    found = []
    for factors in _grid(blueprint):
        x = np.log([h.start for h in blueprint.hyperparameters]) + np.log(factors)
        x = np.clip(x, *bounds.T)
        found.append((screen.value(x), x))
    found.sort(key=lambda pair: -pair[0])
    names = [h.stem for h in blueprint.hyperparameters]
    best: dict[float, Array] = {}
    for _, x in found:
        best.setdefault(x[names.index(_HILLS)] if _HILLS in names else 0.0, x)
    starts = [Start(f"grid {k + 1}", x) for k, x in enumerate(best.values())]
    for k in range(1, count):
        x = found[0][1] + rng.normal(size=bounds.shape[0])
        starts.append(Start(f"random {k}", np.clip(x, *bounds.T)))
    return starts


def _grid(blueprint: Blueprint) -> list[Array]:
    """Return factors of the starts; length-scales of all columns share theirs.

    Those of further terms of a sum have none, so that equal terms do not stay equal.
    """
    stems = [h.stem if h.term == 1 else "" for h in blueprint.hyperparameters]
    varied = [stem for stem in dict.fromkeys(stems) if stem in _FACTORS]
    result = []
    for combination in itertools.product(*(_FACTORS[stem] for stem in varied)):
        chosen = dict(zip(varied, combination, strict=True))
        result.append(np.array([chosen.get(stem, 1.0) for stem in stems]))
    return result
