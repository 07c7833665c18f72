"""Time of the dual solver against LIBSVM and against the linear algebra it cannot avoid.

``make bench-solver`` prints the tables of ``benchmarks/solver.md``. In one run, with one BLAS
thread, medians of several repetitions:

- *numpy*, *numba*: `solve_dual` with either engine to a relative gap of 1e-8, without the check of
  K, whose time is the column *check*; the one-off time of compilation is left out;
- *floor*: (Newton steps) x (gather and Cholesky factor of the free set + product with the columns
  of the support vectors), by SciPy and NumPy;
- *LIBSVM*: scikit-learn's SVR or SVC with the same C, epsilon and precomputed kernel, at the
  loosest tolerance of a list that brings the relative gap of its solution to 1e-6. LIBSVM has no
  SILF and no trigonometric loss: it is compared on the loss that it has, and its relative gap is
  computed by the same definition. Its solution has an offset, ours has one too in that row.
"""

from __future__ import annotations

import functools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from benchmarks._machine import machine
from pymc_bsvm import datasets, losses, solve_dual
from pymc_bsvm.solvers.dual import check_kernel

SIZES = (500, 1000, 2000, 4000)
TOL = 1e-8
REPEATS = 7


def main() -> None:
    """Run the comparison and write the tables."""
    lines = [header()]
    with threadpool_limits(1):
        for task in (regression, classification):
            lines += task()
        lines += steps_table()
        lines += overhead()
    text = "\n".join(lines) + "\n"
    Path(__file__).with_suffix(".md").write_text(text)
    sys.stdout.write(text)


def header() -> str:
    """Describe the machine and the versions."""
    used = machine("one BLAS thread", "numpy", "scipy", "scikit-learn")
    return (
        "# Dual solver: time against LIBSVM and against the BLAS floor\n\n"
        f"Made by `make bench-solver` on {used}. Times in milliseconds, medians of {REPEATS}. "
        "The floor of a loss with kinks counts exact steps of the rows between two levels as "
        "Newton steps, which they are not: most move few of the duals.\n"
    )


def median_ms(run: Callable[[], object]) -> float:
    """Return the median time of a call in milliseconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def sinc_problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return K and y of the thesis' sinc data at hyperparameters near its optimum."""
    X, y = datasets.sinc(n, noise="silf", random_state=n)
    x = (X[:, 0] - X.mean()) / X.std()
    return y.var() * np.exp(-0.5 * 5.6 * (x[:, None] - x) ** 2) + 0.1, y


def class_problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return K and labels of the thesis' two-dimensional classes."""
    X, labels = datasets.two_gaussians(n, dim=2, random_state=n)
    X = (X - X.mean(0)) / X.std(0)
    squares = (X**2).sum(1)
    distance = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0)
    return 10.0 * np.exp(-0.25 * distance) + 1.0, 2.0 * labels - 1.0


def floor_ms(K: np.ndarray, solution: object) -> float:
    """Return the time of the unavoidable linear algebra.

    In each step: gather and factor the free rows of K, and multiply those of the support vectors.
    """
    free, support = np.flatnonzero(solution.free), np.flatnonzero(solution.support)
    a, columns = solution.a[support], K[support]

    def factorize() -> None:
        B = K[np.ix_(free, free)]
        B.flat[:: free.size + 1] += 1.0
        scipy.linalg.cholesky(B.T, lower=True, overwrite_a=True, check_finite=False)

    return solution.n_iter * (median_ms(factorize) + median_ms(lambda: a @ columns))


def libsvm(K: np.ndarray, y: np.ndarray, loss: losses.Loss) -> tuple[float, float]:
    """Return LIBSVM's time and the relative gap of its solution."""
    for tol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
        common = {"kernel": "precomputed", "C": loss.C, "tol": tol, "cache_size": 4000}
        machine = (
            SVC(**common) if loss.task == "classification" else SVR(epsilon=loss.epsilon, **common)
        )
        elapsed = median_ms(lambda machine=machine: machine.fit(K, y))
        a = np.zeros(y.size)
        a[machine.support_] = machine.dual_coef_[0]
        a, offset = loss.project(y, a), machine.intercept_[0]
        f = K @ a + offset
        primal = loss.value(y, f).sum() + 0.5 * a @ (f - offset)
        gap = (loss.gap(y, f, a).sum() - offset * a.sum()) / (1 + abs(primal))
        if gap <= 1e-6:
            break
    return elapsed, gap


