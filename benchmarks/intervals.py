"""The CPU time of intervals, in units of that of means and standard deviations.

``make bench-intervals`` writes ``benchmarks/intervals.md``. Both sides predict the same rows from
the same fit in one process and in turns, and a ratio is that of their medians, so that other work
on the machine disturbs it little. Both contain the kernel between the new rows and those of the
fit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._machine import machine
from pymc_bsvm import losses
from pymc_bsvm.estimators import BayesianSVR
from pymc_bsvm.evidence import StudentNoise

ROWS, NEW, REPEATS = (200, 1000), (1000, 10_000), 9
MEMBERS, SPREAD = 16, 0.1
NOISE: dict[str, Any] = {
    "SILF": losses.SILF(12.0, 0.1, 0.3),
    "epsilon-insensitive": losses.EpsilonInsensitive(12.0, 0.1),
    "Huber": losses.Huber(12.0, 0.1),
    "squared": losses.Gaussian(0.15),
    "Laplace": losses.Laplace(10.0),
    "Student": StudentNoise(4.0, 0.1),
}
COVERAGES: dict[str, Any] = {"90 %": 0.9, "99 %": 0.99, "50, 80, 95 %": [0.5, 0.8, 0.95]}


def fit(n: int) -> BayesianSVR:
    """Return a fit of a smooth function with noise."""
    rng = np.random.default_rng(n)
    X = rng.uniform(-3.0, 3.0, (n, 3))
    y = np.sin(X).sum(axis=1) + rng.laplace(scale=0.1, size=n)
    return BayesianSVR("rbf", noise="loss").fit(X, y)


def averaged(model: BayesianSVR) -> BayesianSVR:
    """Give the fit several machines to average over, with hyperparameters near its own."""
    trained, rng = model._trained, np.random.default_rng(1)
    best = trained.found.best.end
    near = (np.exp(best + SPREAD * rng.normal(size=best.size)) for _ in range(MEMBERS))
    model._trained = replace(trained, draws=[trained.objective.machine(x) for x in near])
    return model


def ratio(ours: Callable[[], Any], unit: Callable[[], Any]) -> float:
    """Return the ratio of the median CPU times of two functions."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(REPEATS):
        for function, seen in zip((ours, unit), seconds, strict=True):
            start = time.process_time()
            function()
            seen.append(time.process_time() - start)
    return float(np.median(seconds[0]) / np.median(seconds[1]))


def ratios(model: BayesianSVR, n: int, m: int, words: str = "") -> Iterator[str]:
    """Yield the rows of the table for m new rows."""
    X = np.random.default_rng(m).uniform(-3.5, 3.5, (m, 3))
    unit = partial(model.predict, X, return_std=True)
    for name, noise in NOISE.items():
        model.noise_ = noise
        cells = [ratio(partial(model.predict_interval, X, c), unit) for c in COVERAGES.values()]
        line = f"| {name}{words} | {n} | {m} | {' | '.join(f'{cell:.1f}' for cell in cells)} |"
        print(line, flush=True)
        yield line


def lines() -> Iterator[str]:
    """Yield the table."""
    yield f"| noise | rows | new rows | {' | '.join(COVERAGES)} |"
    yield f"|---|--:|--:|{'--:|' * len(COVERAGES)}"
    for n in ROWS:
        model = fit(n)
        for m in NEW:
            yield from ratios(model, n, m)
    yield from ratios(averaged(fit(ROWS[0])), ROWS[0], NEW[0], f", {MEMBERS} machines")


def main() -> None:
    """Write the report."""
    report = f"""# What intervals cost

Measured by `benchmarks/intervals.py` on {machine("one BLAS thread", "numpy", "scipy")}.

CPU time of `predict_interval` in units of that of `predict(return_std=True)`, for a fit of `rows`
rows and three columns that predicts `new rows` rows: ratios of the medians of {REPEATS} runs of
each, in turns. The fit is one with SILF noise, and the noise of its predictions is replaced. The
last lines average over {MEMBERS} machines, as estimators do that sample their hyperparameters.

"""
    report += "\n".join(lines()) + "\n"
    Path(__file__).with_suffix(".md").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main()
