"""Rows in batches against all rows at once, on inducing points at fixed hyperparameters.

``make bench-partial`` writes ``benchmarks/partial.md``: a smooth function of two inputs,
whose rows come in batches of equal size, one after the other. Figures are for 2,000 new inputs:
the error of the function that is learned, and how far the posterior after the last batch is from
that of all rows at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks._machine import machine
from pymc_bsvm import losses
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.newton import find_mode
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.recursion import updated
from pymc_bsvm.streamed.rows import ArrayRows

ROWS, POINTS, NEW = 20_000, 100, 2_000
BATCHES = (2, 10, 50, 200)
LOSSES = (
    losses.Gaussian(sigma=0.35),
    losses.SILF(C=6.0, epsilon=0.2, beta=0.3),
    losses.Logistic(),
    losses.Trigonometric(delta=1.0),
)


def function(X: np.ndarray) -> np.ndarray:
    """Return the truth: latent values, or log odds of the classes."""
    return np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.5 * X[:, 1]


def targets(loss: losses.Loss, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return targets with noise, or labels."""
    f = function(X)
    if loss.task == "regression":
        return np.asarray(f + 0.3 * rng.standard_t(4, f.size))
    return np.where(f + rng.logistic(size=f.size) > 0.0, 1.0, -1.0)


def compare(loss: losses.Loss) -> list[str]:
    """Return a line of the table for each number of batches."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2.0, 2.0, (ROWS, 2)), rng.uniform(-2.0, 2.0, (NEW, 2))
    y = targets(loss, X, rng)
    features = Features.at(RBF(), np.array([1.0, 0.9]), X[:POINTS], 1.0)
    mode = find_mode(Passes(ArrayRows(X, y)), features, loss)
    whole = InducingPosterior(features, mode.w, mode.cholesky)
    mean, variance = whole.moments(new)
    lines = []
    for count in BATCHES:
        found = InducingPosterior(features, np.zeros(features.size), np.eye(features.size))
        for rows in np.split(np.arange(ROWS), count):
            found = updated(found, Passes(ArrayRows(X[rows], y[rows])), loss)
        got, spread = found.moments(new)
        f = function(new)
        errors = [np.sqrt(np.mean((each - f) ** 2)) for each in (mean, got)]
        away = np.sqrt(np.mean((got - mean) ** 2 / variance))
        ratio = np.sqrt(np.median(spread / variance))
        comparable = not isinstance(loss, losses.Trigonometric)
        shown = [f"{error:.4f}" if comparable else "-" for error in errors]
        lines.append(
            f"| {type(loss).__name__} | {count} x {ROWS // count} | {shown[0]} | {shown[1]} "
            f"| {away:.2g} | {ratio:.3f} |"
        )
    return lines


def main() -> None:
    """Compare every loss and write the table."""
    used = "one BLAS thread"
    lines = [
        "# Batches one after the other",
        "",
        f"Made by `make bench-partial` on {machine(used, 'numpy')}: {ROWS:,} rows, "
        f"{POINTS} inducing points, fixed hyperparameters. One draw of the data.",
        "",
        "| loss | batches | RMSE, all rows | RMSE, batches | distance in sd | ratio of sd |",
        "|---|--:|--:|--:|--:|--:|",
        *(line for loss in LOSSES for line in compare(loss)),
        "",
        "The distance is the root mean square difference of the two means in posterior standard "
        "deviations of all rows at once; the ratio is the median of batches' over all rows'. The "
        "trigonometric loss has another latent function than log odds, so that there is no RMSE.",
    ]
    text = "\n".join(lines) + "\n"
    Path(__file__).with_suffix(".md").write_text(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
