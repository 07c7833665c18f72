"""How wide the ramps have to be for the search to find the top of the evidence.

Run by hand, some ten minutes: ``python benchmarks/ramp_search.py`` prints the tables and writes
them to ``benchmarks/ramp_search.md``; with ``--quick`` it looks at the smallest data only and
writes nothing.

For each half width w of the ramps, the estimators' search climbs the smooth evidence from its
starts, and from random ones. The best ends of all widths then go on under each width. What a search
loses is the height of the best of all these ends over its own, in nats, by the evidence that it
climbed. The last column climbs the widest ramps and is judged by the narrowest.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1

from pymc_bsvm.datasets import sinc, two_gaussians
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.estimators.likelihood import silf_likelihood, trigonometric_likelihood
from pymc_bsvm.estimators.machine import Blueprint, MachineEvidence
from pymc_bsvm.estimators.search import search
from pymc_bsvm.evidence.laplace import Laplace
from pymc_bsvm.search import Restart, ascend

SIZES = {60: 2, 120: 2, 250: 2, 500: 1}
"""Numbers of rows, and of data sets of that size of each kind."""
FIRST_SEED = 7000
WIDTHS = {"SILF": (0.5, 0.7, 1.0), "trigonometric": (0.25, 0.35, 0.5)}
RESTARTS = (1, 2, 4)  # of the estimators; the first is their default
MOST = 13
GAIN, MAXITER = 0.01, 200  # the defaults of the estimators
LIMIT = 0.5
FEW = 120


class Data(NamedTuple):
    """Standardised data, and whether each column has a length-scale of its own."""

    kind: str
    n: int
    seed: int
    X: np.ndarray
    y: np.ndarray
    ard: bool

    @property
    def loss(self) -> str:
        """The loss that is fitted."""
        return "trigonometric" if self.kind == "two Gaussians" else "SILF"


class Row(NamedTuple):
    """What was measured on data."""

    data: Data
    losses: np.ndarray
    """Nats that a search loses, for each number of restarts (rows) and width (columns)."""
    evaluations: np.ndarray
    """Evaluations of that search; what the last column costs is what the one before it does."""


def data_sets(sizes: dict[int, int]) -> Iterator[Data]:
    """Yield all data, standardised as the estimators do."""
    seed = FIRST_SEED
    for n, count in sizes.items():
        for _ in range(count):
            seed += 1
            rng = np.random.default_rng(seed)
            for noise in ("silf", "gaussian", "student"):
                yield of(f"sinc, {noise}", n, seed, *sinc(n, noise=noise, random_state=rng))
            X, y = make_friedman1(n, n_features=6, noise=1.0, random_state=seed)
            yield of("friedman", n, seed, X, y)
            yield of("friedman, ard", n, seed, X, y, ard=True)
            X = rng.normal(size=(n, 3))
            yield of("plane", n, seed, X, X @ [1.0, -0.5, 0.0] + 0.5 * rng.normal(size=n))
            yield of("two Gaussians", n, seed, *two_gaussians(n, random_state=rng))


def of(kind: str, n: int, seed: int, X: np.ndarray, y: np.ndarray, ard: bool = False) -> Data:
    """Standardise inputs, and targets or labels."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(y > 0, 1.0, -1.0) if kind == "two Gaussians" else (y - y.mean()) / y.std()
    return Data(kind, n, seed, X, y, ard)


def measure(data: Data) -> Row:
    """Search under each width, and let the ends of all go on under each."""
    evidences = [evidence(data, width) for width in WIDTHS[data.loss]]
    runs = [climb(one, data.seed) for one in evidences]
    ends = [each[0].end for each in runs]
    tops = [
        max(top(one, ends), each[0].objective) for one, each in zip(evidences, runs, strict=True)
    ]
    losses, evaluations = [], []
    for count in RESTARTS:
        kept = [[run for run in each if is_among(run, count)] for each in runs]
        own = [high - each[0].objective for high, each in zip(tops, kept, strict=True)]
        losses.append([*own, tops[0] - evidences[0](kept[-1][0].end)[0]])
        counts = [sum(run.evaluations for run in each) for each in kept]
        evaluations.append([*counts, counts[-1]])
    return Row(data, np.array(losses), np.array(evaluations))


