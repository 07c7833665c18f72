"""Draw the classification figure of the page on models: ``python docs/figures/btsvc.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from pymc_bsvm.reporting.style import PROBABILITY, draw_classes

LEVELS = (0.1, 0.5, 0.9)


def main() -> None:
    """Write btsvc.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    X, labels = bsvm.datasets.two_gaussians(150, dim=2, random_state=2)
    u, v = np.meshgrid(np.linspace(-7, 7, 161), np.linspace(-5, 5, 121))
    grid = np.column_stack([u.ravel(), v.ravel()])
    with pm.Model():
        ls = pm.InverseGamma("ls", 3, 6, shape=2)
        eta = pm.HalfNormal("eta", 5)
        gp = bsvm.gp.BTSVC(cov_func=eta**2 * pm.gp.cov.ExpQuad(2, ls=ls))
        gp.marginal_likelihood("y", X=X, y=labels)
        point = pm.find_MAP(progressbar=False, compile_kwargs={"mode": "FAST_COMPILE"})
        p = gp.predict_proba(grid, point=point).reshape(u.shape)
        vectors = gp.support_vectors(point)
    exact = bsvm.datasets.two_gaussians_probability(grid).reshape(u.shape)

    figure, ax = plt.subplots(figsize=(6.6, 4.8), layout="constrained")
    colours = ax.contourf(u, v, p, np.linspace(0, 1, 21), cmap=PROBABILITY, alpha=0.75)
    lines = ax.contour(u, v, p, LEVELS, colors="black", linewidths=1.2)
    ax.clabel(lines, fontsize=8)
    ax.contour(u, v, exact, (0.5,), colors="black", linestyles=":", linewidths=1.5)
    support = np.isin(np.arange(labels.size), vectors.index)
    draw_classes(ax, X, labels == 1, support)
    ax.plot([], [], "k:", lw=1.5, label="P = 0.5 of the true densities")
    ax.set(xlabel="x1", ylabel="x2", xlim=(-7, 7), ylim=(-5, 5))
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=3)
    figure.colorbar(colours, ticks=np.linspace(0, 1, 6), label="P(y = 1)")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
