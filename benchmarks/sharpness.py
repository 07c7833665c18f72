"""The prior of the power of the odds, and what a power has to gain; writes sharpness.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.sharpness [--seeds 6]

`BayesianSVC` raises its odds to a power that is fitted to leave-one-out probabilities. The power
has a normal prior of its logarithm, and has to gain some nats. Both are chosen here, on data made
for this choice; the sets of `classes.md` were not looked at.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._machine import machine
from benchmarks.estimators import table
from pymc_bsvm.estimators import BayesianSVC, sharpness

REPORT = Path(__file__).with_suffix(".md")
NEW_ROWS = 4000
SIZES = (60, 100, 200, 400)
WIDTHS, PRICES = (0.25, 0.35, 0.5, 1.0, 100.0), (0.0, 1.0, 2.0)

type Array = np.ndarray
type Draw = Callable[[int, np.random.Generator], tuple[Array, Array]]


def shells(d: int, classes: int = 2) -> Draw:
    """Return normal classes about nearly the same centre, each wider than the last."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        y = rng.integers(0, classes, n)
        X = rng.normal(size=(n, d)) * (2.0**y)[:, None] + (y / np.sqrt(d))[:, None]
        return X, y

    return draw


def shifted(d: int) -> Draw:
    """Return two normal classes with different centres."""

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        y = rng.integers(0, 2, n)
        return rng.normal(size=(n, d)) + ((4 * y - 2) / np.sqrt(d))[:, None], y

    return draw


def waves(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return labels with log odds that are smooth in three inputs."""
    X = rng.normal(size=(n, 3))
    odds = 3.0 * np.sin(2.0 * X[:, 0]) + 2.0 * X[:, 1] * X[:, 2]
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-odds))).astype(int)


def moons(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return two half circles that reach into each other."""
    y, angle = rng.integers(0, 2, n), rng.uniform(0.0, np.pi, n)
    sign = 2 * y - 1
    curves = np.stack([sign * np.cos(angle) + 0.5 * y, sign * (np.sin(angle) - 0.25)], axis=1)
    return curves + 0.25 * rng.normal(size=(n, 2)), y


def noise(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return labels that depend on nothing."""
    return rng.normal(size=(n, 4)), rng.integers(0, 2, n)


def blobs(classes: int) -> Draw:
    """Return classes of several normal clusters each."""
    centres = 1.5 * np.random.default_rng(5).normal(size=(5 * classes, 6))

    def draw(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        k = rng.integers(0, len(centres), n)
        return centres[k] + rng.normal(size=(n, 6)), k % classes

    return draw


SETS: dict[str, Draw] = {
    "shells, 20 inputs": shells(20),
    "shells, 8 inputs": shells(8),
    "three shells, 12 inputs": shells(12, 3),
    "shifted, 20 inputs": shifted(20),
    "shifted, 10 inputs": shifted(10),
    "waves": waves,
    "moons": moons,
    "two of blobs": blobs(2),
    "four of blobs": blobs(4),
    "noise": noise,
}


class Fit(NamedTuple):
    """Log odds by a fit, of its own rows without their labels and of new ones, with the labels."""

    left_out: Array
    labels: Array
    new: Array
    new_labels: Array

    def loss(self, width: float, price: float) -> float:
        """Return the log loss of the new rows."""
        sharpness._WIDTH, sharpness._PRICE = width, price
        return self.loss_at(sharpness.fit_sharpness(self.left_out, self.labels))

    def loss_at(self, power: float) -> float:
        """Return the log loss of the new rows with a power of the odds."""
        logs = sharpness.log_probabilities(power * self.new)
        return -float(logs[np.arange(NEW_ROWS), self.new_labels].mean())


def fits(draw: Draw, n: int, seeds: int) -> Iterator[Fit]:
    """Yield a fit for each seed."""
    for seed in range(seeds):
        rng = np.random.default_rng([n, seed])
        (X, y), (X_new, y_new) = draw(n, rng), draw(NEW_ROWS, rng)
        model = BayesianSVC(calibration="model", random_state=0).fit(X, y)
        left_out = sharpness.left_out_log_odds(model._trained)
        labels = (np.searchsorted(model.classes_, each) for each in (y, y_new))
        yield Fit(left_out, next(labels), model.decision_function(X_new), next(labels))


def rows(seeds: int) -> Iterator[list[str]]:
    """Yield the changes of the log loss, a row for each set and size; then means and worst."""
    powers = np.exp(np.linspace(-2.0, 2.0, 81))
    settings = list(itertools.product(WIDTHS, PRICES))
    changes = []
    for (name, draw), n in itertools.product(SETS.items(), SIZES):
        found = list(fits(draw, n, seeds))
        plain = np.array([fit.loss_at(1.0) for fit in found])
        best = np.array([min(map(fit.loss_at, powers)) for fit in found]) - plain
        change = [np.mean([f.loss(*s) for f in found] - plain) for s in settings]
        changes.append(change)
        shown = [f"{c:+.4f}" for c in (best.mean(), *change)]
        print(name, n, f"{plain.mean():.4f}", *shown, flush=True)
        yield [name, str(n), f"{plain.mean():.4f}", *shown]
    for word, of in (("mean", np.mean), ("worst", np.max)):
        yield [word, "", "", "", *(f"{c:+.4f}" for c in of(changes, axis=0))]


def main() -> None:
    """Take the measures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    options = parser.parse_args()
    width, price = sharpness._WIDTH, sharpness._PRICE
    heads = [f"{w:g}, {p:g}" for w, p in itertools.product(WIDTHS, PRICES)]
    head = " | ".join(["set", "rows", "log loss", "best", *heads])
    measured = table(head, rows(options.seeds), left=1)
    REPORT.write_text(
        TEMPLATE.format(
            machine=machine("one BLAS thread", "numpy", "scipy", "scikit-learn"),
            new=NEW_ROWS,
            seeds=options.seeds,
            rows=measured,
            width=width,
            price=price,
        ),
        encoding="utf-8",
    )


TEMPLATE = """\
# The power of the odds

Measured by `benchmarks/sharpness.py` on {machine}.

Log loss of {new} new rows by `BayesianSVC(calibration="model")`, and what it changes by if the odds
are raised to a power: the best one for the new rows, and those that leave-one-out probabilities
choose with a normal prior of the logarithm, by its standard deviation and by the nats that the
power has to gain. Means over {seeds} seeds. All sets are made for this choice. The library
takes {width:g} and {price:g}.

{rows}"""


if __name__ == "__main__":
    main()
