"""Run the experiments and write the report; see `python -m reproduce --help`."""

from __future__ import annotations

import argparse
import os
import platform
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from reproduce.experiments import EXPERIMENTS
from reproduce.page import dates, write
from reproduce.plan import Plan
from reproduce.store import Found, Store
from reproduce.work import work

HERE = Path(__file__).resolve().parent
PACKAGES = ("pymc-bsvm", "numpy", "scipy", "numba", "scikit-learn", "pymc")


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m reproduce", description=__doc__)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--quick", action="store_true", help="few sizes and partitions")
    size.add_argument("--full", action="store_true", help="all, in as many runs as it takes")
    parser.add_argument("--data", type=Path, help="folder of the public sets")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--only", nargs="+", choices=list(EXPERIMENTS), default=list(EXPERIMENTS))
    parser.add_argument("--output", type=Path, help="folder of the report and the measures")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--no-progressbar", dest="progressbar", action="store_false")
    options = parser.parse_args(arguments)
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data: {options.data} is no folder; name that of the public sets.")
    if options.output is None:
        options.output = HERE if options.full else HERE / "output"
    return options


def heading(plan: Plan, found: Found, left: int) -> str:
    """Return the head of the page."""
    machines = Counter(measured.machine for measured in found.values())
    loads = [measured.load for measured in found.values()]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    load = f" The load of the machine was {min(loads):.1f} to {max(loads):.1f}." if loads else ""
    return f"""# The papers' experiments, run again

Measured by `make reproduce ARGS="{"--quick" if plan.quick else "--full"} --data FOLDER"`, in
{len(found)} cells, {dates(found.values())}, on {" and ".join(machines)}; Python
{platform.python_version()}, {versions} when the page was written.{load} {left} cells are not
measured yet. Seconds are CPU seconds of one core, and other cells were measured beside them.

"Papers" is what the thesis prints. "As the papers" is this library with their approximation:
Laplace's with the exact curvature, beta and starts of theirs. "Default" is what the library
does by itself today.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the page and say where it is."""
    options = options_of(arguments)
    plan, store = Plan(options.quick, options.data), Store(options.output / "measured")
    chosen = {name: list(EXPERIMENTS[name].cells(plan)) for name in EXPERIMENTS}
    failures = []
    if not options.report:
        cells = [cell for name in options.only for cell in chosen[name]]
        failures = work(
            cells,
            store,
            options.data,
            n_jobs=options.jobs,
            budget=60.0 * options.budget,
            progressbar=options.progressbar,
        )
    found = {name: store.found(cells) for name, cells in chosen.items()}
    every = {cell: measured for part in found.values() for cell, measured in part.items()}
    left = sum(map(len, chosen.values())) - len(every)
    sections = (EXPERIMENTS[name].section(part, plan) for name, part in found.items())
    page = write(options.output, heading(plan, every, left), sections)
    for failure in failures:
        print(f"Failed: {failure}")
    print(f"{len(every)} cells are measured, {left} are left.\nReport: {os.path.relpath(page)}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
