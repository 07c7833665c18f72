"""How often expectation propagation fails: 1,000 random problems, easy and absurd ones alike.

Run by hand, less than a minute: ``python -m benchmarks.ep > benchmarks/ep.md``. A problem is its
seed: ``problem(seed)``. Every normalised loss meets every kind of covariance, with n up to 200, C
from 1e-3 to 1e4, epsilon from 1e-3 to 10, amplitudes up to 100, rows that stand several times,
offsets in the covariance, covariances of low rank, weights, prior means and outliers. Times are
ratios of CPU time of interleaved runs in one process.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks._machine import machine
from pymc_bsvm import LowRank, datasets, ep_evidence, laplace_evidence, losses
from pymc_bsvm.evidence import EPEvidence

PROBLEMS = 1_000
TOL = 1e-6
REPEATS = 5
REGRESSION = ("SILF", "SILF, narrow", "Huber", "EpsilonInsensitive", "Laplace", "Gaussian")
CLASSIFICATION = ("Trigonometric", "Logistic", "Probit")


class Problem(NamedTuple):
    """The arguments of one evidence."""

    kernel: str
    K: Any
    y: np.ndarray
    loss: losses.Loss
    options: dict[str, Any]


def covariance(rng: np.random.Generator, n: int) -> tuple[np.ndarray, Any, str]:
    """Return inputs, a covariance and the name of its kind."""
    X = rng.normal(size=(n, rng.integers(1, 6)))
    duplicates = rng.random() < 0.25
    if duplicates:
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    amplitude = 10 ** rng.uniform(-1, 2)
    offset = rng.choice([0.0, 1.0, 100.0, 1e4], p=[0.5, 0.2, 0.2, 0.1])
    kind = rng.choice(["rbf", "linear", "low rank"], p=[0.7, 0.15, 0.15])
    name = f"{kind}, amplitude {amplitude:.2g}, offset {offset:g}"
    name += ", duplicate rows" if duplicates else ""
    if kind == "low rank":
        A = np.hstack([amplitude * X, np.full((n, 1), np.sqrt(offset))])
        return X, LowRank(A, rng.choice([0.0, 1e-3, 1.0])), name
    if kind == "linear":
        return X, amplitude**2 * X @ X.T + offset, name
    distance = ((X[:, None] - X) ** 2).sum(-1)
    return X, amplitude**2 * np.exp(-0.5 * 10 ** rng.uniform(-2, 2) * distance) + offset, name


def make_loss(rng: np.random.Generator, name: str) -> losses.Loss:
    """Return a loss of one kind."""
    C, epsilon = 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-3, 1)
    match name:
        case "SILF":
            return losses.SILF(C, epsilon, rng.uniform(0.01, 1.0))
        case "SILF, narrow":
            return losses.SILF(C, epsilon, 10 ** rng.uniform(-4, -2))
        case "Laplace":
            return losses.Laplace(C)
        case "Gaussian":
            return losses.Gaussian(10 ** rng.uniform(-3, 2))
        case "Trigonometric":
            return losses.Trigonometric(10 ** rng.uniform(-1, 1))
        case "Logistic" | "Probit":
            return getattr(losses, name)()
        case _:
            return getattr(losses, name)(C, epsilon)


def problem(seed: int) -> Problem:
    """Return the problem of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, rng.integers(4, 40), rng.integers(40, 201)]))
    X, K, kernel = covariance(rng, n)
    name = str(rng.choice(REGRESSION if rng.random() < 0.6 else CLASSIFICATION))
    loss, options = make_loss(rng, name), {}
    if loss.task == "regression":
        y = np.sin(X[:, 0]) + rng.normal(size=n) * 10 ** rng.uniform(-3, 0)
        if rng.random() < 0.15:
            y[rng.integers(n)] += 100.0
        if rng.random() < 0.15:
            options["m"] = rng.normal(size=n)
    else:
        y = np.where(X[:, 0] + rng.normal(size=n) * 10 ** rng.uniform(-2, 1) > 0, 1.0, -1.0)
    if rng.random() < 0.2:
        options["sample_weight"] = rng.integers(0, 4, size=n).astype(float)
    return Problem(kernel, K, y, loss, options)


