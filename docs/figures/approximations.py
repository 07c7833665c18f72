"""Draw the figure of the page on approximations: ``python docs/figures/approximations.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import pymc_bsvm as bsvm
from pymc_bsvm.diagnosis import annealed_evidence
from pymc_bsvm.reporting.style import BLACK, BLUE, ORANGE

SILF = bsvm.losses.SILF(C=8.0, epsilon=0.15, beta=0.3)


def main() -> None:
    """Write approximations.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    draw(axes[0], *labels(), "log amplitude", "40 labels of twonorm")
    draw(axes[1], *targets(), "log length-scale", "60 targets, Student noise that grows with x")
    axes[0].set(ylabel="log evidence, nats")
    axes[0].legend(frameon=False, loc="lower left")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


def labels():
    """Return the covariance along log amplitudes, the labels, and their likelihood."""
    X, y = bsvm.datasets.twonorm(40, random_state=1)
    correlation = np.exp(-0.5 * squares(X / X.std(axis=0)) / X.shape[1])
    signs = np.where(y == y.max(), 1.0, -1.0)

    def covariance(t: float) -> np.ndarray:
        return np.exp(2.0 * t) * correlation + 1.0

    return covariance, signs, bsvm.losses.Trigonometric(), np.linspace(-1.0, 3.4, 89)


def targets():
    """Return the covariance along log length-scales, the targets, and their likelihood."""
    rng = np.random.default_rng(4)
    x = np.sort(rng.uniform(0.0, 10.0, 60))
    y = np.sin(x) + (0.25 + 0.05 * x) * rng.standard_t(3, 60)
    y = (y - y.mean()) / y.std()

    def covariance(t: float) -> np.ndarray:
        return np.exp(-0.5 * squares(x[:, None]) * np.exp(-2.0 * t)) + 0.1

    return covariance, y, SILF, np.linspace(-0.4, 0.96, 241)


def squares(X: np.ndarray) -> np.ndarray:
    """Return the squared distances of rows."""
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def draw(ax, covariance, y, loss, grid, xlabel: str, title: str) -> None:
    """Draw the three evidences along a grid."""
    evidences = {
        "Laplace": (BLUE, bsvm.laplace_evidence),
        "expectation propagation": (ORANGE, bsvm.ep_evidence),
    }
    for name, (color, evidence) in evidences.items():
        values = [evidence(covariance(t), y, loss).log_evidence for t in grid]
        ax.plot(grid, values, color=color, lw=1.6, label=name)
    few = grid[:: (grid.size - 1) // 8]
    exact = [
        annealed_evidence(covariance(t), y, loss, random_seed=k, progressbar=False)
        for k, t in enumerate(few)
    ]
    ax.errorbar(
        few,
        [e.log_evidence for e in exact],
        [2.0 * e.standard_error for e in exact],
        fmt="o",
        color=BLACK,
        ms=3.5,
        lw=1.0,
        label="annealing, ± 2 standard errors",
    )
    ax.set(xlabel=xlabel, title=title)


if __name__ == "__main__":
    main()
