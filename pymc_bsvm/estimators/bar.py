"""What a search tells of itself: a progress bar, and lines for a log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from rich.progress import (
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pymc_bsvm.search import Restart
from pymc_bsvm.streamed.passes import Step

__all__ = ["progress"]

_LOGGER = logging.getLogger("pymc_bsvm")


class progress:
    """A progress bar and a log as a context.

    Searches call it with the best log evidence, passes over many rows call `on_pass`. The time left
    is that of the pass. The log has a line for each start that is finished and for the end, and
    above ``verbose=1`` for each pass.
    """

    def __init__(self, show: bool, verbose: int = 0) -> None:
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            disable=not show,
        )
        self._best, self._number = "Evidence", 0
        self._task = self._bar.add_task(self._best, total=None)
        self._verbose, self._starts, self._open = verbose, 0, ExitStack()

    def __enter__(self) -> Self:
        if self._verbose:
            self._open.enter_context(_heard())
        self._bar.start()
        return self

    def __call__(self, done: int, best: float) -> None:
        """Show the best log evidence; say so after a start."""
        self._best = f"Evidence, best {best:.3f}"
        self._bar.update(self._task, description=self._best)
        if done:
            self._starts += done
            self._say("Climb %d: best log evidence %.3f.", self._starts, best)

    def on_pass(self, step: Step) -> None:
        """Show how far a pass is."""
        if step.number != self._number:
            self._number = step.number
            self._bar.reset(self._task, total=step.total)
            if self._verbose > 1:
                self._say("Pass %d over the rows: %s.", step.number, step.stage)
        text = f"{self._best}; pass {step.number}, {step.stage}"
        self._bar.update(self._task, completed=step.done, description=text)

    def end(self, best: Restart) -> None:
        """Say how the search ended."""
        ending = best.ending.name.lower()
        self._say(
            "Log evidence %.3f after %d evaluations: %s.", best.objective, best.evaluations, ending
        )

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        self._open.close()

    def _say(self, text: str, *values: object) -> None:
        if self._verbose:
            _LOGGER.info(text, *values)


@contextmanager
def _heard() -> Iterator[None]:
    """Let the lines through; to the standard error if nobody listens."""
    before, handler = _LOGGER.level, None
    if not _LOGGER.isEnabledFor(logging.INFO):
        _LOGGER.setLevel(logging.INFO)
    if not _LOGGER.hasHandlers():
        handler = logging.StreamHandler()
        _LOGGER.addHandler(handler)
    try:
        yield
    finally:
        _LOGGER.setLevel(before)
        if handler is not None:
            _LOGGER.removeHandler(handler)
