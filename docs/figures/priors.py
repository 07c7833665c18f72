"""Draw the figure of the page on priors: ``python docs/figures/priors.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from pymc_bsvm.reporting.style import BLUE, GREEN, GREY, ORANGE

SHOWN, SIMULATED, SEED = 5, 1000, 20


def main() -> None:
    """Write priors.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(2, 2, figsize=(10.0, 6.2), layout="constrained")
    X, y = bsvm.datasets.sinc(150, outliers=0.05)
    functions, targets = simulated(X, y)
    lines(axes[0, 0], X, y, functions)
    spreads(axes[0, 1], y, targets)
    X, y = bsvm.datasets.two_gaussians(100)
    functions, _ = simulated(X, y)
    chances = np.sin(0.25 * np.pi * (1 + np.clip(functions, -1, 1))) ** 2
    probabilities(axes[1, 0], X, y, chances)
    shares(axes[1, 1], chances)
    path = Path(__file__).with_suffix(".png")
    figure.savefig(path, dpi=130, metadata={"Software": None})


def simulated(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of the function, and of targets, at the inputs from the priors for (X, y)."""
    with pm.Model():
        p = bsvm.default_priors(X, y)
        names = ("eta", "ls", "C", "epsilon") if p.task == "regression" else ("eta", "ls")
        drawn = pm.draw([getattr(p, name) for name in names], SIMULATED, random_seed=SEED)
    rng = np.random.default_rng(SEED)
    functions, targets = [], []
    squares = (X - X.T) ** 2
    for eta, ls, *noise in zip(*drawn, strict=True):
        K = np.exp(-0.5 * squares / ls**2) + 1e-8 * np.eye(len(X))
        functions.append(p.centre + eta * np.linalg.cholesky(K) @ rng.normal(size=len(X)))
        if noise:
            loss = bsvm.losses.SILF(*noise, p.beta)
            targets.append(functions[-1] + loss.draw(rng, (len(X),)))
    return np.array(functions), np.array(targets)


def lines(ax: plt.Axes, X: np.ndarray, y: np.ndarray, functions: np.ndarray) -> None:
    """Show functions of the prior behind the data."""
    order = np.argsort(X[:, 0])
    ax.plot(X[order], functions[:SHOWN, order].T, color=ORANGE, lw=1.2, alpha=0.7)
    ax.plot([], [], color=ORANGE, lw=1.2, label=f"{SHOWN} functions of the prior")
    ax.plot(X, y, ".", color=BLUE, ms=4, label="data, 5 % outliers")
    ax.set(title="Sinc: functions", xlabel="x", ylabel="y", ylim=(-2.6, 3.6))
    ax.legend(frameon=False, loc="upper right", ncols=2)


def spreads(ax: plt.Axes, y: np.ndarray, targets: np.ndarray) -> None:
    """Compare the spread of simulated targets with that of the data."""
    ratio = spread(targets) / spread(y)
    low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
    ax.hist(np.log10(ratio), bins=np.linspace(-1.2, 1.6, 29), color=GREEN, density=True)
    ax.axvline(0.0, color=BLUE, lw=1.5, label="data")
    said = f"5 %: {low:.2f}\nmedian: {middle:.2f}\n95 %: {high:.2f}"
    ax.text(0.02, 0.95, said, transform=ax.transAxes, va="top")
    ticks = [-1, -0.5, 0, 0.5, 1]
    ax.set_xticks(ticks, [f"{10**t:.2g}" for t in ticks])
    ax.set(title="Sinc: spread of simulated targets", xlabel="times that of the data")
    ax.set_ylabel("density of the logarithm")
    ax.legend(frameon=False, loc="upper right")


def spread(y: np.ndarray) -> np.ndarray:
    """Return the median absolute deviation from the median, along the last axis."""
    return np.median(np.abs(y - np.median(y, axis=-1, keepdims=True)), axis=-1)


def probabilities(ax: plt.Axes, X: np.ndarray, y: np.ndarray, chances: np.ndarray) -> None:
    """Show probabilities of the prior above the labels."""
    order = np.argsort(X[:, 0])
    ax.plot(X[order], chances[:SHOWN, order].T, color=ORANGE, lw=1.2, alpha=0.7)
    ax.plot([], [], color=ORANGE, lw=1.2, label=f"{SHOWN} functions of the prior")
    for label, colour, height in ((0, GREY, -0.06), (1, BLUE, 1.06)):
        ax.plot(X[y == label], np.full((y == label).sum(), height), "|", color=colour, ms=7)
        ax.plot([], [], "|", color=colour, ms=7, label=f"label {label}")
    ax.set(title="Two Gaussians: probabilities", xlabel="x", ylabel="P(y = 1)", ylim=(-0.12, 1.35))
    ax.set_yticks([0, 0.5, 1])
    ax.legend(frameon=False, loc="upper right", ncols=3)


def shares(ax: plt.Axes, chances: np.ndarray) -> None:
    """Show which probabilities the prior expects at one row."""
    sure = np.mean((chances < 0.01) | (chances > 0.99))
    open_ = np.mean((chances > 0.1) & (chances < 0.9))
    ax.hist(chances.ravel(), bins=np.linspace(0, 1, 21), color=GREEN, density=True)
    said = f"beyond 0.01 or 0.99: {sure:.0%}\nfrom 0.1 to 0.9: {open_:.0%}"
    ax.text(0.5, 0.7, said, transform=ax.transAxes, ha="center")
    ax.axhline(1.0, color=BLUE, lw=1.5, label="uniform")
    ax.set(title="Two Gaussians: probability of a row", xlabel="P(y = 1)", ylabel="density")
    ax.legend(frameon=False, loc="upper center")


if __name__ == "__main__":
    main()
