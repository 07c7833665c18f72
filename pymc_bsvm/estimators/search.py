"""The search for the hyperparameters of the highest evidence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
type _Ascend[E] = Callable[[E, Sequence[Restart], float], Ascents]
"""Goes on from where others ended; what does not come to a least objective may be left."""

_SCREEN = 100  # rows on which starts are compared
_HALF_WAY = 500  # from so many rows on, a share of them finds the neighbourhood of the optimum
_SHARE, _LEAST = 0.25, 300
_LITTLE = 0.125  # of n³, where covariances of low rank cost what the whole matrix of n rows does
_NEWTON_STEPS = 8
_RIPPLES = 1.0  # nats that another model has to gain: those of a narrow tube have such ripples
_PROMISE = 0.2  # of the gain of an iteration: what a Newton step may promise in vain
# Factors of the starts. A narrow and a wide tube are hills of their own, so that both are climbed;
# Huber's loss has no tube.
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

    def ends(self, count: int) -> list[Start]:
        """Return where the best climbs ended, to go on from there."""
        return _starts(self.ascents.runs[:count])

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
    on a share of them, and the best `restarts` ends of the best model go on with all rows. Where
    all rows cost no more than the share, moves are made on all of them. Bounds give way on all rows
    only.
    """
    starts = starts_of(objective, restarts, rng)
    n = objective.y.size
    settings: dict[str, Any] = {"n_jobs": n_jobs, "report": report, "maxiter": maxiter}
    if n <= _HALF_WAY:
        return explore(objective, starts, moves, restarts, gain=gain, **settings)
    some = objective.some(max(int(_SHARE * n), _LEAST), rng)
    if _cheap(objective, starts[0].x, some.n) and not _has_tube(objective.blueprint):
        starts = [starts[0], *starts[len(starts) - restarts + 1 :]]  # the random ones
    rough = {"gain": 3.0 * gain, "give_way": False, **settings}
    found = explore(some, starts, (), restarts, **rough)
    whole = objective.of(found.objective.blueprint)
    if not found.ascents.interrupted and _cheap(whole, found.ascents.best.end, some.n):
        onward = partial(_onward, gain=gain, settings=settings)
        ends = _for_rows(found.ascents.runs[:restarts], whole.rows / some.rows)
        found = _of(whole, onward(whole, ends, -np.inf), [])
        return _moved(found, moves, restarts, onward, _RIPPLES)
    found = _moved(found, moves, restarts, _climbing(rough), _RIPPLES)
    if found.ascents.interrupted:
        raise KeyboardInterrupt  # nothing is known of all rows
    some, whole = found.objective, objective.of(found.objective.blueprint)
    ends = found.ascents.runs[:restarts]
    bounds = bounds_around(whole.blueprint, [run.end for run in ends])
    some.forget()
    known = curvature_at(some, found.ascents.best.end, bounds)
    ends = _for_rows([replace(run, curvature=known) for run in ends], whole.rows)
    return Found(whole, _onward(whole, ends, -np.inf, gain, settings), found.rivals)


def _for_rows(runs: Sequence[Restart], share: float) -> list[Restart]:
    """Return runs with the curvature of so many times as many rows."""
    return [
        run if run.curvature is None else replace(run, curvature=share * run.curvature)
        for run in runs
    ]


def _cheap(whole: MachineEvidence, x: Array, n: int) -> bool:
    """Return whether an evaluation of all rows near x costs no more than one of n rows."""
    thin = thin_covariance(whole.blueprint, np.exp(x), whole.X, whole.sample_weight)
    return thin is not None and thin.A.size * thin.A.shape[1] <= _LITTLE * n**3


