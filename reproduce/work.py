"""Measure the cells that are not there yet, in parallel, until the budget is spent."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from time import perf_counter

import joblib
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks._machine import processor
from reproduce.cell import Cell, Measured
from reproduce.store import Store

__all__ = ["work"]


def work(
    cells: Sequence[Cell],
    store: Store,
    data: Path | None,
    *,
    n_jobs: int = 1,
    budget: float = float("inf"),
    progressbar: bool = True,
) -> list[str]:
    """Measure the cells that the store does not have.

    Parameters
    ----------
    cells : sequence of Cell
        The most important ones first.
    store : Store
        Each measure is kept as soon as it is there, so that a run which is broken off loses those
        in work alone.
    data : Path or None
        The folder of the public sets.
    n_jobs : int, default 1
        Number of processes; each has one BLAS thread.
    budget : float, default inf
        Seconds, after which no cell begins.
    progressbar : bool, default True
        Whether to show the share of the work that is done, and the time left.

    Returns
    -------
    list of str
        The cells that failed, with the errors. They are not kept, so that a later run tries again.
    """
    begin, failures = perf_counter(), []
    todo = [cell for cell in cells if cell not in store]

    def in_time() -> Iterator[Cell]:
        for cell in todo:
            if perf_counter() - begin > budget:
                return
            yield cell

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    last = TimeRemainingColumn(), TextColumn("left")
    screen = Console(file=sys.stderr)
    with (
        Progress(*columns, *last, console=screen, disable=not progressbar) as progress,
        joblib.parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1),
        # A cell begins when it is taken from the iterator, so that none waits in a queue.
        joblib.Parallel(return_as="generator_unordered", pre_dispatch="n_jobs") as parallel,
    ):
        bar = progress.add_task("cells", total=sum(cell.cost for cell in todo))
        for cell, measured in parallel(joblib.delayed(_measured)(c, data) for c in in_time()):
            if isinstance(measured, str):
                failures.append(f"{cell.experiment}: {cell.key}\n{measured}")
            else:
                store.keep(cell, measured)
            progress.update(bar, advance=cell.cost, description=cell.experiment)
    return failures


def _measured(cell: Cell, data: Path | None) -> tuple[Cell, Measured | str]:
    """Measure a cell; return its error as text if it has one."""
    with warnings.catch_warnings():
        # A cell returns what the report says of convergence; warnings of peers are not ours.
        warnings.simplefilter("ignore")
        try:
            result = dict(cell(data))
        except Exception:
            return cell, traceback.format_exc(limit=-3)
    today = date.today().isoformat()
    return cell, Measured(result, today, processor(), os.getloadavg()[0])