def solve(p: Problem) -> EPEvidence:
    """Return the evidence of a problem, whether the sweeps settled or not."""
    return ep_evidence(p.K, p.y, p.loss, tol=TOL, on_failure="ignore", **p.options)


def reliability() -> None:
    """Print how many problems were solved, and those that were not."""
    sweeps, solved, failures = defaultdict(list), defaultdict(int), []
    for seed in range(PROBLEMS):
        p = problem(seed)
        found, name = solve(p), type(p.loss).__name__
        good = found.converged and np.isfinite(found.log_evidence)
        sweeps[name].append(found.n_iter)
        solved[name] += good
        if not good:
            failures.append((seed, p, found))
        if seed % 100 == 99:
            print(seed + 1, file=sys.stderr)
    total = [x for counts in sweeps.values() for x in counts]
    print(
        f"**{sum(solved.values()):,} of {PROBLEMS:,} reach a residual of {TOL:g}**, from nothing, "
        f"with `max_iter=200`. Seeds 0 to {PROBLEMS - 1}; the script says how they are drawn.\n"
    )
    print("| loss | problems | solved | sweeps: median | 95 % | most |\n|---|--:|--:|--:|--:|--:|")
    for name in sorted(sweeps):
        row(name, sweeps[name], solved[name])
    row("all", total, sum(solved.values()))
    if failures:
        print("\n| seed | loss | n | covariance | status | residual | sweeps |")
        print("|--:|---|--:|---|---|--:|--:|")
    for seed, p, found in failures:
        print(
            f"| {seed} | {p.loss} | {p.y.size} | {p.kernel} | {found.status.name} "
            f"| {found.residual:.1e} | {found.n_iter} |"
        )


def row(name: str, sweeps: list[int], solved: int) -> None:
    """Print one row of the table."""
    low, high = np.percentile(sweeps, [50, 95])
    print(f"| {name} | {len(sweeps)} | {solved} | {low:.0f} | {high:.0f} | {max(sweeps)} |")


def cpu(function: Callable[[], Any]) -> float:
    """Return the CPU time of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def cost() -> None:
    """Print CPU time with the gradient, in units of that of Laplace's evidence."""
    print("\n## Cost\n")
    print(
        "CPU time of an evidence with its gradient, divided by that of `laplace_evidence`: the "
        f"least of {REPEATS} interleaved runs each, cold starts; and warm ones, of both, from the "
        "model with 5 % less amplitude.\n"
    )
    print("| data | n | sweeps, cold | warm | ratio, cold | warm |\n|---|--:|--:|--:|--:|--:|")
    for n in (100, 200, 500):
        X, y = datasets.sinc(n, random_state=1)
        compare("sinc, SILF", np.exp(-0.5 * (X - X.T) ** 2 / 2.4**2), y, losses.SILF(10.0, 0.1))
        X, labels = datasets.two_gaussians(n, random_state=1)
        distance = ((X[:, None] - X) ** 2).sum(-1)
        y = np.where(labels == labels.max(), 1.0, -1.0)
        compare("two Gaussians, trigonometric", 9.0 * np.exp(-distance), y, losses.Trigonometric())


def compare(name: str, K: np.ndarray, y: np.ndarray, loss: losses.Loss) -> None:
    """Print one row."""
    ep, laplace = ep_evidence(0.9 * K, y, loss).start, laplace_evidence(0.9 * K, y, loss).start
    starts: tuple[Any, ...] = (None, ep), (None, laplace)
    found = [ep_evidence(K, y, loss, start=start) for start in starts[0]]
    times = np.array(
        [
            [
                (
                    cpu(lambda a=a: ep_evidence(K, y, loss, start=a).gradient),
                    cpu(lambda b=b: laplace_evidence(K, y, loss, a0=b).gradient),
                )
                for a, b in zip(*starts, strict=True)
            ]
            for _ in range(REPEATS)
        ]
    ).min(axis=0)
    cold, warm = times[:, 0] / times[:, 1]
    print(
        f"| {name} | {y.size} | {found[0].n_iter} | {found[1].n_iter} | {cold:.1f} | {warm:.1f} |"
    )


def main() -> None:
    """Print the report."""
    print("# Expectation propagation\n")
    print(f"Measured by `benchmarks/ep.py` on {machine('one core', 'numpy')}.\n")
    reliability()
    cost()


if __name__ == "__main__":
    main()
