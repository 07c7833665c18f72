"""Are the posteriors calibrated? Ranks of true hyperparameters, and coverage of predictions.

Writes calibration.md and docs/figures/calibration.png. The simulation code is that of the tests.
Run it from the root of the project:

    python -m benchmarks.calibration [--simulations 200] [--data-sets 40]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor

import pymc_bsvm as bsvm
from benchmarks._machine import machine
from pymc_bsvm.inference.latent import latent_model
from pymc_bsvm.reporting.style import BLUE, GREEN, ORANGE
from tests.inference import simulation
from tests.inference.simulation import Posterior, Ranks, Simulations, rank_truths, simulate

REPORT = Path(__file__).with_suffix(".md")
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "calibration.png"

MODELS: dict[str, Callable[..., pm.Model]] = {
    "BSVR": simulation.regression_model,
    "BTSVC": simulation.classification_model,
}
ROUTES: dict[str, Callable[[Callable[..., pm.Model]], pm.Model]] = {
    "laplace": lambda build: build(),
    "ep": lambda build: build(approximation="ep"),
    "latent": lambda build: latent_model(build()),
}
STYLES = {"laplace": (ORANGE, ":"), "ep": (GREEN, "-"), "latent": (BLUE, "--")}

NOISES = ("gaussian", "silf", "student")
ROWS, NEW_ROWS = 100, 500

type Results = dict[str, dict[str, Ranks]]
"""By model and route."""


# ---- ranks ---------------------------------------------------------------------------------------


def rank_study(count: int) -> Results:
    """Rank the true hyperparameters by all routes, on the same simulated data."""
    results: Results = {}
    for name, build in MODELS.items():
        simulations = simulate(build(), count, seed=1)
        results[name] = {
            route: ranks_of(f"{name}, {route}", route_of(build), simulations)
            for route, route_of in ROUTES.items()
        }
    return results


def ranks_of(name: str, model: pm.Model, simulations: Simulations) -> Ranks:
    """Compile a model and sample its posterior for each of the simulated targets."""
    begin = time.perf_counter()
    posterior = Posterior(model, simulations.truth)
    print(f"{name}: compiled in {time.perf_counter() - begin:.0f} s", flush=True)
    ranks = rank_truths(posterior, simulations, seed=1000)
    print(f"{name}: sampled in {ranks.seconds:.0f} s", flush=True)
    return ranks


def rank_rows(results: Results) -> Iterator[str]:
    """Yield a row for each model, route and hyperparameter."""
    for model, routes in results.items():
        for route, ranks in routes.items():
            for name, values in ranks.values.items():
                numbers = [
                    simulation.mean_rank(values, ranks.levels),
                    simulation.coverage(values, ranks.levels, 0.5),
                    simulation.coverage(values, ranks.levels, 0.9),
                ]
                p_values = [
                    simulation.chi_square(values, ranks.levels),
                    simulation.ecdf_test(values, ranks.levels),
                ]
                cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in numbers]
                cells += [f"{p:.2g}" for p in p_values]
                yield table_row(model, route, name, *cells)


def paired_rows(results: Results) -> Iterator[str]:
    """Yield the mean difference of the routes' ranks of the same truths from the latent one's."""
    for model, routes in results.items():
        for route in ("laplace", "ep"):
            for name, values in routes[route].values.items():
                shift = (values - routes["latent"].values[name]) / (routes[route].levels + 1)
                error = shift.std(ddof=1) / np.sqrt(len(shift))
                mean = f"{shift.mean():+.3f} ± {error:.3f}"
                yield table_row(model, route, name, mean, f"{np.abs(shift).mean():.3f}")


def cost_rows(results: Results) -> Iterator[str]:
    """Yield the diagnostics of the samplers."""
    for model, routes in results.items():
        for route, ranks in routes.items():
            worst = np.min(list(ranks.ess.values()), axis=0)
            yield table_row(
                model,
                route,
                f"{ranks.leapfrogs:.0f}",
                f"{100 * ranks.divergent:.1f}",
                f"{np.median(worst):.0f}",
                f"{np.quantile(worst, 0.05):.0f}",
            )


def draw(results: Results) -> None:
    """Draw the differences of the ECDFs of the ranks, a panel for each hyperparameter."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    panels = [(model, name) for model, routes in results.items() for name in parameters(routes)]
    figure, axes = plt.subplots(
        2, 3, figsize=(8.4, 4.6), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (model, name) in zip(axes.flat, panels, strict=True):
        for route, ranks in results[model].items():
            draw_panel(ax, route, ranks, name)
        ax.set_title(f"{model}: {name}")
    for ax in axes[-1]:
        ax.set_xlabel("normalised rank")
    for ax in axes[:, 0]:
        ax.set_ylabel("ECDF - uniform")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.savefig(FIGURE, dpi=110, metadata={"Software": None})


def draw_panel(ax: plt.Axes, route: str, ranks: Ranks, name: str) -> None:
    """Draw one route's ranks of a hyperparameter, and the band once."""
    values = ranks.values[name]
    points, difference = simulation.ecdf_difference(values, ranks.levels)
    if not ax.lines:
        low, high = simulation.ecdf_band(len(values), ranks.levels)
        ax.fill_between(points, low, high, color="0.88", lw=0)
        ax.axhline(0.0, color="0.6", lw=0.8)
    colour, style = STYLES[route]
    ax.step(points, difference, style, where="post", color=colour, lw=1.4, label=route)


def parameters(routes: dict[str, Ranks]) -> list[str]:
    """Return the names of the hyperparameters of a model."""
    return list(routes["latent"].values)


# ---- predictive intervals ------------------------------------------------------------------------


class Intervals(NamedTuple):
    """Coverage of the central intervals of one fit, and their mean widths."""

    inside_50: float
    inside_90: float
    width_50: float
    width_90: float
    converged: bool


def silf_process(X: Any, y: Any) -> Any:
    """Register the evidence of BSVR and return the process."""
    gp = bsvm.gp.BSVR(cov_func=covariance())
    gp.marginal_likelihood(
        "y", X, y, C=pm.LogNormal("C", 2, 1), epsilon=pm.HalfNormal("epsilon", 0.3)
    )
    return gp


def gaussian_process(X: Any, y: Any) -> Any:
    """Register the evidence of a process with Gaussian noise and return the process."""
    gp = bsvm.gp.Laplace(cov_func=covariance())
    gp.marginal_likelihood("y", X, y, loss=bsvm.losses.Gaussian(pm.HalfNormal("sigma", 1)))
    return gp


def covariance() -> Any:
    """Return the covariance function of both, with its priors."""
    ls, eta = pm.InverseGamma("ls", 3, 5), pm.HalfNormal("eta", 1)
    return eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)