def compare(title: str, problem: Callable, cases: list, kinked: losses.Loss) -> list[str]:
    """Return the table of one task."""
    lines = [
        f"\n## {title}\n",
        "| n | loss | steps | free | support | numpy | numba | check | floor | numba / floor "
        "| LIBSVM (gap) | LIBSVM / numpy | LIBSVM / numba |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    growth = {}
    for n in SIZES:
        K, y = problem(n)
        elapsed, gap = libsvm(K, y, kinked)
        check = median_ms(functools.partial(check_kernel, K))
        for loss, bias in [*((case, False) for case in cases), (kinked, True)]:
            settings = {"tol": TOL, "bias": bias}
            solution = solve_dual(K, y, loss, engine="numba", **settings)  # compiles, too
            solve = functools.partial(solve_dual, K, y, loss, check_input=False, **settings)
            interpreted, compiled = (
                median_ms(functools.partial(solve, engine=engine)) for engine in ("numpy", "numba")
            )
            floor = floor_ms(K, solution)
            growth.setdefault(repr(loss), []).append(compiled)
            name = f"{loss}{' with offset' if bias else ''}"
            lines.append(
                f"| {n} | {name} | {solution.n_iter} | {solution.free.sum()} "
                f"| {solution.support.sum()} | {interpreted:.1f} | {compiled:.2f} | {check:.1f} "
                f"| {floor:.1f} | {compiled / floor:.2f} | {elapsed:.1f} ({gap:.0e}) "
                f"| {elapsed / (interpreted + check):.1f} | {elapsed / (compiled + check):.1f} |"
            )
    lines.append("")
    for name, times in growth.items():
        exponent = np.log(times[-1] / times[0]) / np.log(SIZES[-1] / SIZES[0])
        lines.append(
            f"Growth of {name}, numba, from n = {SIZES[0]} to {SIZES[-1]}: n^{exponent:.2f}.\n"
        )
    return lines


def regression() -> list[str]:
    """Compare on the sinc data."""
    cases = [losses.SILF(10.0, 0.1, 0.3), losses.SILF(10.0, 0.1, 0.1)]
    return compare("sinc regression", sinc_problem, cases, losses.EpsilonInsensitive(10.0, 0.1))


def classification() -> list[str]:
    """Compare on two overlapping classes."""
    cases = [losses.Trigonometric(1.0), losses.SoftMarginLe(1.0, 0.3)]
    return compare("two classes", class_problem, cases, losses.SoftMarginL1(1.0))


def steps_table() -> list[str]:
    """Count Newton steps on a grid of realistic problems, cold and warm."""
    cold, warm = [], []
    for n in (200, 500, 1000):
        X, y = datasets.sinc(n, noise="silf", random_state=n)
        x = (X[:, 0] - X.mean()) / X.std()
        labels = np.where(np.sin(2 * x) + np.random.default_rng(n).normal(size=n) > 0, 1.0, -1.0)
        for kappa in (0.5, 5.6, 50.0):
            for constant in (0.1, 100.0):
                for amplitude in (0.15, 1.0, 100.0):
                    shape = np.exp(-0.5 * kappa * (x[:, None] - x) ** 2)
                    K = amplitude * shape + constant
                    K_near = 1.05 * amplitude * shape**1.05 + constant
                    cases = [losses.SILF(C, 0.1, b) for C in (1.0, 10.0) for b in (0.3, 0.1)]
                    for loss in [*cases, losses.Trigonometric(1.0), losses.Logistic()]:
                        target = y if loss.task == "regression" else labels
                        first = solve_dual(K, target, loss, tol=TOL, check_input=False)
                        again = solve_dual(
                            K_near, target, loss, a0=first.a, tol=TOL, check_input=False
                        )
                        cold.append(first.n_iter)
                        warm.append(again.n_iter)
    return [
        "\n## Newton steps\n",
        "Grid: n 200, 500, 1000; kappa 0.5, 5.6, 50; constant 0.1, 100; amplitude 0.15, 1, 100; "
        "SILF with C 1, 10, epsilon 0.1, beta 0.3, 0.1, the trigonometric and the logistic loss: "
        f"{len(cold)} problems. Warm: from the dual at an amplitude and a kappa 5 % smaller.\n",
        "| start | median | 95 % | most |",
        "|---|--:|--:|--:|",
        *(
            f"| {name} | {np.median(steps):.0f} | {np.percentile(steps, 95):.0f} | {max(steps)} |"
            for name, steps in (("cold", cold), ("warm", warm))
        ),
    ]


def overhead() -> list[str]:
    """Time one call of the compiled Op beside the NumPy entry."""
    import pytensor
    import pytensor.tensor as pt

    from pymc_bsvm.ops import DualSolve

    n = 200
    K, y = sinc_problem(n)
    loss = losses.SILF(10.0, 0.1, 0.3)
    inputs = [pt.matrix(), pt.vector(), pt.vector(), pt.vector()]
    op = pytensor.function(inputs, DualSolve(losses.SILF, tol=TOL)(*inputs), trust_input=True)
    arguments = (K, y, np.zeros(n), np.array(loss.parameters))
    op(*arguments)
    repeats = 50

    def many(call: Callable[[], object]) -> float:
        return median_ms(lambda: [call() for _ in range(repeats)]) / repeats

    of_op = many(lambda: op(*arguments))
    of_numpy = many(lambda: solve_dual(K, y, loss, tol=TOL))
    unchecked = many(lambda: solve_dual(K, y, loss, tol=TOL, check_input=False))
    return [
        "\n## One call at n = 200\n",
        f"`solve_dual` {of_numpy:.2f} ms ({unchecked:.2f} ms without the check of K), the Op "
        f"compiled by Numba {of_op:.2f} ms: {of_op / unchecked:.2f} of the NumPy solver.",
    ]


if __name__ == "__main__":
    main()
