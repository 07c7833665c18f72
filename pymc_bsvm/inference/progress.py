"""The progress that searches and integrals show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["line", "progress"]


def progress(show: bool) -> Progress:
    """Return a display with one line for each task."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        disable=not show,
    )


@contextmanager
def line(bar: Progress, text: str) -> Iterator[None]:
    """Show a line of its own for the time that something takes."""
    task = bar.add_task(text, total=1)
    yield
    bar.advance(task)
