"""Relevance vector machines against those of fastrvm, at the same kernel widths; relevance.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.relevance --data FOLDER [--partitions 5]
        [--resume FILE]

It needs fastrvm (`pip install fastrvm`). `--data` is a folder of data sets as
`pymc_bsvm.datasets.load_folder` reads them. `--resume` keeps the measure of each fit in a file.
Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fastrvm
import numpy as np

from benchmarks._compare import with_better_peer
from benchmarks._machine import machine
from benchmarks.estimators import (
    Book,
    Clock,
    Forecast,
    Split,
    Task,
    Verdict,
    classification_tasks,
    gaussian,
    of_forecast,
    of_verdict,
    regression_tasks,
    sinc,
    table,
    two_gaussians,
)
from pymc_bsvm.estimators import RelevanceVectorClassifier, RelevanceVectorRegressor
from pymc_bsvm.estimators.scale import Scale

REPORT = Path(__file__).with_suffix(".md")
OURS, PEER = "ours", "fastrvm"
REGRESSION = {"cpu": 4, "rmse": 4, "nlpd": 4, "coverage": 3, "support": 1}
CLASSES = {"cpu": 4, "error": 2, "log loss": 4, "ece": 2, "support": 1}
COMPARED = "set | peer | ours minus its | partitions | p | so ours is"
TIMES = 3  # fits of which the fastest counts


def prepared(split: Split, regression: bool) -> tuple[Split, Scale]:
    """Return a split whose columns, and targets in regression, are standardised."""
    columns = Scale.of(split.X, None)
    targets = Scale.of_targets(split.y[:, None], None) if regression else Scale.none(1)
    y = targets(split.y[:, None])[:, 0] if regression else split.y
    return split._replace(X=columns(split.X), y=y, X_new=columns(split.X_new)), targets


def timed(make: Callable[[], Any], split: Split) -> tuple[Any, Clock]:
    """Return a fitted model, and the clock of the fastest fit."""
    clocks = []
    for _ in range(TIMES):
        model = make()
        with Clock() as clock:
            model.fit(split.X, split.y)
        clocks.append(clock)
        if clock.cpu > 1.0:
            break
    return model, min(clocks, key=lambda each: each.cpu)


def regressor(name: str, ls: float) -> Callable[[], Any]:
    """Return what makes the regressor of a library."""
    if name == PEER:
        return partial(fastrvm.RVR, gamma=0.5 / ls**2, fit_intercept=True)
    settings = {"hyperparameters": {"ls": ls}, "standardize": False}
    return partial(RelevanceVectorRegressor, **settings)


def classifier(name: str, ls: float) -> Callable[[], Any]:
    """Return what makes the classifier of a library."""
    if name == PEER:
        return partial(fastrvm.RVC, gamma=0.5 / ls**2, fit_intercept=True)
    settings = {"hyperparameters": {"ls": ls}, "standardize": False}
    return partial(RelevanceVectorClassifier, **settings)


def forecast(split: Split, name: str, ls: float) -> Forecast:
    """Fit a regressor, and predict in the units of the targets."""
    inside, targets = prepared(split, True)
    model, clock = timed(regressor(name, ls), inside)
    mean, std = model.predict(inside.X_new, return_std=True)
    centre, unit = targets.centre[0], targets.spread[0]
    return gaussian(clock, model.relevance_.size, split, centre + unit * mean, unit * std)


def verdict(split: Split, name: str, ls: float) -> Verdict:
    """Fit a classifier."""
    inside, _ = prepared(split, False)
    model, clock = timed(classifier(name, ls), inside)
    probability = np.asarray(model.predict_proba(inside.X_new))
    return Verdict(clock.cpu, clock.wall, model.relevance_.size, probability)


def regressions(data: Path, partitions: int) -> Iterator[Task]:
    """Yield the sets of regression."""
    for n in (100, 500, 2000):
        yield Task(f"sinc, n = {n}", partial(sinc, 0.0, n), partitions)
    for task in regression_tasks(data, partitions):
        yield task._replace(partitions=min(task.partitions, 2 if "1000" in task.name else 99))


def classifications(data: Path, partitions: int) -> Iterator[Task]:
    """Yield the sets of classification."""
    for n in (200, 1000):
        yield Task(f"two Gaussians, n = {n}", partial(two_gaussians, n), partitions)
    for task in classification_tasks(data, partitions):
        if not task.name.startswith("digits"):
            yield task


def width(split: Split, name: str) -> float:
    """Return a length-scale, in standard deviations of the columns."""
    return 0.35 if name.startswith("sinc") else float(np.sqrt(split.X.shape[1]))


def measure(
    book: Book, tasks: Iterator[Task], fit: Callable[..., Any], of: Callable[..., Any]
) -> None:
    """Take all measures; the two libraries take turns."""
    for task in tasks:
        for seed in range(task.partitions):
            split = task.split(seed)
            ls = width(split, task.name)
            for name in (OURS, PEER):
                book.run(task.name, name, seed, lambda s=split, m=name, w=ls: of(s, fit(s, m, w)))


def times(book: Book) -> Iterator[list[str]]:
    """Yield, for each set, CPU seconds and their ratio."""
    for task, methods in book.entries.items():
        mine, theirs = (
            np.array([methods[name][s]["cpu"] for s in sorted(methods[OURS])])
            for name in (OURS, PEER)
        )
        ratios = theirs / mine
        yield [
            task,
            f"{1e3 * np.median(mine):.1f}",
            f"{1e3 * np.median(theirs):.1f}",
            f"{np.median(ratios):.1f}",
            f"{ratios.min():.1f} to {ratios.max():.1f}",
        ]


def rows(book: Book, keys: dict[str, int]) -> Iterator[list[str]]:
    """Yield a row of means for each set and library."""
    for task, methods in book.entries.items():
        for name, results in methods.items():
            means = (np.mean([r[key] for r in results.values()]) for key in keys)
            shown = [f"{m:.{d}f}" for m, d in zip(means, keys.values(), strict=True)]
            yield [task, name, *shown, str(len(results))]


def section(book: Book, title: str, keys: dict[str, int], compared: dict[str, str]) -> str:
    """Return comparisons, times and all means."""
    parts = [f"## {title}\n"]
    for key, said in compared.items():
        found = with_better_peer(book, OURS, (PEER,), key, keys[key])
        parts.append(f"### {said}\n\n{table(COMPARED, found, left=2)}")
    head = "set | ours, ms | fastrvm, ms | times as long | over the partitions"
    parts.append(f"### CPU time, medians\n\n{table(head, times(book), left=1)}")
    heads = "set | library | " + " | ".join("CPU s" if k == "cpu" else k for k in keys)
    heads = heads.replace("support", "relevance vectors").replace("ece", "calibration error, %")
    parts.append(f"### Means\n\n{table(f'{heads} | partitions', rows(book, keys), left=2)}")
    return "\n".join(parts)


def report(books: tuple[Book, Book], partitions: int) -> str:
    """Return the page."""
    used = machine(
        "one pinned core that other work shared, one BLAS thread",
        "numpy",
        "scipy",
        "scikit-learn",
        "fastrvm",
    )
    loads = [load for book in books for load in book.loads]
    regression = section(
        books[0],
        "Regression",
        REGRESSION,
        {"rmse": "RMSE", "nlpd": "Negative log predictive density"},
    )
    classes = section(
        books[1],
        "Classification",
        CLASSES,
        {"log loss": "Log loss", "error": "Error in per cent"},
    )
    faster = sum(float(row[3]) >= 1.0 for book in books for row in times(book))
    sets = sum(len(book.entries) for book in books)
    return f"""# Relevance vector machines

