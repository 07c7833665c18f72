"""Draw the regression figure of the page on models: ``python docs/figures/bsvr.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from pymc_bsvm.reporting.style import BLUE, BOUND, FREE, GREY


def main() -> None:
    """Write bsvr.png beside this script."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    X, y = bsvm.datasets.sinc(120, C=20, epsilon=0.2, outliers=0.05, outlier_scale=1.5)
    x_new = np.linspace(-10.5, 10.5, 401)
    with pm.Model():
        ls = pm.InverseGamma("ls", 3, 5)
        eta = pm.HalfNormal("eta", 1)
        C = pm.LogNormal("C", 2, 1)
        epsilon = pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, beta=0.3)
        point = pm.find_MAP(progressbar=False, compile_kwargs={"mode": "FAST_COMPILE"})
        targets = gp.predictive(x_new[:, None], point=point)
        vectors = gp.support_vectors(point)

    figure, ax = plt.subplots(figsize=(8.0, 3.8), layout="constrained")
    low, high = targets.quantile(0.05), targets.quantile(0.95)
    mean, tube = targets.mean, float(point["epsilon"])
    ax.fill_between(x_new, low, high, color=BLUE, alpha=0.15, lw=0, label="90 % of new targets")
    ax.plot(x_new, mean, color=BLUE, lw=1.8, label="mean")
    ax.plot(x_new, mean + tube, "--", color=BLUE, lw=0.8, label="tube, mean ± ε")
    ax.plot(x_new, mean - tube, "--", color=BLUE, lw=0.8)
    ax.plot(x_new, np.sinc(x_new / np.pi), ":", color="black", lw=1.2, label="truth")

    others = np.setdiff1d(np.arange(y.size), vectors.index)
    free, bound = vectors.index[vectors.free], vectors.index[vectors.bound]
    ax.plot(X[others], y[others], "o", color=GREY, ms=3, label=f"no support vector: {others.size}")
    ax.plot(X[free], y[free], "o", color=FREE, ms=4.5, label=f"free: {free.size}")
    ax.plot(X[bound], y[bound], "x", color=BOUND, ms=5.5, mew=1.5, label=f"bound: {bound.size}")
    ax.set(xlabel="x", ylabel="y", xlim=(-10.5, 10.5))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
