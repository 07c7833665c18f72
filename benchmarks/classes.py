"""Are class probabilities right? Log loss, error and calibration against peers; classes.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.classes --data FOLDER [--partitions 10]
        [--resume FILE]

`--data` is a folder of data sets as `pymc_bsvm.datasets.load_folder` reads them. `--resume` keeps
the measure of each fit in a file. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._compare import with_better_peer
from benchmarks._machine import machine
from benchmarks._peers import bayesian_svc, gpc, of_verdict, svc_platt
from benchmarks._sets import Task, classification_tasks, two_gaussians
from benchmarks.estimators import Book, table

REPORT = Path(__file__).with_suffix(".md")
OURS: dict[str, dict[str, Any]] = {
    "BayesianSVC": {},
    "BayesianSVC, ep": {"approximation": "ep"},
    "BayesianSVC, laplace": {"approximation": "laplace"},
}
GPC, GRID = "GPC", "SVC grid + Platt"
PEERS = (GPC, GRID)
COMPARED = "set | better peer | ours minus its | partitions | p | so ours is"
ALL = "set | method | CPU s | error, % | log loss | calibration error, % | partitions"
KEYS = {"cpu": 2, "error": 2, "log loss": 4, "ece": 2}


def tasks(data: Path, partitions: int) -> Iterator[Task]:
    """Yield the sets; thyroid, whose test parts are small, has twice the partitions."""
    yield Task("two Gaussians, n = 200", partial(two_gaussians, 200), partitions)
    yield Task("two Gaussians, n = 500", partial(two_gaussians, 500), partitions)
    yield Task("two Gaussians, n = 1000", partial(two_gaussians, 1000), min(partitions, 3))
    for task in classification_tasks(data, partitions):
        if task.name.startswith("digits"):
            task = task._replace(partitions=min(partitions, 3))
        elif task.name.startswith("thyroid"):
            task = task._replace(partitions=2 * partitions)
        yield task


def measure(book: Book, options: argparse.Namespace) -> None:
    """Take all measures."""
    methods = {name: partial(bayesian_svc, **settings) for name, settings in OURS.items()}
    methods |= {GPC: gpc, GRID: svc_platt}
    for task in tasks(options.data, options.partitions):
        for seed in range(task.partitions):
            split = task.split(seed)
            for name, fit in methods.items():
                book.run(task.name, name, seed, lambda f=fit, s=split: of_verdict(s, f(s)))


def rows(book: Book) -> Iterator[list[str]]:
    """Yield a row of means for each set and method."""
    for task, methods in book.entries.items():
        for method, results in methods.items():
            means = (np.mean([r[key] for r in results.values()]) for key in KEYS)
            shown = [f"{m:.{d}f}" for m, d in zip(means, KEYS.values(), strict=True)]
            yield [task, method, *shown, str(len(results))]


def report(book: Book, options: argparse.Namespace) -> str:
    """Return the page."""
    used = machine("one BLAS thread", "numpy", "scipy", "scikit-learn")
    ours = next(iter(OURS))
    ratio = np.median(
        [
            np.mean([r["cpu"] for r in methods[GPC].values()])
            / np.mean([r["cpu"] for r in methods[ours].values()])
            for methods in book.entries.values()
        ]
    )

    def against(name: str, peers: tuple[str, ...], key: str) -> str:
        return table(COMPARED, with_better_peer(book, name, peers, key, KEYS[key]), left=2)

    return f"""# The probabilities of classes

Measured by `benchmarks/classes.py` on {used}.

Means over {options.partitions} partitions of each set, twice as many for thyroid, 3 for digits and
for 1000 rows. "BayesianSVC" is the default, expectation propagation with a weak prior; "ep" is
without the prior, "laplace" Laplace's method. "GPC" has a constant times an isotropic Gaussian
kernel, "SVC grid + Platt" 7 x 7 values in 5 folds and a sigmoid by 5 folds. The calibration error
compares probability and frequency of the predicted class in 10 bins. A star marks partitions that
come with the data. p by a paired t test, corrected for the sets by Holm's method.

GPC's CPU seconds are {ratio:.1f} times ours, the median over the sets. {book.ending()}
## Log loss against the better peer

{against(ours, PEERS, "log loss")}
## Error in per cent against the better peer

{against(ours, PEERS, "error")}
## Log loss against Laplace's method

{against(ours, ("BayesianSVC, laplace",), "log loss")}
## Error in per cent against Laplace's method

{against(ours, ("BayesianSVC, laplace",), "error")}
## All

{table(ALL, rows(book))}"""


def main() -> None:
    """Take the measures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args()
    book = Book(options.resume)
    measure(book, options)
    REPORT.write_text(report(book, options), encoding="utf-8")


if __name__ == "__main__":
    main()
