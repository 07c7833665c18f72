"""How fast the defaults are, beside their goals and their peers; writes speed.md.

    python -m benchmarks.speed [--only WORD ...] [--resume FILE]

Each measure runs in a process of its own with one BLAS thread, or with as many as the library
takes by itself where the row says so; times are medians of five after one that is not counted,
those of first calls, of `full_bayes` and of memory are taken once. `--only` takes the measures
whose keys have one of the words and prints the page; `--resume` keeps what is measured in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks._machine import machine

REPORT = Path(__file__).with_suffix(".md")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
COMMAND = (sys.executable, "-W", "ignore", "-m", "benchmarks.speed")

type Numbers = dict[str, float]


class Measure(NamedTuple):
    """A function of `_speed_measures`, its arguments, and where it runs."""

    name: str
    arguments: tuple[Any, ...] = ()
    one_thread: bool = True
    empty_cache: bool = False

    @property
    def key(self) -> str:
        """Name the measure."""
        words = [self.name, *map(str, self.arguments)]
        threads = "" if self.one_thread else ", default threads"
        return " ".join(words) + threads + (", empty caches" if self.empty_cache else "")


class Row(NamedTuple):
    """A row of the page: what is measured, its goal, and what to say of the numbers."""

    title: str
    goal: str
    measures: tuple[Measure, ...]
    say: Callable[..., str]


def ms(seconds: float) -> str:
    """Write a time."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1e3 * seconds:.1f} ms"


def rows() -> Iterator[Row]:
    """Yield the rows of the page."""
    for n in (200, 1000, 4000):
        yield Row(
            f"BLAS threads at their default, `BayesianSVR`, sinc n = {n}",
            "not slower than one thread; CPU at most 1.2 of wall where threads do not help",
            (Measure("fit", (n,)), Measure("fit", (n,), one_thread=False)),
            lambda one, some: (
                f"{ms(some['wall'])}, {some['wall'] / one['wall']:.2f} of one thread; "
                f"CPU {some['cpu'] / some['wall']:.2f} of wall"
            ),
        )
    for outliers in (False, True):
        kind = "10 % outliers" if outliers else "clean"
        yield Row(
            f"against scikit-learn's GPR, n = 1000, {kind}",
            "8 times faster",
            (Measure("peer", (1000, outliers)),),
            lambda p: (
                f"{p['peer'] / p['wall']:.1f} times ({ms(p['wall'])}; GPR {ms(p['peer'])}); "
                f"{p['wall'] / p['cholesky']:.0f} Cholesky factors"
            ),
        )
    for outliers, goal in ((False, "2 s"), (True, "4 s")):
        yield Row(
            f"n = 4000, {'10 % outliers' if outliers else 'clean'}",
            goal,
            (Measure("fit", (4000, True) if outliers else (4000,)),),
            lambda f: f"{ms(f['wall'])}; {f['wall'] / f['cholesky']:.1f} Cholesky factors",
        )
    for n, goal in ((1000, "25 times"), (4000, "8 times")):
        yield Row(
            f"a fit against one kernel matrix and its Cholesky factor, n = {n}",
            goal,
            (Measure("fit", (n,)),),
            lambda f: f"{f['wall'] / f['floor']:.0f} times ({ms(f['floor'])})",
        )
    yield Row(
        "280 rows, a smooth function of six inputs, noise 1 % of its range, ARD",
        "0.5 s of CPU",
        (Measure("six_inputs"),),
        lambda s: f"{ms(s['cpu'])} (scikit-learn's GPR {ms(s['peer'])})",
    )
    for n in (1000, 10_000):
        yield Row(
            f"intervals of {n:,} new targets, against the standard deviation alone",
            "3 times",
            (Measure("intervals", (n,)),),
            lambda i: (
                f"{i['interval'] / i['std']:.1f} times ({ms(i['std'])}); "
                f"three coverages in one call {i['three'] / i['std']:.1f} times"
            ),
        )
    yield from solver_rows()
    yield Row(
        "first `fit_evidence` of a new model, empty caches, 200 rows",
        "10 s of CPU",
        (Measure("first_evidence", empty_cache=True),),
        lambda f: ms(f["cpu"]),
    )
    yield Row(
        "first fit of an estimator, empty cache, 200 rows",
        "3 s of CPU",
        (Measure("first_fit", empty_cache=True),),
        lambda f: ms(f["cpu"]),
    )
    yield Row(
        "`full_bayes`, 60 rows",
        "10 s of CPU",
        (Measure("full_bayes"), Measure("full_bayes", empty_cache=True)),
        lambda f, first: f"{ms(f['cpu'])}; with empty caches {ms(first['cpu'])}",
    )
    for n in (5000, 10_000):
        for beta in (0.3, 1.0):
            yield Row(
                f"memory above that before the fit, n = {n:,}, beta = {beta:g}",
                "1.5 kernel matrices while less than half of the rows are free, else 2.5",
                (Measure("memory", (n, beta)),),
                lambda m: (
                    f"{m['matrices']:.2f} kernel matrices, {100.0 * m['free']:.0f} % of the rows "
                    f"free; {ms(m['wall'])}"
                ),
            )


