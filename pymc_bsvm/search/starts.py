"""Ascents from several starts, one after the other or on several workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from pymc_bsvm.losses.base import Array
from pymc_bsvm.search.ascent import Ending, Restart, ascend
from pymc_bsvm.search.objective import Objective, PortableObjective

__all__ = ["Ascents", "Report", "Start", "multistart"]

type Report = Callable[[int, float], object]
"""Takes the number of starts that were finished since the last call, and the best objective."""


class Start(NamedTuple):
    """A point to start from."""

    label: str
    """Where it comes from; each start has a label of its own."""
    x: Array


@dataclass(frozen=True)
class Ascents:
    """What became of the starts."""

    runs: list[Restart]
    """The best comes first."""
    interrupted: bool
    """Whether the keyboard cut a run short, or kept some from being begun or finished."""

    @property
    def best(self) -> Restart:
        """The run with the highest end."""
        return self.runs[0]


def multistart(
    objective: PortableObjective,
    starts: Sequence[Start],
    *,
    n_jobs: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> Ascents:
    """Ascend from each start; an interruption by the keyboard keeps what was finished.

    Parameters
    ----------
    objective : PortableObjective
        What to maximise.
    starts : sequence of Start
        The starts.
    n_jobs : int, optional
        Number of parallel runs, through joblib. The result does not depend on it.
    report : callable, optional
        Hears of progress: at every evaluation, or from workers when they are done.
    **options
        For `ascend`.

    Returns
    -------
    Ascents
        The runs, the best first.

    Raises
    ------
    KeyboardInterrupt
        If an interruption leaves nothing finite to keep.
    """
    workers = min(effective_n_jobs(n_jobs), len(starts))
    tell = _Best(report)
    batches: Iterator[list[Restart]]
    if workers == 1:
        batches = ([run] for run in _in_turn(objective, starts, options, tell))
    else:
        batches = _on_workers(objective.recipe(), starts, options, n_jobs, workers)
    runs: list[Restart] = []
    interrupted = False
    try:
        for batch in batches:
            runs += batch
            tell(len(batch), max(run.objective for run in batch))
    except KeyboardInterrupt:
        interrupted = True
    interrupted |= any(run.ending is Ending.INTERRUPTED for run in runs)
    if interrupted and not any(np.isfinite(run.objective) for run in runs):
        raise KeyboardInterrupt
    place = {start.label: k for k, start in enumerate(starts)}
    runs.sort(key=lambda run: (-run.objective, place[run.label]))
    return Ascents(runs, interrupted)


def _in_turn(
    objective: Objective, starts: Sequence[Start], options: dict[str, Any], tell: Report
) -> Iterator[Restart]:
    """Run starts one after the other; an interruption ends them."""
    for label, x in starts:
        run = ascend(objective, x, label, callback=lambda value: tell(0, value), **options)
        yield run
        if run.ending is Ending.INTERRUPTED:
            return


def _on_workers(
    recipe: Callable[[], Objective],
    starts: Sequence[Start],
    options: dict[str, Any],
    n_jobs: int | None,
    workers: int,
) -> Iterator[list[Restart]]:
    """Deal the starts out to workers, each of which builds the objective once."""
    tasks = (delayed(_share)(recipe, starts[k::workers], options) for k in range(workers))
    return iter(Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks))


def _share(
    recipe: Callable[[], Objective], starts: Sequence[Start], options: dict[str, Any]
) -> list[Restart]:
    return list(_in_turn(recipe(), starts, options, lambda done, best: None))


class _Best:
    """Tells of the best objective so far."""

    def __init__(self, report: Report | None) -> None:
        self._report, self._best = report, -np.inf

    def __call__(self, done: int, value: float) -> None:
        self._best = max(self._best, value)
        if self._report is not None:
            self._report(done, self._best)