LIKELIHOODS = {"SILF": silf_process, "Gaussian": gaussian_process}


def intervals(likelihood: Callable[[Any, Any], Any], noise: Any, seed: int) -> Intervals:
    """Fit one data set and count the new noisy targets inside the predictive intervals."""
    X, y = bsvm.datasets.sinc(ROWS, noise, random_state=seed)
    X_new, y_new = bsvm.datasets.sinc(NEW_ROWS, noise, random_state=10_000 + seed)
    with pm.Model():
        gp = likelihood(X, y)
        fit = bsvm.fit_evidence(restarts=2, random_seed=seed, progressbar=False, check=False)
        targets = gp.predictive(X_new, point=fit.point)
    low_90, low_50, high_50, high_90 = targets.quantile(np.array([[0.05], [0.25], [0.75], [0.95]]))
    return Intervals(
        float(((low_50 < y_new) & (y_new < high_50)).mean()),
        float(((low_90 < y_new) & (y_new < high_90)).mean()),
        float((high_50 - low_50).mean()),
        float((high_90 - low_90).mean()),
        fit.converged,
    )


def coverage_rows(count: int) -> Iterator[str]:
    """Yield a row for each noise and likelihood."""
    for noise in NOISES:
        true_50, true_90 = widths_of_noise(noise)
        for name, likelihood in LIKELIHOODS.items():
            results = np.array([intervals(likelihood, noise, seed) for seed in range(count)])
            mean, error = results.mean(0), results.std(0, ddof=1) / np.sqrt(count)
            cells = [f"{100 * mean[k]:.1f} ± {100 * error[k]:.1f}" for k in (0, 1)]
            cells += [f"{mean[2]:.3f}", f"{true_50:.3f}", f"{mean[3]:.3f}", f"{true_90:.3f}"]
            cells.append(f"{count - results[:, 4].sum():.0f}")
            row = table_row(noise, name, *cells)
            print(row, flush=True)
            yield row


def widths_of_noise(noise: Any) -> tuple[float, float]:
    """Return the widths of the central intervals with 50 % and 90 % of the noise itself."""
    X, y = bsvm.datasets.sinc(1_000_000, noise, random_state=0)
    low_90, low_50, high_50, high_90 = np.quantile(
        y - np.sinc(X[:, 0] / np.pi), [0.05, 0.25, 0.75, 0.95]
    )
    return float(high_50 - low_50), float(high_90 - low_90)


