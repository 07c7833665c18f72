"""How many inducing points many inputs need, beside the whole kernel of 2000 rows; inputs.md.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.inputs --data FOLDER [--draws 5]

`--data` is a folder that has abalone as `pymc_bsvm.datasets.load_folder` reads it.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import pymc_bsvm as bsvm
from benchmarks._compare import Entries, differences
from benchmarks._crowd import NEW, Crowd, draw, references
from benchmarks._large_cell import class_scores, metered, regression_scores
from benchmarks._large_methods import CLASSIFIERS, REGRESSORS
from benchmarks._machine import machine
from benchmarks.estimators import cell, seconds, table

REPORT = Path(__file__).with_suffix(".md")
ROWS, OF_ABALONE, FEW = 7000, 3133, 2000
POINTS = (50, 200, 800)
DENSE = f"dense, {FEW} rows"
OURS: dict[str, dict[str, Any]] = {f"{m} points": {"inducing": m} for m in POINTS}
HEAD = "set | method | CPU s | RMSE | log loss | error, %"
AGAINST = "set | points | log loss minus that of the whole kernel"


def abalone(data: Path, seed: int) -> tuple[Crowd, Crowd]:
    """Return rows of abalone and the others; the function is not known, the targets stand in."""
    folder = bsvm.datasets.load_folder(data / "abalone")
    order = np.random.default_rng(seed).permutation(len(folder.y))
    X, y = folder.X[order], np.asarray(folder.y[order], dtype=float)
    n = OF_ABALONE
    return Crowd(X[:n], y[:n], y[:n]), Crowd(X[n:], y[n:], y[n:])


def simulated(name: str, seed: int) -> tuple[Crowd, Crowd]:
    """Return rows of a simulated set, and new ones that all draws have in common."""
    return draw(name, ROWS, number=seed), draw(name, NEW, new=True)


def measured(name: str, method: str, old: Crowd, new: Crowd) -> dict[str, float]:
    """Return the cost and the scores of one fit."""
    options = dict(OURS.get(method, {"rows": FEW}))
    if name == "abalone":
        way = REGRESSORS["dense" if method == DENSE else "ours"]
        if method != DENSE:
            options["ard"] = True
        cost, said = metered(way, old.X, old.y, new, options)
        scores = regression_scores(said, new)
        scores["log loss"] = -scores["score"]
    else:
        options["loss"] = "logistic"
        cost, said = metered(CLASSIFIERS["ours"], old.X, old.y, new, options)
        scores = class_scores(said, new)
    return cost | scores


def measure(data: Path, draws: int) -> Entries:
    """Take all measures."""
    sets = {name: partial(simulated, name) for name in ("twonorm", "ringnorm")}
    sets["abalone"] = partial(abalone, data)
    entries: Any = defaultdict(lambda: defaultdict(dict))
    for name, rows in sets.items():
        for seed in range(draws):
            old, new = rows(seed)
            for method in (DENSE, *OURS):
                found = measured(name, method, old, new)
                entries[name][method][seed] = found
                shown = " ".join(f"{key} {value:.4g}" for key, value in found.items())
                print(f"{name} | {method} | {seed} | {shown}", flush=True)
    return entries


def means(entries: Entries) -> Iterator[list[str]]:
    """Yield a row of means for each set and method."""
    for name, methods in entries.items():
        for method, results in methods.items():
            runs = results.values()
            mean = {key: float(np.mean([r[key] for r in runs])) for key in results[0]}
            cpu = float(np.median([r["cpu"] for r in runs]))
            scores = cell(mean["rmse"], 4), cell(mean["log loss"], 5)
            error = cell(mean.get("error", np.nan), 3)
            yield [name, method, seconds(cpu), *scores, error]


def against(entries: Entries) -> Iterator[list[str]]:
    """Yield the paired differences from the whole kernel."""
    for method in OURS:
        for found in differences(entries, method, [DENSE], "log loss"):
            yield [found.task, method, f"{found.mean:+.5f} ± {found.error:.5f}"]


def report(entries: Entries, draws: int) -> str:
    """Return the page."""
    used = machine("one BLAS thread", "numpy", "scipy", "scikit-learn")
    best = ", ".join(
        f"{-references(name)['truth']:.5f} on {name}" for name in ("twonorm", "ringnorm")
    )
    return f"""# How many points many inputs need

Measured by `make bench-inputs` on {used}.

Means of {draws} draws: {ROWS:,} rows of twonorm and ringnorm, 20 inputs, and {NEW:,} new ones;
{OF_ABALONE:,} rows of abalone, ten inputs, and the other 1,044. "Dense" is `BayesianSVC`, or
`BayesianSVR(ard=True)`, with the whole kernel of the first {FEW:,} rows; points are for all rows.
CPU seconds are medians, since a first fit compiles. The loss of the classes is the logistic one.
RMSE is that of the probabilities, or of the targets, and the log loss the mean negative log
probability of new labels, or density of new targets, in nats. With the true probabilities it is
{best}.

{table(HEAD, means(entries))}
Differences are paired by draws, with their standard errors; negative is better than the whole
kernel.

{table(AGAINST, sorted(against(entries), key=lambda row: row[0]))}"""


def main() -> None:
    """Take the measures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    entries = measure(options.data, options.draws)
    REPORT.write_text(report(entries, options.draws), encoding="utf-8")


if __name__ == "__main__":
    main()