def evidence(data: Data, width: float) -> MachineEvidence:
    """Return what is climbed."""
    likelihood = silf_likelihood(0.3) if data.loss == "SILF" else trigonometric_likelihood()
    laplace = Laplace(ramp_width=width)
    blueprint = Blueprint(RBF(ard=data.ard), likelihood, 100.0, data.X.shape[1], laplace)
    return MachineEvidence(blueprint, data.X, data.y, None)


def climb(one: MachineEvidence, seed: int) -> list[Restart]:
    """Return the runs of the estimators' search with many restarts, the best first."""
    rng = np.random.default_rng(seed)
    return search(
        one, MOST, rng, gain=GAIN, maxiter=MAXITER, n_jobs=None, report=lambda done, best: None
    ).runs


def is_among(run: Restart, restarts: int) -> bool:
    """Return whether the search with so many restarts has this run, too."""
    kind, number = run.label.split()
    return kind == "grid" or int(number) < restarts


def top(one: MachineEvidence, starts: list[np.ndarray]) -> float:
    """Return the highest end from starts."""
    options = {"bounds": one.blueprint.bounds, "gain": GAIN, "maxiter": MAXITER}
    return max(ascend(one, x, **options).objective for x in starts)


def tables(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of the tables, a summary and all data for each loss."""
    for loss, widths in WIDTHS.items():
        chosen = [row for row in rows if row.data.loss == loss]
        heads = [*(f"w = {width}" for width in widths), f"{widths[-1]}, judged by {widths[0]}"]
        rule = "--:|" * len(heads)
        yield f"## {loss}: nats that a search loses\n"
        yield f"| rows | restarts | statistic | {' | '.join(heads)} |\n|---|--:|---|{rule}"
        few = [row for row in chosen if row.data.n <= FEW]
        many = [row for row in chosen if row.data.n > FEW]
        for name, group in (("all", chosen), (f"n <= {FEW}", few), (f"n > {FEW}", many)):
            for k, count in enumerate(RESTARTS if group else ()):
                table = np.array([row.losses[k] for row in group])
                counts = np.array([row.evaluations[k] for row in group])
                for statistic, cells, digits in (
                    ("mean", table.mean(axis=0), 2),
                    ("largest", table.max(axis=0), 2),
                    (f"above {LIMIT}, of {len(group)}", (table > LIMIT).sum(axis=0), 0),
                    ("evaluations, mean", counts.mean(axis=0), 0),
                ):
                    text = " | ".join(f"{value:.{digits}f}" for value in cells)
                    yield f"| {name} | {count} | {statistic} | {text} |"
        yield f"\nEach data set, restarts = {RESTARTS[0]}:\n"
        yield f"| data | n | seed | {' | '.join(heads)} |\n|---|--:|--:|{rule}"
        for row in chosen:
            cells = " | ".join(f"{value:.2f}" for value in row.losses[0])
            yield f"| {row.data.kind} | {row.data.n} | {row.data.seed} | {cells} |"
        yield ""


def main() -> None:
    """Measure on all data, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    sizes = {60: 1} if quick else SIZES
    began, rows = time.perf_counter(), []
    for data in data_sets(sizes):
        rows.append(measure(data))
        print(
            f"{time.perf_counter() - began:6.0f} s",
            data.kind,
            data.n,
            data.seed,
            np.round(rows[-1].losses[0], 2),
            flush=True,
        )
    text = "\n".join(tables(rows))
    print(text)
    if not quick:
        versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
        head = (
            "# The width of the ramps and the search\n\n"
            "Measured by `benchmarks/ramp_search.py`, one BLAS thread, "
            f"Python {platform.python_version()}, {versions}.\n"
        )
        Path(__file__).with_suffix(".md").write_text(f"{head}\n{text}\n")


if __name__ == "__main__":
    main()
