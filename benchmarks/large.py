"""Many rows: ours on inducing points against its peers and against the truth; writes large.md.

    python -m benchmarks.large [--gpytorch PYTHON] [--quick] [--budget MINUTES]
        [--limit SECONDS] [--threads 2] [--resume FILE] [--only WORD ...] [--report]

Each fit runs in a process of its own, the most important ones first. `--gpytorch` is an interpreter
that has gpytorch. No fit starts after `--budget` minutes, none takes longer than `--limit` seconds
(four times as long for the rows in a file). `--resume` keeps what is measured in a file and goes on
from it; `--only` takes the sections whose names have one of the words; `--report` measures nothing
and writes the page from the file. `--quick` takes few rows and points, to see that all works, and
prints the page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._crowd import NEW
from benchmarks._large_methods import HELD_OUT, TRIED
from benchmarks._machine import machine
from benchmarks._whole import LOSSES, ROWS
from benchmarks.estimators import cell, seconds, table

REPORT = Path(__file__).with_suffix(".md")
POINTS, POINTS_OF_CLASSES = 500, 200
SVGP_SECONDS = {10_000: 30.0, 100_000: 60.0, 1_000_000: 180.0}
LONGER = 4.0  # times the limit, for ten times the rows
COST = "rows | method | wall, s | CPU, s | memory, GiB"
REGRESSION = f"{COST} | RMSE of f | log score | 90 % of y hold | 90 % of f hold | passes"
CLASSES = f"{COST} | RMSE of p | log loss | error, % | passes"


@dataclass(frozen=True)
class Cell:
    """One fit: the section of the page, the name in its table, and the specification."""

    section: str
    name: str
    rows: int
    set: str
    method: str
    options: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> str:
        """Name the cell."""
        return f"{self.section} | {self.rows} | {self.name}"


type Found = dict[Cell, dict[str, Any]]


def ours(section: str, data: str, rows: int, scale: int, method: str = "ours") -> Iterator[Cell]:
    """Yield our fits of a simulated set."""
    if data == "friedman":
        points = POINTS // scale
        settings = {"inducing": points, "ard": True}
        yield Cell(section, f"BayesianSVR, {points} points", rows, data, method, settings)
        return
    for loss in ("logistic", "trigonometric"):
        points = POINTS_OF_CLASSES // scale
        settings = {"inducing": points, "loss": loss}
        yield Cell(
            section,
            f"BayesianSVC, {loss}, {points} points",
            rows,
            data,
            method,
            settings,
        )


def peers(section: str, data: str, rows: int, options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the peers' fits that are possible at a number of rows."""
    regression = data == "friedman"
    points = POINTS if regression else POINTS_OF_CLASSES

    def peer(name: str, method: str, **settings: Any) -> Cell:
        return Cell(section, name, rows, data, method, settings)

    if regression:
        yield peer("boosting, absolute error", "boosting")
        yield peer("boosting, quantiles", "quantiles")
        yield peer(f"Nystroem {points} + ridge", "nystroem", points=points, last="ridge")
    else:
        yield peer("boosting", "boosting")
    if options.gpytorch:
        yield peer(
            f"SVGP of gpytorch, {points} points",
            "svgp",
            python=options.gpytorch,
            kind="student" if regression else "bernoulli",
            points=points,
            seconds=SVGP_SECONDS.get(rows, 10.0),
        )
    if rows > options.sizes[1]:
        return
    if not regression:
        yield peer(f"Nystroem {points} + logistic", "nystroem", points=points)
        return
    yield peer(f"Nystroem {points} + Huber", "nystroem", points=points, last="huber")
    few = min(2000, rows)
    yield peer(f"GPR, {few} rows", "gpr", rows=few)
    yield peer(f"BayesianSVR, dense, {few} rows", "dense", rows=few)