def solver_rows() -> Iterator[Row]:
    """Yield the rows of the solver."""
    titles = {
        "epsilon": ("epsilon-insensitive", (500, 1000, 2000, 4000), "1"),
        "hinge": ("hinge", (500, 1000, 2000, 4000), "1"),
        "silf .3": ("SILF with beta .3 on its epsilon-insensitive", (1000, 2000, 4000), "1.4"),
        "silf .1": ("SILF with beta .1 on its epsilon-insensitive", (1000, 2000, 4000), "2"),
    }
    for loss, (title, sizes, goal) in titles.items():
        yield Row(
            f"LIBSVM's time over that of the solver, {title}, n = {', '.join(map(str, sizes))}",
            f"{goal} at every n",
            tuple(Measure("solver", (n, loss)) for n in sizes),
            lambda *found: ", ".join(f"{s['LIBSVM'] / s['ours']:.1f}" for s in found),
        )
    yield Row(
        "trigonometric solve, two Gaussians, n = 500 to 4000",
        "grows as n^2.3 or below; 2 times the floor",
        tuple(Measure("solver", (n, "trigonometric")) for n in (500, 1000, 2000, 4000)),
        lambda *found: (
            f"n^{np.log(found[-1]['ours'] / found[0]['ours']) / np.log(8.0):.2f}; "
            + ", ".join(f"{s['ours'] / s['floor']:.1f}" for s in found)
            + " times one gather, factor and product of its free set"
        ),
    )


def measured(what: Measure) -> Numbers:
    """Run a measure in a process of its own."""
    environment = dict(os.environ)
    for name in THREADS:
        environment.pop(name, None)
        if what.one_thread:
            environment[name] = "1"
    with tempfile.TemporaryDirectory() as folder:
        if what.empty_cache:
            environment["NUMBA_CACHE_DIR"] = f"{folder}/numba"
            environment["PYTENSOR_FLAGS"] = f"base_compiledir={folder}/pytensor"
        done = subprocess.run(
            [*COMMAND, "--measure", json.dumps([what.name, *what.arguments])],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(only: list[str], resume: Path | None) -> dict[str, Numbers]:
    """Take all measures that are wanted and not known."""
    known: dict[str, Numbers] = {}
    if resume is not None and resume.exists():
        known = dict(json.loads(line) for line in resume.read_text().splitlines())
    for row in rows():
        for what in row.measures:
            if what.key in known or (only and not any(word in what.key for word in only)):
                continue
            known[what.key] = measured(what)
            print(what.key, known[what.key], flush=True)
            if resume is not None:
                with resume.open("a") as out:
                    out.write(json.dumps([what.key, known[what.key]]) + "\n")
    return known


def report(known: dict[str, Numbers]) -> str:
    """Return the page."""
    lines = []
    for row in rows():
        if all(what.key in known for what in row.measures):
            said = row.say(*(known[what.key] for what in row.measures))
            lines.append(f"| {row.title} | {said} | {row.goal} |")
    return TEMPLATE.format(
        machine=machine("two cores", "numpy", "scipy", "scikit-learn", "pymc", "numba"),
        rows="\n".join(lines),
    )


def main() -> None:
    """Take one measure for the parent process, or all of them for the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        from benchmarks._speed_measures import MEASURES

        name, *arguments = json.loads(options.measure)
        print(json.dumps(MEASURES[name](*arguments)))
        return
    page = report(measure(options.only, options.resume))
    if options.only:
        print(page)
    else:
        REPORT.write_text(page, encoding="utf-8")


TEMPLATE = """\
# How fast the defaults are

Measured by `make bench-speed` on {machine}.

Each measure has a process of its own, with one BLAS thread where nothing else is said. Times are
wall times and medians of five after one that is not counted, unless CPU is named; those of first
calls, of `full_bayes` and of memory were taken once. Cholesky factors are of a matrix of n rows in
the same process. Nothing is set but what the row names; no setting was chosen on this data.

| what | now | goal |
|---|---|---|
{rows}
"""


if __name__ == "__main__":
    main()
