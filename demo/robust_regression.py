"""Robust regression: SILF against a Normal likelihood, on a line and on a latent process.

Run with ``python demo/robust_regression.py``; the figures go to demo/output.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several threads make small matrices slower

import logging
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm

ROOT = Path(__file__).parent
COLOURS = {"SILF": "#0072B2", "Normal": "#D55E00"}  # told apart with any colour vision
INTERCEPT, SLOPE, NOISE = 1.0, 2.0, 0.3
LENGTH_SCALE_PRIOR = {"mu": 1.0, "sigma": 0.4}  # of the logarithm


def main() -> None:
    """Fit the four models, print the report and draw the figures."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    begin = time.perf_counter()
    output = ROOT / "output"
    output.mkdir(exist_ok=True)
    print("Robust regression with PyMC: what outliers do to two likelihoods")
    print("(posterior mean ± sd; the noise of both has to account for the outliers as well)\n")
    paths = [line(output), process(output)]
    print("Figures: " + ", ".join(str(path.relative_to(ROOT.parent)) for path in paths))
    print(f"Finished in {time.perf_counter() - begin:.0f} seconds.")


# ---- a line -------------------------------------------------------------------------------------


def line_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, y and which of the 100 points are outliers."""
    rng = np.random.default_rng(7)
    x = np.sort(rng.uniform(0.0, 1.0, 100))
    y = INTERCEPT + SLOPE * x + NOISE * rng.standard_normal(x.size)
    spoiled = np.zeros(x.size, dtype=bool)
    spoiled[rng.choice(np.flatnonzero(x > 0.7), 8, replace=False)] = True
    y[spoiled] -= rng.uniform(4.0, 8.0, spoiled.sum())
    return x, y, spoiled


def line_model(x: np.ndarray, y: np.ndarray, likelihood: str) -> pm.Model:
    """Build a straight line with one of the two likelihoods."""
    with pm.Model() as model:
        mu = pm.Normal("intercept", 0, 5) + pm.Normal("slope", 0, 5) * x
        add_likelihood(likelihood, mu, y)
    return model


def add_likelihood(likelihood: str, mu: object, y: np.ndarray) -> None:
    """Register the likelihood, with priors of its own parameters, in the current model."""
    if likelihood == "SILF":
        C = pm.LogNormal("C", 1.5, 1.0)
        epsilon = pm.HalfNormal("epsilon", 0.5)
        bsvm.SILF("y", mu=mu, C=C, epsilon=epsilon, observed=y)
    else:
        pm.Normal("y", mu=mu, sigma=pm.HalfNormal("sigma", 2.0), observed=y)


def line(output: Path) -> Path:
    """Report and draw the line."""
    x, y, spoiled = line_data()
    truth = INTERCEPT + SLOPE * x
    print(f"1. A line, {x.size} points, {spoiled.sum()} of them outliers")
    print(f"   truth: intercept {INTERCEPT:g}, slope {SLOPE:g}, noise sd {NOISE:g}")
    figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    scatter(ax, x, y, spoiled)
    ax.plot(x, truth, "k:", label="truth")
    for likelihood, colour in COLOURS.items():
        idata = sample(line_model(x, y, likelihood))
        posterior = az.extract(idata)
        lines = posterior["intercept"].values + posterior["slope"].values * x[:, None]
        report(likelihood, idata, ("intercept", "slope"), rmse(lines.mean(axis=1), truth))
        band(ax, x, lines, colour, likelihood)
    ax.set(xlabel="x", ylabel="y", title="A line with outliers: posterior mean and 94 % interval")
    ax.legend(frameon=False)
    return save(figure, output / "line.png")


# ---- a latent process ---------------------------------------------------------------------------


def process_model(X: np.ndarray, y: np.ndarray, likelihood: str) -> pm.Model:
    """Build a latent Gaussian process with one of the two likelihoods."""
    with pm.Model() as model:
        amplitude = pm.HalfNormal("amplitude", 1.0)
        ls = pm.LogNormal("length_scale", **LENGTH_SCALE_PRIOR)
        f = pm.gp.Latent(cov_func=amplitude**2 * pm.gp.cov.ExpQuad(1, ls=ls)).prior("f", X)
        add_likelihood(likelihood, f, y)
    return model


def process(output: Path) -> Path:
    """Report and draw the latent process."""
    settings = {"noise": "gaussian", "sigma": 0.1, "outlier_scale": 2.0}
    X, clean = bsvm.datasets.sinc(70, **settings)
    _, y = bsvm.datasets.sinc(70, outliers=0.1, **settings)
    order = np.argsort(X[:, 0])
    X, y, spoiled = X[order], y[order], (y != clean)[order]
    x = X[:, 0]
    truth = np.sinc(x / np.pi)
    print(f"2. A latent process, {x.size} points of sin(x) / x, {spoiled.sum()} of them outliers")
    print(f"   truth: noise sd {settings['sigma']:g}")
    figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    scatter(ax, x, y, spoiled)
    ax.plot(x, truth, "k:", label="truth")
    for likelihood, colour in COLOURS.items():
        idata = sample(process_model(X, y, likelihood))
        curves = az.extract(idata)["f"].transpose(..., "sample").values
        report(likelihood, idata, ("length_scale",), rmse(curves.mean(axis=1), truth))
        band(ax, x, curves, colour, likelihood)
    ax.set(xlabel="x", ylabel="y", title="sinc with outliers: posterior mean and 94 % interval")
    ax.legend(frameon=False)
    return save(figure, output / "latent_process.png")


# ---- what both share ----------------------------------------------------------------------------


def sample(model: pm.Model) -> object:
    """Run two chains of NUTS, one after the other."""
    with model:
        return pm.sample(
            500,
            tune=500,
            chains=2,
            cores=1,
            nuts_sampler="pymc",
            nuts={"target_accept": 0.9},
            random_seed=1,
            progressbar=False,
            quiet=True,
        )


def report(likelihood: str, idata: object, names: tuple[str, ...], error: float) -> None:
    """Print the posterior of some parameters and of the noise, and the diagnostics."""
    draws = az.extract(idata)
    if likelihood == "SILF":
        C, epsilon = draws["C"].values, draws["epsilon"].values
        noise = np.array(
            [bsvm.losses.SILF(*p).variance() ** 0.5 for p in zip(C, epsilon, strict=True)]
        )
    else:
        noise = draws["sigma"].values
    cells = {**{name: draws[name].values for name in names}, "noise sd": noise}
    text = ", ".join(f"{name} {v.mean():.2f} ± {v.std():.2f}" for name, v in cells.items())
    r_hat = max(float(value.max()) for value in az.rhat(idata).data_vars.values())
    divergent = int(idata["sample_stats"]["diverging"].sum())
    print(f"   {likelihood:<7} {text}")
    print(
        f"           RMSE to the truth {error:.3f}; R-hat <= {r_hat:.3f}, {divergent} divergences"
    )


def rmse(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((estimate - truth) ** 2)))


def scatter(ax: plt.Axes, x: np.ndarray, y: np.ndarray, spoiled: np.ndarray) -> None:
    """Draw the data, outliers as crosses."""
    ax.plot(x[~spoiled], y[~spoiled], "o", color="0.6", ms=3.5, label="data")
    ax.plot(x[spoiled], y[spoiled], "x", color="0.3", ms=6, label="outliers")


def band(ax: plt.Axes, x: np.ndarray, draws: np.ndarray, colour: str, label: str) -> None:
    """Draw a posterior mean and its central 94 % interval."""
    low, high = np.quantile(draws, [0.03, 0.97], axis=1)
    ax.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
    ax.plot(x, draws.mean(axis=1), color=colour, label=label)


def save(figure: plt.Figure, path: Path) -> Path:
    """Write the figure and close it."""
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print()
    return path


if __name__ == "__main__":
    main()