def committee(rows: int) -> Cell:
    """Return the fit of our committee, which inducing points have replaced."""
    settings = {"expert_size": 1000, "partition": "random", "ard": True, "n_jobs": 2}
    return Cell(REGRESSION_SECTION, "committee of 1000", rows, "friedman", "committee", settings)


REGRESSION_SECTION, CLASS_SECTION = "friedman1 with outliers", "two curved classes"
GROWTH, FILES = "time per pass", "rows in a file"
WHOLE = "all rows as points"


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield all fits, the most important ones first."""
    small, middle, large = options.sizes
    both = (REGRESSION_SECTION, "friedman"), (CLASS_SECTION, "curved")
    for section, data in both:
        yield Cell(section, "truth", 0, data, "references")
    for loss in LOSSES:
        yield Cell(WHOLE, loss, ROWS, loss, "whole")
    for rows in (large, middle, small):
        for section, data in both:
            yield from ours(section, data, rows, options.scale)
    for rows in (middle, large):
        points = 300 // options.scale
        settings = {"inducing": points, "ard": True}
        yield Cell(GROWTH, f"{points} points", rows, "friedman", "passes", settings)
    yield from ours(FILES, "friedman", 10 * large, options.scale, "mapped")
    for rows in (middle, large, small):
        for section, data in both:
            yield from peers(section, data, rows, options)
    for rows in (small, middle):
        yield committee(rows)


def measured(what: Cell, options: argparse.Namespace) -> dict[str, Any]:
    """Run a cell in a process of its own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    limit = LONGER * options.limit if what.section == FILES else options.limit
    specification = json.dumps(asdict(what))
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks._large_cell", specification],
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, **dict.fromkeys(names, str(options.threads))},
        )
    except subprocess.TimeoutExpired:
        return {"over": limit}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["nothing was said"])[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(options: argparse.Namespace) -> Found:
    """Take the measures that fit into the budget, with those that the file has."""
    begin, known, found = time.perf_counter(), {}, {}
    if options.resume is not None and options.resume.exists():
        known = dict(json.loads(line) for line in options.resume.read_text().splitlines())
    for what in cells(options):
        result = known.get(what.key)
        if result is None:
            wanted = not options.only or any(word in what.section for word in options.only)
            late = time.perf_counter() - begin > 60.0 * options.budget
            if options.report or late or not wanted:
                continue
            result = measured(what, options) | {"load": os.getloadavg()[0]}
            if options.resume is not None and "failed" not in result:
                with options.resume.open("a") as out:
                    out.write(json.dumps([what.key, result]) + "\n")
            shown = " ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                for key, value in result.items()
            )
            print(f"{what.key} | {shown}", flush=True)
        found[what] = result
    return found


def rows(found: Found, section: str, columns: dict[str, int]) -> Iterator[list[str]]:
    """Yield the rows of a section: cost and scores, or why there are none."""
    for what, result in sorted(found.items(), key=lambda pair: -pair[0].rows):
        if what.section != section or what.method == "references":
            continue
        label = [f"{what.rows:,}", what.name]
        if "over" in result or "failed" in result:
            said = (
                f"over {result['over']:.0f}" if "over" in result else f"failed: {result['failed']}"
            )
            yield [*label, said, *("" for _ in range(len(columns) + 2))]
            continue
        cost = [seconds(result["wall"]), seconds(result["cpu"]), cell(result["memory"], 2)]
        yield [*label, *cost, *(cell(result.get(k, np.nan), d) for k, d in columns.items())]


def truth(found: Found, section: str) -> dict[str, float]:
    """Return the scores of the truth, NaN if they are not known."""
    for what, result in found.items():
        if what.section == section and what.method == "references":
            return result
    return dict.fromkeys(("truth", "Student", "SILF", "error"), np.nan)


def whole(found: Found) -> Iterator[list[str]]:
    """Yield how far all rows as points are from the whole kernel."""
    for what, result in found.items():
        if what.section == WHOLE and "failed" not in result:
            yield [what.name, f"{result['value']:.1e}", f"{result['gradient']:.1e}"]