# ---- report --------------------------------------------------------------------------------------


def main() -> None:
    """Run the benchmark and write the report and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--data-sets", type=int, default=40)
    arguments = parser.parse_args()
    logging.getLogger("pymc").setLevel(logging.ERROR)
    results = rank_study(arguments.simulations)
    draw(results)
    for row in (*rank_rows(results), *paired_rows(results), *cost_rows(results)):
        print(row, flush=True)
    # for fits of a hundred rows, compiling would take longer than it saves
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        coverage = list(coverage_rows(arguments.data_sets))
    report = TEMPLATE.format(
        machine=machine("one core, one BLAS thread", "numpy", "pymc", "pytensor", "nutpie"),
        simulations=arguments.simulations,
        data_sets=arguments.data_sets,
        rows=ROWS,
        new_rows=NEW_ROWS,
        ranks="\n".join(rank_rows(results)),
        paired="\n".join(paired_rows(results)),
        cost="\n".join(cost_rows(results)),
        coverage="\n".join(coverage),
    )
    REPORT.write_text(report)


def table_row(*cells: str) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |"


TEMPLATE = """\
# Are the posteriors calibrated?

Measured by `benchmarks/calibration.py` on {machine}.

## Ranks of true hyperparameters

Simulation-based calibration, [TBSVG18]: hyperparameters from the prior, data from the model at
them, posterior by NUTS, rank of the true value among 99 draws. The ranks are uniform if the
posterior is exact and the sampler works. {simulations} simulations for each model; all routes see
the same data.

BSVR has 20 rows and the hyperparameters ls ~ LogNormal(0, 0.4), eta ~ LogNormal(0, 0.4),
C ~ LogNormal(log 8, 0.5), epsilon ~ LogNormal(log 0.2, 0.5). BTSVC has 40 labels and the first two.
"laplace" and "ep" are NUTS on the model with the latent values integrated out by Laplace's method
and by expectation propagation, "latent" NUTS on `latent_model` of it. Each chain has 300 tuning
steps and 396 draws, of which every fourth counts; the sampler is nutpie on PyMC's compiled log
density.

Mean rank: normalised, with standard error; 1/2 if calibrated, less if the posterior is too high.
50 % and 90 %: how often the central interval holds the truth. The p-values are those of the
chi-square test with ten bins and of the largest deviation of the ECDF, [SBV22].

| model | route | parameter | mean rank | 50 % | 90 % | p, bins | p, ECDF |
|---|---|---|--:|--:|--:|--:|--:|
{ranks}

The same truths, ranked by two routes: mean of the normalised rank by the first minus that by
latent, and its mean absolute value, which has the noise of both chains in it.

| model | route | parameter | difference | absolute |
|---|---|---|--:|--:|
{paired}

The samplers: mean leapfrogs of a draw, divergences in percent, effective sample size of the worst
hyperparameter before thinning (median and 5 % quantile over simulations). What routes cost is in
routes.md.

| model | route | leapfrogs | divergent | ESS | ESS, 5 % |
|---|---|--:|--:|--:|--:|
{cost}

## Coverage of predictive intervals

Sinc data with {rows} rows, noise "gaussian", "silf" or "student" at the defaults of
`bsvm.datasets.sinc`; hyperparameters by `fit_evidence` with two starts; central intervals by
`gp.predictive(...).quantile` at {new_rows} new inputs, against new noisy targets. Means over
{data_sets} data sets, with standard errors; coverage is in percent. The widths of the same
intervals of the noise itself are beside the mean widths. The last column counts the fits that did
not converge.

| noise | likelihood | 50 % | 90 % | width of 50 % | of the noise | width of 90 % | of the noise \
| not converged |
|---|---|--:|--:|--:|--:|--:|--:|--:|
{coverage}

[TBSVG18] Talts, S., Betancourt, M., Simpson, D., Vehtari, A., Gelman, A. (2018). Validating
Bayesian inference algorithms with simulation-based calibration. arXiv:1804.06788.

[SBV22] Säilynoja, T., Bürkner, P.-C., Vehtari, A. (2022). Graphical test for discrete uniformity
and its applications in goodness-of-fit evaluation and multiple sample comparison. Statistics and
Computing 32.
"""


if __name__ == "__main__":
    main()
