"""A committee on 100,000 rows against one machine on a subset; writes committee.md.

Run with ``make bench-committee``. Friedman's first function of five inputs with Gaussian noise, one
target in twenty ten times as noisy.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two workers on one core each

import argparse
import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks._machine import machine
from pymc_bsvm.estimators import BayesianSVR, BayesianSVRCommittee

N_TEST = 5000


class Row(NamedTuple):
    """One line of the table."""

    model: str
    rows: int
    seconds: float
    rmse: float
    log_score: float
    coverage: float


def friedman(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, targets and the noise-free function."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    f += 10 * X[:, 3] + 5 * X[:, 4]
    noise = rng.normal(size=n)
    noise[rng.random(n) < 0.05] *= 10.0
    return X, f + noise, f


def measure(name: str, model: BayesianSVR | BayesianSVRCommittee, n: int) -> Row:
    """Fit to n rows and look at new ones."""
    X, y, _ = friedman(n, 0)
    X_new, y_new, f_new = friedman(N_TEST, 1)
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    low, high = model.predict_interval(X_new, 0.9)
    return Row(
        name,
        n,
        seconds,
        float(np.sqrt(np.mean((model.predict(X_new) - f_new) ** 2))),
        float(model.log_predictive_density(X_new, y_new).mean()),
        float(np.mean((low <= y_new) & (y_new <= high))),
    )


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    n = parser.parse_args().rows
    rows = [
        measure("one machine", BayesianSVR(random_state=0), 2000),
        measure("one machine", BayesianSVR(random_state=0), 4000),
    ]
    for size, combine in ((1000, "rbcm"), (2000, "rbcm"), (2000, "gpoe")):
        model = BayesianSVRCommittee(expert_size=size, combine=combine, random_state=0, n_jobs=2)
        rows.append(measure(f"experts of {size}, {combine}", model, n))
        print(rows[-1], flush=True)
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    memory = sum(resource.getrusage(kind).ru_maxrss for kind in kinds) / 2**20
    Path(__file__).with_suffix(".md").write_text(page(rows, memory))


def page(rows: list[Row], memory: float) -> str:
    """Return the page."""
    table = "\n".join(
        f"| {r.model} | {r.rows:,} | {r.seconds:.0f} | {r.rmse:.3f} | {r.log_score:.3f} "
        f"| {100 * r.coverage:.1f} |"
        for r in rows
    )
    return f"""# Committee

{machine(f"{os.cpu_count()} cores", "numpy", "scipy", "scikit-learn")}.

Friedman's first function of five inputs, noise N(0, 1), one target in twenty ten times as noisy.
{N_TEST} new rows of the same law; the error is that of the function without noise. Two worker
processes of one BLAS thread for the committees. The largest memory of the process and of its
largest worker together was {memory:.1f} GiB.

| model | rows | fit, s | RMSE of f | log score, nats | 90 % intervals hold |
|---|--:|--:|--:|--:|--:|
{table}
"""


if __name__ == "__main__":
    main()
