"""Draw the figure of the page on the evidence: ``python docs/figures/evidence.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import pymc_bsvm as bsvm
from pymc_bsvm.reporting.style import BLUE, ORANGE

LOSS = bsvm.losses.SILF(C=10, epsilon=0.1, beta=0.3)
WIDE, NARROW = (0.4, 1.2), (0.8, 0.95)  # log length-scales


def main() -> None:
    """Write evidence.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    X, y = bsvm.datasets.sinc(100)
    figure, axes = plt.subplots(
        2, 2, figsize=(9.0, 4.6), layout="constrained", sharex="col", height_ratios=(2, 1)
    )
    for column, (low, high) in zip(axes.T, (WIDE, NARROW), strict=True):
        log_ls = np.linspace(low, high, 401)
        exact, smooth, free, rows = slices(X, y, log_ls)
        column[0].plot(log_ls, smooth, color=BLUE, lw=1.8, label='curvature="smooth"')
        column[0].plot(log_ls, exact, ".", color=ORANGE, ms=2.5, label='curvature="exact"')
        column[1].step(log_ls, free, color=ORANGE, lw=1.2, label="free support vectors")
        column[1].step(log_ls, rows, color=BLUE, lw=1.2, label="and rows inside a ramp")
        column[1].set(xlabel="log length-scale")
    axes[0, 0].axvspan(*NARROW, color="0.92", lw=0)
    axes[0, 0].set(title="100 points of sinc", ylabel="log evidence, nats")
    axes[0, 1].set(title="The grey part of it")
    axes[1, 0].set(ylabel="rows in the\ndeterminant")
    axes[0, 0].legend(frameon=False, markerscale=3, loc="lower left")
    axes[1, 0].legend(frameon=False, fontsize=8, ncols=2, loc="lower left")
    for ax in axes[1]:
        ax.set_ylim(bottom=15)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


def slices(X: np.ndarray, y: np.ndarray, log_ls: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return both evidences and the sizes of their determinants, along log length-scales."""
    squares, lines = (X - X.T) ** 2, []
    for ls in np.exp(log_ls):
        K = y.var() * np.exp(-0.5 * squares / ls**2)
        exact = bsvm.laplace_evidence(K, y, LOSS, "exact")
        smooth = bsvm.laplace_evidence(K, y, LOSS, "smooth")
        rows = np.count_nonzero(LOSS.smooth_curvature(y, smooth.solution.f) > 0.0)
        free = np.count_nonzero(exact.solution.free)
        lines.append((exact.log_evidence, smooth.log_evidence, free, rows))
    return tuple(np.transpose(lines))


if __name__ == "__main__":
    main()
