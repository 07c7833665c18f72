"""Draw the gallery of the page on inference: ``python docs/figures/gallery.py``."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several threads make small matrices slower

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor

import pymc_bsvm as bsvm
from pymc_bsvm import reporting
from pymc_bsvm.reporting.style import BLUE, GREEN, ORANGE, PURPLE

QUIET = {"progressbar": False, "random_seed": 1}
COLOURS = [BLUE, ORANGE, GREEN, PURPLE]


def main() -> None:
    """Write gallery.png beside this script."""
    plt.rcParams.update(
        {
            "font.size": 8,
            "axes.spines.top": False,
            "axes.prop_cycle": plt.cycler(color=COLOURS),
        }
    )
    figure = plt.figure(figsize=(8.4, 9.6), layout="constrained")
    axes = figure.subplot_mosaic("AABB;CCDD;EEFF", height_ratios=[1.2, 1.0, 0.9])
    regression(axes["A"], axes["C"], [axes["E"], axes["F"]])
    # for one fit of some hundred rows, compiling would take longer than it saves
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        classification(axes["B"])
        relevance(axes["D"])
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110, metadata={"Software": None})


def regression(band: plt.Axes, profile: plt.Axes, marginals: list[plt.Axes]) -> None:
    """Draw a band, the evidence along the length-scale, and two marginals."""
    noise = {"C": 20, "epsilon": 0.2, "outliers": 0.05, "outlier_scale": 1.5}
    X, y = bsvm.datasets.sinc(100, random_state=3, **noise)
    with pm.Model():
        ls = pm.InverseGamma("ls", 3, 5)
        eta = pm.HalfNormal("eta", 1)
        C = pm.LogNormal("C", 2, 1)
        epsilon = pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon)
        fit = bsvm.fit_evidence(restarts=3, hessian=True, **QUIET)
        draws = pm.sample(**QUIET)
        reporting.plot_regression_band(gp, fit.point, ax=band)
    band.set_title("plot_regression_band")
    reporting.plot_evidence_profile(fit, "ls", span=0.6, points=241, ax=profile)
    profile.set_title("plot_evidence_profile")
    routes = {"evidence, with its Gaussian": fit, "NUTS": draws}
    reporting.plot_marginals(routes, var_names=["ls", "epsilon"], ax=marginals)
    marginals[0].set_title("plot_marginals")


def classification(ax: plt.Axes) -> None:
    """Draw class probabilities."""
    X, labels = bsvm.datasets.two_gaussians(120, dim=2)
    with pm.Model():
        ls = pm.InverseGamma("ls", 3, 5)
        eta = pm.HalfNormal("eta", 5)
        gp = bsvm.gp.BTSVC(cov_func=eta**2 * pm.gp.cov.ExpQuad(2, ls=ls))
        gp.marginal_likelihood("y", X=X, y=labels)
        fit = bsvm.fit_evidence(**QUIET)
        reporting.plot_class_map(gp, fit.point, ax=ax)
    ax.set_title("plot_class_map")


def relevance(ax: plt.Axes) -> None:
    """Draw the relevance of the inputs of a robot arm, of which two say nothing."""
    X, y = bsvm.datasets.robot_arm(150, inputs=6)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    names = ["x1", "x2", "x1 + noise", "x2 + noise", "noise 1", "noise 2"]
    with pm.Model(coords={"input": names}):
        ls = pm.InverseGamma("ls", 2, 4, dims="input")
        cov = 4.0 * pm.gp.cov.ExpQuad(6, ls=ls)
        gp = bsvm.gp.BSVR(cov_func=cov)
        C = pm.LogNormal("C", 3, 1)
        gp.marginal_likelihood("y", X=X, y=y[:, 0] - np.mean(y[:, 0]), C=C, epsilon=0.05)
        fit = bsvm.fit_evidence(**QUIET)
    reporting.plot_relevance(fit, ax=ax)
    ax.set_title("plot_relevance")


if __name__ == "__main__":
    main()
