"""Time and memory of the dual solver with a covariance of low rank.

``make bench-low-rank`` writes ``benchmarks/low_rank.md``: noisy targets of a function that the
features of m inducing points can express, each problem in a process of its own, whose peak of
memory includes the package and the making of the data. CPU seconds are those of `solve_dual` with
the engine "numpy", one BLAS thread, after a small problem that loads the compiled kernels.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._machine import machine
from pymc_bsvm import LowRank, losses, solve_dual

SIZES = ((2_000, 100), (20_000, 100), (200_000, 100))
LOSSES = {
    "SILF": losses.SILF(C=10.0, epsilon=0.1, beta=0.3),
    "EpsilonInsensitive": losses.EpsilonInsensitive(C=10.0, epsilon=0.1),
    "Trigonometric": losses.Trigonometric(),
    "Logistic": losses.Logistic(),
}


def main() -> None:
    """Run every problem in a process of its own and write the table."""
    used = f"one BLAS thread, {os.cpu_count()} shared cores"
    lines = [
        "# Dual solver with a covariance of low rank",
        "",
        f"Made by `make bench-low-rank` on {machine(used, 'numpy')}. The relative gap includes its "
        "rounding; the tolerance is 1e-9.",
        "",
        "| loss | n | m | steps | free | relative gap | CPU s | peak MiB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in LOSSES:
        for size in SIZES:
            command = [sys.executable, "-m", "benchmarks.low_rank", name, *map(str, size)]
            lines.append(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    text = "\n".join(line.rstrip("\n") for line in lines) + "\n"
    Path(__file__).with_suffix(".md").write_text(text)
    sys.stdout.write(text)


def problem(loss: losses.Loss, n: int, m: int) -> tuple[LowRank, np.ndarray]:
    """Return features of inducing points in the plane, and targets."""
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(-3.0, 3.0, (n, 2)), rng.uniform(-3.0, 3.0, (m, 2))

    def kernel(x: np.ndarray) -> np.ndarray:
        squares = (x**2).sum(1)[:, None] + (Z**2).sum(1) - 2.0 * x @ Z.T
        return np.exp(-0.5 * squares)

    L = np.linalg.cholesky(kernel(Z) + 1e-6 * np.eye(m))
    A = np.linalg.solve(L, kernel(X).T).T
    f = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1])
    if loss.task == "regression":
        return LowRank(A), f + rng.laplace(scale=0.1, size=n)
    return LowRank(A), np.where(f + 0.5 * rng.logistic(size=n) > 0.0, 1.0, -1.0)


def run(name: str, n: int, m: int) -> None:
    """Solve one problem and print its row."""
    loss = LOSSES[name]
    with threadpool_limits(1):
        solve_dual(*problem(loss, 300, 10), loss)
        K, y = problem(loss, n, m)
        start = time.process_time()
        s = solve_dual(K, y, loss)
        seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gap = (s.gap + s.rounding) / (1.0 + abs(s.primal))
    print(
        f"| {name} | {n} | {m} | {s.n_iter} | {s.free.sum()} | {gap:.1e} | {seconds:.2f} "
        f"| {peak:.0f} |"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
