"""Draw the figure on relevance vector machines: ``python docs/figures/relevance.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from pymc_bsvm.estimators import RelevanceVectorRegressor
from pymc_bsvm.reporting.style import BLACK, BLUE, FREE

TITLES = {"relevance": 'variance="relevance"', "full": 'variance="full"'}


def main() -> None:
    """Write relevance.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.5), sharey=True, layout="constrained")
    rng = np.random.default_rng(4)
    x = np.linspace(0.0, 1.0, 10)
    y = np.sin(2.0 * np.pi * x) + 0.3 * rng.normal(size=x.size)
    for ax, variance in zip(axes, TITLES, strict=True):
        draw(ax, x, y, variance)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=3)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


def draw(ax: plt.Axes, x: np.ndarray, y: np.ndarray, variance: str) -> None:
    """Show the fit with one standard deviation of the targets."""
    model = RelevanceVectorRegressor(
        hyperparameters={"ls": 0.16}, variance=variance, standardize=False
    ).fit(x[:, None], y)
    new = np.linspace(-0.7, 1.7, 481)
    mean, std = model.predict(new[:, None], return_std=True)
    ax.fill_between(new, mean - std, mean + std, color=BLUE, alpha=0.2, lw=0)
    ax.plot(new, np.sin(2.0 * np.pi * new), ":", color=BLACK, lw=1.0, label="truth")
    ax.plot(new, mean, color=BLUE, lw=1.8, label="mean, ± one std")
    ax.plot(x, y, ".", color=BLACK, ms=5)
    chosen = model.relevance_
    ax.plot(x[chosen], y[chosen], "o", mfc="none", color=FREE, ms=10, label="relevance vectors")
    ax.set(title=TITLES[variance], xlabel="x", xlim=(-0.7, 1.7), ylim=(-2.1, 2.1))


if __name__ == "__main__":
    main()