def _onward(
    whole: MachineEvidence,
    ends: Sequence[Restart],
    least: float,
    gain: float,
    settings: dict[str, Any],
) -> Ascents:
    """Go on from ends by Newton steps, and by climbs if these do not settle in the bounds.

    So it does by climbs alone from ends of which no curvature is known.
    """
    if any(end.curvature is None for end in ends):
        return climb(whole, _starts(ends), gain=gain, **settings)
    near = _polished(whole, ends, least, gain, settings)
    settled = near.best.ending is Ending.CONVERGED and not rises(near.best).any()
    if near.interrupted or settled or near.best.ending is Ending.BEATEN:
        return near
    try:
        return joined(near, climb(whole, _starts(near.runs), gain=gain, **settings))
    except KeyboardInterrupt:  # before it got anywhere
        return replace(near, interrupted=True)


def _polished(
    whole: MachineEvidence,
    ends: Sequence[Restart],
    least: float,
    gain: float,
    settings: dict[str, Any],
) -> Ascents:
    """Take Newton steps from ends; an interruption keeps what was finished."""
    bounds = bounds_around(whole.blueprint, [run.end for run in ends])
    steps, interrupted = min(_NEWTON_STEPS, settings["maxiter"]), False
    runs: list[Restart] = []
    try:
        for end in ends:
            whole.forget()
            known = np.asarray(end.curvature) / whole.rows
            runs.append(polish(whole, end, known, bounds, _PROMISE * gain, steps, least))
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
    return _moved(found, moves, restarts, _climbing(settings))


def _starts(ends: Sequence[Restart]) -> list[Start]:
    """Return ends to go on from."""
    return [Start(end.label, end.end) for end in ends]


def _climbing[E: Tunable](settings: dict[str, Any]) -> _Ascend[E]:
    """Return what climbs from ends."""

    def go(objective: E, ends: Sequence[Restart], least: float) -> Ascents:
        return climb(objective, _starts(ends), **settings)

    return go


def _moved[E: Tunable](
    found: Found[E], moves: Sequence[Move], restarts: int, go: _Ascend[E], worth: float = 0.0
) -> Found[E]:
    """Try the models that the moves lead to, beside the best one so far.

    Another one has to gain so many nats.
    """
    for move in moves:
        blueprint = move(found.objective.blueprint)
        if blueprint is None or found.ascents.interrupted:
            continue
        found = _better(found, found.objective.of(blueprint), restarts, go, worth)
    return found


def _of[E: Tunable](objective: E, ascents: Ascents, rivals: list[Rival]) -> Found[E]:
    """Return what was found, the objective itself last among the rivals."""
    best = Rival(objective.blueprint, ascents.best.objective, objective.n)
    return Found(objective, ascents, [*rivals, best])


def _better[E: Tunable](
    found: Found[E], rival: E, restarts: int, go: _Ascend[E], worth: float
) -> Found[E]:
    """Go on with another model from where the best ended, and return the better one."""
    here, there = found.objective.blueprint, rival.blueprint
    ends = [_translated(run, here, there) for run in found.ascents.runs[:restarts]]
    least = found.score + worth
    try:
        tried = _of(rival, go(rival, ends, least + len(there.hyperparameters)), found.rivals)
    except KeyboardInterrupt:  # before it got anywhere
        return replace(found, ascents=replace(found.ascents, interrupted=True))
    best = tried if tried.score > least else found
    ascents = replace(best.ascents, interrupted=tried.ascents.interrupted)
    return Found(best.objective, ascents, tried.rivals)


def _translated(run: Restart, here: Blueprint, there: Blueprint) -> Restart:
    """Return the end of a climb as the start of another model, with what is known of it."""
    x = there.translated(here, run.end)
    known = run.curvature if x.size == run.end.size else None
    begun = replace(run, start=x, end=x, objective=-np.inf, log_evidence=-np.inf, curvature=known)
    return replace(begun, evaluations=0, seconds=0.0)


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


def _has_tube(blueprint: Blueprint) -> bool:
    """Return whether the loss is flat for small residuals, as Huber's is not."""
    values = np.array([h.start for h in blueprint.hyperparameters])
    stems = [h.stem for h in blueprint.hyperparameters]
    return _HILLS in stems and float(blueprint.loss(values).curvature(0.0, 0.0)) == 0.0


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