def growth(found: Found) -> str:
    """Say how the time of a pass grows."""
    known = {what.rows: result for what, result in found.items() if what.section == GROWTH}
    lines = [
        [f"{n:,}", str(int(r["passes"])), f"{r['median']:.2f}"]
        for n, r in sorted(known.items())
        if "median" in r
    ]
    text = table("rows | passes | median CPU, s", lines, left=0)
    if len(lines) == 2:
        (n, a), (k, b) = sorted(known.items())
        exponent = np.log(b["median"] / a["median"]) / np.log(k / n)
        text += f"\nExponent of the growth: {exponent:.2f}.\n"
    return text


def report(found: Found, options: argparse.Namespace) -> str:
    """Return the page."""
    used = machine(f"{options.threads} threads", "numpy", "scipy", "scikit-learn")
    loads = [result["load"] for result in found.values()]
    left = sum(what not in found for what in cells(options))
    first, second = truth(found, REGRESSION_SECTION), truth(found, CLASS_SECTION)
    columns = {"rmse": 4, "score": 3, "inside y": 3, "inside f": 3, "passes": 0}
    of_classes = {"rmse": 4, "log loss": 5, "error": 3, "passes": 0}
    of_file = table(REGRESSION, rows(found, FILES, columns))
    return f"""# Many rows

Measured by `benchmarks/large.py` on {used}. The load of the machine was {min(loads):.1f} to
{max(loads):.1f}; {left} of the measures were not taken.

Each fit has a process of its own. Seconds are those of the fit, its hyperparameters included.
Memory is the largest sum of the anonymous memory of the process and of those it started, with the
data, except where they are in a file. There are {NEW:,} new rows. Nothing but the number of points,
the loss and `ard` is set for ours. The peers: boosting stops early, after
1000 rounds at most; width and penalty of the linear models on Nystroem's features are the best of
sixteen on {TRIED} rows; SVGP takes minibatches of 1000 for {
        ", ".join(f"{s:.0f}" for s in SVGP_SECONDS.values())
    } seconds at the three sizes. A peer that knows no noise is given Student's t
with the scale and degrees of freedom that fit its errors on {HELD_OUT} held-out rows best.

## Friedman's first function of five inputs

Noise N(0, 1), one target in twenty ten times as noisy. The log score is the mean log density of
the new targets, in nats. With the true function, the true noise has {first["truth"]:.3f}, the best
Student-t {first["Student"]:.3f}, the best SILF {first["SILF"]:.3f}.

{table(REGRESSION, rows(found, REGRESSION_SECTION, columns))}
## Two curved classes in the plane

The probability is logistic in a parabola. The truth has a log loss of {-second["truth"]:.5f} and
errs on {second["error"]:.2f} % of the new rows.

{table(CLASSES, rows(found, CLASS_SECTION, of_classes))}
## Time of a pass

CPU seconds of a pass over all rows with 300 points. Passes differ in what they compute.

{growth(found)}
## Rows in a memory-mapped file

{of_file}
## All rows as inducing points

{ROWS} rows, no jitter and a covariance of moderate condition: distance from the evidence of the
whole kernel in nats, and largest distance of a slope as a share of the largest slope.

{table("loss | evidence | gradient", whole(found), left=1)}"""


def options_of(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Read the command line."""
    parser.add_argument("--gpytorch", help="interpreter with gpytorch")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--budget", type=float, default=45.0)
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    options.scale = 10 if options.quick else 1
    options.sizes = (300, 1000, 3000) if options.quick else (10_000, 100_000, 1_000_000)
    return options


def main() -> None:
    """Take the measures and write the page."""
    options = options_of(argparse.ArgumentParser(description=__doc__))
    found = measure(options)
    page = report(found, options)
    if options.quick:
        print(page)
    else:
        REPORT.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
