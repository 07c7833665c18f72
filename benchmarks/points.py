"""Expectation propagation on inducing points against Laplace's method: cost, and probabilities.

``make bench-points`` writes ``benchmarks/points.md``. Labels are drawn from known probabilities, so
that the log loss of new inputs is an expectation, and what it is above that of the truth is the
error of a fit. The costs of a pass are CPU times at fixed hyperparameters.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from benchmarks._machine import machine
from pymc_bsvm import losses
from pymc_bsvm.estimators import BayesianSVC
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.streamed.ep import propagated_evidence
from pymc_bsvm.streamed.evidence import evidence_at
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.newton import find_mode
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.propagation import first_sites, propagate
from pymc_bsvm.streamed.rows import ArrayRows

NEW, POINTS = 10_000, 150
ROWS = {3_000: 3, 20_000: 1}  # and number of draws
OF_PASSES = 40_000, (100, 300, 500)
LOSSES = ("trigonometric", "logistic")
FITS = (("Laplace", "laplace", 1), ("EP", "ep", 1), ("Laplace", "laplace", 4))


def border(X: np.ndarray) -> np.ndarray:
    """Return log odds that change within a short way."""
    return 12.0 * np.sin(2.0 * X[:, 0] + X[:, 1])


def ring(X: np.ndarray) -> np.ndarray:
    """Return log odds that rise with the distance from the middle."""
    return 2.0 * ((X**2).sum(axis=1) - 4.0 / 3.0 * X.shape[1])


def waves(X: np.ndarray) -> np.ndarray:
    """Return log odds that are small and smooth."""
    return 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 - 1.0


SETS: tuple[tuple[Callable[[np.ndarray], np.ndarray], int], ...] = (
    (border, 2),
    (ring, 5),
    (waves, 2),
)


def excess(model: Any, X: np.ndarray, odds: np.ndarray) -> float:
    """Return the expected log loss above that of the truth, in thousandths of a nat."""
    p = expit(odds)
    no, yes = model.predict_log_proba(X).T
    above = p * (log_expit(odds) - yes) + (1.0 - p) * (log_expit(-odds) - no)
    return 1000.0 * float(above.mean())


def fits(n: int, draws: int) -> Iterator[str]:
    """Yield a line of the table for each fit."""
    for truth, d in SETS:
        for loss in LOSSES:
            for name, approximation, more in FITS:
                found, spent = [], []
                for seed in range(draws):
                    rng = np.random.default_rng(seed)
                    X, new = (rng.uniform(-2.0, 2.0, (size, d)) for size in (n, NEW))
                    y = np.where(rng.random(n) < expit(truth(X)), 1, -1)
                    model = BayesianSVC(
                        loss=loss,
                        inducing=more * POINTS,
                        approximation=approximation,
                        calibration="model",  # that of the approximation is the question
                        n_jobs=1,
                        random_state=0,
                    )
                    began = time.process_time()
                    model.fit(X, y)
                    spent.append(time.process_time() - began)
                    found.append(excess(model, new, truth(new)))
                yield (
                    f"| {truth.__name__}, {d} | {loss} | {n:,} | {more * POINTS} | {name} "
                    f"| {np.mean(found):.1f} | {np.mean(spent):.1f} |"
                )


def costs() -> Iterator[str]:
    """Yield a line of the table of costs for each loss and number of points."""
    n, counts = OF_PASSES
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 5))
    for loss in (losses.Trigonometric(), losses.Logistic(), losses.SILF(C=6.0, epsilon=0.2)):
        y = ring(X) / 4.0 + rng.logistic(size=n) / 5.0
        y = y if loss.task == "regression" else np.where(y > 0.0, 1.0, -1.0)
        for count in counts:
            features = Features.at(RBF(), np.array([1.0, 2.5]), X[:count], 1.0)
            rows = Passes(ArrayRows(X, y), 1)
            mode, step = timed(rows, partial(find_mode, rows, features, loss, tol=1e-9 * n))
            laplace = evidence_at(rows, features, loss, mode)
            sites = first_sites(rows, features, loss, None)
            settings: Any = {"tol": 1e-4, "max_iter": 200}
            ep, sweep = timed(rows, partial(propagate, rows, features, loss, sites, **settings))
            found = propagated_evidence(rows, features, loss, start=ep.sweep.sites, tol=1e-4)
            slopes = [timed(rows, partial(getattr, each, "gradient")) for each in (laplace, found)]
            micro = [step, sweep, 2.0 * slopes[0][1], slopes[1][1]]
            cells = " | ".join(f"{1e6 * each / n:.1f}" for each in micro)
            yield f"| {type(loss).__name__} | {count} | {cells} | {mode.n_iter} | {ep.n_iter} |"


def timed[T](rows: Passes, function: Callable[[], T]) -> tuple[T, float]:
    """Return what a function does, and its CPU seconds for each pass."""
    before, began = rows.count, time.process_time()
    found = function()
    return found, (time.process_time() - began) / (rows.count - before)


def main() -> None:
    """Measure both tables."""
    warnings.simplefilter("ignore")
    lines = [
        "# Expectation propagation on inducing points",
        "",
        f"Made by `make bench-points` on {machine('one BLAS thread', 'numpy')}; all times are CPU "
        "seconds, on a machine shared with other work.",
        "",
        "## Probabilities",
        "",
        "Labels have known probabilities; the log loss is the expectation over new labels, less "
        "that of the probabilities themselves. Means of three draws for 3,000 rows; one draw for "
        "more.",
        "",
        "| set, inputs | loss | rows | points | approximation | excess, 1e-3 nats | fit, s |",
        "|---|---|--:|--:|---|--:|--:|",
    ]
    for line in lines:
        sys.stdout.write(line + "\n")
    after = [
        "",
        "## Passes",
        "",
        f"{OF_PASSES[0]:,} rows of five columns at fixed hyperparameters; microseconds for each "
        "row. The gradient by Laplace's method takes two passes, that of expectation propagation "
        "one.",
        "",
        "| loss | points | Newton step | sweep | gradient, Laplace | gradient, EP | steps "
        "| sweeps |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    tables = (fits(n, draws) for n, draws in ROWS.items())
    for line in chain(*tables, after, costs()):
        lines.append(line)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
