"""What the order of the rows does to on-line Gaussian processes; writes online.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.online

Two sets of rows in many orders, with bounds of the basis and numbers of sweeps. It takes a minute.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks._machine import machine
from pymc_bsvm.datasets import sinc, two_gaussians
from pymc_bsvm.estimators import OnlineSVC, OnlineSVR

REPORT = Path(__file__).with_suffix(".md")
ROWS, NEW, ORDERS = 100, 1000, 12
BOUNDS = (8, 16, None)
SWEEPS = (1, 2, 3, 100)
HEAD = (
    "set | basis vectors | sweeps | log evidence | its sd | log score | its sd | lowest "
    "| sorted rows | distance"
)


class Problem(NamedTuple):
    """Rows to learn from and new rows, and an estimator for them."""

    name: str
    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    y_new: np.ndarray
    estimator: Any
    settings: dict[str, Any]

    def fit(self, order: np.ndarray, **settings: Any) -> Any:
        """Learn from the rows in an order; too few sweeps are meant."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = self.estimator(**self.settings, **settings)
            return model.fit(self.X[order], self.y[order])

    def score(self, model: Any) -> float:
        """Return the mean log predictive density of the new rows, in nats."""
        if isinstance(model, OnlineSVR):
            return float(model.log_predictive_density(self.new, self.y_new).mean())
        logs = model.predict_log_proba(self.new)
        return float(logs[np.arange(NEW), np.searchsorted(model.classes_, self.y_new)].mean())

    def moments(self, model: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances of the function at the new rows."""
        mean, variance = model._machines[0].moments(self.new)
        return mean, variance


def problems() -> Iterator[Problem]:
    """Yield a regression along a line and two classes in the plane."""
    silf = {"C": 10.0, "epsilon": 0.1, "beta": 0.3, "hyperparameters": {"eta": 0.5, "ls": 1.5}}
    X, y = sinc(ROWS, random_state=0)
    yield Problem("sinc, SILF", X, y, *sinc(NEW, random_state=1), OnlineSVR, silf)
    link = {"hyperparameters": {"eta": 2.0, "ls": 2.0}}
    X, y = two_gaussians(ROWS, 2, random_state=0)
    new = two_gaussians(NEW, 2, random_state=1)
    yield Problem("two Gaussians, trigonometric", X, y, *new, OnlineSVC, link)


def lines(problem: Problem) -> Iterator[str]:
    """Yield a line of the table for each bound and number of sweeps."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(ROWS) for _ in range(ORDERS)]
    whole = problem.fit(orders[0], max_basis=None, novelty=1e-8, n_sweeps=100)
    mean, variance = problem.moments(whole)
    for bound in BOUNDS:
        for n_sweeps in SWEEPS:
            settings = {"max_basis": bound, "n_sweeps": n_sweeps}
            models = [problem.fit(order, **settings) for order in orders]
            along = problem.fit(np.argsort(problem.X[:, 0]), **settings)
            evidence = [model.log_evidence_ for model in models]
            score = [problem.score(model) for model in models]
            off = [(problem.moments(model)[0] - mean) ** 2 / variance for model in models]
            size = np.mean([len(model.basis_vectors_) for model in models])
            sweeps = max(model.n_iter_ for model in models)
            shown = [
                problem.name,
                f"{size:.0f}",
                f"up to {sweeps}" if n_sweeps == SWEEPS[-1] else str(n_sweeps),
                f"{np.mean(evidence):.2f}",
                f"{np.std(evidence, ddof=1):.2f}",
                f"{np.mean(score):.4f}",
                f"{np.std(score, ddof=1):.4f}",
                f"{np.min(score):.4f}",
                f"{problem.score(along):.4f}",
                f"{np.sqrt(np.mean(off)):.2g}",
            ]
            yield f"| {' | '.join(shown)} |"


def main() -> None:
    """Learn in all orders and write the table."""
    used = machine("one BLAS thread", "numpy", "scipy", "scikit-learn")
    rule = "|---" + "|--:" * HEAD.count("|") + "|"
    table = [f"| {HEAD} |", rule]
    for problem in problems():
        table += lines(problem)
    REPORT.write_text(
        f"""# The order of the rows

Made by `benchmarks/online.py` on {used}.

`OnlineSVR` and `OnlineSVC` on {ROWS} rows in {ORDERS} random orders, at given hyperparameters. The
basis vectors are at most {BOUNDS[0]}, at most {BOUNDS[1]}, or as many as the default `novelty`
takes. The last number of sweeps is that at which all orders had converged to `tol=1e-6`. The log
evidence is in nats: after one sweep the sum of the log probabilities of the rows, each after those
before it, else the formula of expectation propagation. The log score is the mean log probability of
{NEW:,} new rows; its spread is that over the orders, and the lowest is that of the worst order. The
last but one column is the log score of the rows sorted by their first column. The distance is the
root mean square difference of the function's mean from that of expectation propagation on all
rows, in standard deviations of the latter.

"""
        + "\n".join(table)
        + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
