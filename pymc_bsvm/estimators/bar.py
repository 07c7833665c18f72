"""A progress bar: the best evidence so far, and how far a pass over many rows is."""

from __future__ import annotations

from typing import Self

from rich.progress import (
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pymc_bsvm.streamed.passes import Step

__all__ = ["progress"]


class progress:
    """A progress bar as a context.

    Searches call it with the best log evidence, passes over many rows call `on_pass`. The time left
    is that of the pass.
    """

    def __init__(self, show: bool) -> None:
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            disable=not show,
        )
        self._best, self._number = "Evidence", 0
        self._task = self._bar.add_task(self._best, total=None)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __call__(self, _: int, best: float) -> None:
        """Show the best log evidence."""
        self._best = f"Evidence, best {best:.3f}"
        self._bar.update(self._task, description=self._best)

    def on_pass(self, step: Step) -> None:
        """Show how far a pass is."""
        if step.number != self._number:
            self._number = step.number
            self._bar.reset(self._task, total=step.total)
        text = f"{self._best}; pass {step.number}, {step.stage}"
        self._bar.update(self._task, completed=step.done, description=text)

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
