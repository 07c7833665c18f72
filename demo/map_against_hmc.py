"""The mode of the evidence against HMC over all latent values."""

import time

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import xarray as xr

import pymc_bsvm as bsvm
from demo.report import Section
from pymc_bsvm.diagnosis import verdict
from pymc_bsvm.inference import EvidenceFit
from pymc_bsvm.inference.latent import latent_model
from pymc_bsvm.inference.posteriors import compare_posteriors
from pymc_bsvm.reporting import plot_marginals
from pymc_bsvm.reporting.style import legend_below

__all__ = ["map_against_hmc"]

NOISE = {"C": 10, "epsilon": 0.2}
NAMES = ["ls", "eta", "C", "epsilon"]
QUIET = {"random_seed": 1, "progressbar": False}
SAMPLING = {
    "draws": 750,
    "tune": 500,
    "chains": 2,
    "nuts_sampler": "pymc",
    "compile_kwargs": {"mode": "NUMBA"},  # here compiling pays: each draw takes many gradients
    "quiet": True,
}


def map_against_hmc() -> Section:
    """Fit one model both ways, and ask for the verdict on Laplace's method."""
    X, y = bsvm.datasets.sinc(60, random_state=3, **NOISE)
    X_new, y_new = bsvm.datasets.sinc(100, random_state=20, **NOISE)
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3, 5)
        eta = pm.HalfNormal("eta", 1)
        C = pm.LogNormal("C", 2, 1)
        epsilon = pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon)

    begin = time.perf_counter()
    fit = bsvm.fit_evidence(model, restarts=2, hessian=True, **QUIET)
    seconds = {"MAP": time.perf_counter() - begin}
    said = verdict(fit, Xnew=X_new, **QUIET)
    begin = time.perf_counter()
    with latent_model(model):
        hmc = pm.sample(**SAMPLING, **QUIET)
    seconds["HMC"] = time.perf_counter() - begin
    with latent_model(model, new={"y_new": X_new}):
        drawn = pm.sample_posterior_predictive(hmc, var_names=["y_new"], **QUIET)
    draws = drawn["posterior_predictive"]["y_new"].stack(sample=("chain", "draw")).to_numpy()

    targets = gp.predictive(X_new, fit.point, model=model)
    bands = {
        "MAP": [targets.quantile(0.05), targets.mean, targets.quantile(0.95)],
        "HMC": [
            np.quantile(draws, 0.05, axis=1),
            draws.mean(axis=1),
            np.quantile(draws, 0.95, axis=1),
        ],
    }
    rmse = {name: np.sqrt(np.mean((y_new - mean) ** 2)) for name, (_, mean, _) in bands.items()}
    held = {
        name: np.mean((low <= y_new) & (y_new <= high)) for name, (low, _, high) in bands.items()
    }
    r_hat = az.summary(hmc, var_names=NAMES, kind="diagnostics", round_to="none")["r_hat"]
    divergences = int(hmc["sample_stats"]["diverging"].sum())
    table = compare_posteriors({"MAP": fit, "HMC": hmc}, var_names=NAMES).table
    wide = table[["mean", "sd"]].unstack("route").loc[NAMES]
    wide.columns = [f"{route}, {what}" for what, route in wide.columns]
    wide["shift"] = table.xs("MAP", level="route")["shift"]
    return Section(
        title="Evidence against HMC",
        question="A fit by evidence takes seconds. What is lost against HMC, and how would we know "
        "without running it?",
        setting=f"One model, {y.size} rows. MAP: the mode of the evidence, with a Gaussian around "
        "it; the latent values are integrated out by Laplace's method. HMC: PyMC's NUTS on the "
        f"hyperparameters and all {y.size} latent values, without Laplace's method. The verdict "
        "compares the evidence at the mode with an unbiased estimate, without HMC.",
        findings=[
            f"Verdict: {said.sentence}",
            f"MAP took {seconds['MAP']:.0f} s, two chains of HMC {seconds['HMC']:.0f} s, both with "
            "what is compiled or loaded for them; R-hat "
            f"is at most {r_hat.astype(float).max():.2f}, with {divergences} divergences.",
            f"Largest shift of a hyperparameter's mean: {wide['shift'].abs().max():.2f} standard "
            f"deviations ({wide['shift'].abs().idxmax()}).",
            f"RMSE to {y_new.size} new targets: {rmse['MAP']:.3f} by MAP, {rmse['HMC']:.3f} by "
            f"HMC; the 90 % bands hold {held['MAP']:.0%} and {held['HMC']:.0%} of them.",
        ],
        table=wide,
        caption="Hyperparameters. Shift: the mean of MAP's Gaussian less that of HMC, in standard "
        "deviations of HMC.",
        figures={
            "hyperparameters": (
                draw_marginals(fit, hmc),
                "Hyperparameters: the Gaussian around the mode (dashed line) and HMC. The "
                "Gaussian is on the logarithm of each.",
            ),
            "predictions": (
                draw_bands(X, y, X_new[:, 0], bands),
                "Means and 90 % bands of new targets, by both routes.",
            ),
        },
    )


def draw_marginals(fit: EvidenceFit, hmc: xr.DataTree) -> plt.Figure:
    """Draw the posteriors of the hyperparameters."""
    figure, axes = plt.subplots(1, 4, figsize=(9.5, 3), layout="constrained")
    plot_marginals({"MAP": fit, "HMC": hmc}, var_names=NAMES, ax=axes)
    for ax, name in zip(axes, NAMES, strict=True):
        ax.set_xlim(0, 1.5 * np.quantile(hmc["posterior"][name], 0.99))
    return figure


def draw_bands(X: np.ndarray, y: np.ndarray, x: np.ndarray, bands: dict) -> plt.Figure:
    """Draw means and bands of both routes over the data."""
    figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    order = np.argsort(x)
    for (name, curves), colour in zip(bands.items(), ("C0", "C1"), strict=True):
        for curve, style in zip(curves, ("--", "-", "--"), strict=True):
            label = f"{name}, mean" if style == "-" else None
            ax.plot(x[order], curve[order], style, color=colour, lw=1.2, label=label)
    ax.plot(X, y, ".", color="0.5", label="data")
    ax.set(xlabel="x", ylabel="y")
    legend_below(ax)
    return figure