Measured by `benchmarks/relevance.py` on {used}.

`RelevanceVectorRegressor` and `RelevanceVectorClassifier` against `RVR` and `RVC` of fastrvm, which
is the SparseBayes algorithm of Tipping and Faul in C++. Both have standardised columns (and targets
in regression), a constant among the basis functions, and a Gaussian kernel of the same width: 0.35
for sinc, the root of the number of columns else. All other settings are defaults. There are
{partitions} partitions, two of abalone. Each fit is made {TIMES} times in a row,
unless one takes a second, and the fastest counts; both include the kernel matrix. The RMSE
of sinc and friedman1 is that of the noise-free function. A star marks partitions that come with the
data. p by a paired t test, corrected for the sets by Holm's method. The load of the machine was
{np.nanmin(loads):.1f} to {np.nanmax(loads):.1f}.

On {faster} of {sets} sets ours takes no longer; where it does, a fit takes some milliseconds, of
which much is Python. With so few partitions only large differences of the scores can be told.
How often the noise is renewed was chosen among three schedules on these sets, so that they are no
clean test of it.

{regression}
{classes}"""


def main() -> None:
    """Take the measures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--partitions", type=int, default=5)
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args()
    for name in (OURS, PEER):  # compile and load
        forecast(sinc(0.0, 50, 0), name, 0.35)
        verdict(two_gaussians(50, 0), name, 1.0)
    books = Book(options.resume), Book(options.resume)
    measure(books[0], regressions(options.data, options.partitions), forecast, of_forecast)
    measure(books[1], classifications(options.data, options.partitions), verdict, of_verdict)
    REPORT.write_text(report(books, options.partitions), encoding="utf-8")


if __name__ == "__main__":
    main()
