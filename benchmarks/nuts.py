"""NUTS on the evidence, smooth and exact, beside NUTS on all latent values; writes nuts.md.

OPENBLAS_NUM_THREADS=1 python benchmarks/nuts.py [--n 200] [--draws 500]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
from pymc.blocking import DictToArrayBijection

import pymc_bsvm as bsvm
from benchmarks._machine import machine

REPORT = Path(__file__).with_suffix(".md")


def hyperparameters(y: Any, beta: float) -> tuple[Any, Any, dict[str, Any]]:
    """Return the covariance function, its constant part, and the loss, with their priors."""
    ls = pm.InverseGamma("ls", 3, 1)
    background = pm.LogNormal("background", 0, 2)
    C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
    cov = y.var() * pm.gp.cov.ExpQuad(1, ls=ls) + pm.gp.cov.Constant(background)
    return cov, background, {"C": C, "epsilon": epsilon, "beta": beta}


def on_evidence(n: int, beta: float, curvature: str) -> pm.Model:
    """Return the model with the latent values integrated out."""
    X, y = data(n)
    with pm.Model() as model:
        cov, _, loss = hyperparameters(y, beta)
        gp = bsvm.gp.BSVR(cov_func=cov)
        gp.marginal_likelihood("y", X=X, y=y, curvature=curvature, **loss)
    return model


def on_latents(n: int, beta: float) -> pm.Model:
    """Return the model with all its latent values."""
    X, y = data(n)
    with pm.Model() as model:
        cov, _, loss = hyperparameters(y, beta)
        f = pm.gp.Latent(cov_func=cov).prior("f", X=X)
        bsvm.SILF("y", mu=f, observed=y, **loss)
    return model


def data(n: int) -> tuple[Any, Any]:
    """Return standardised sinc data."""
    x, y = bsvm.datasets.sinc(n, noise="silf", random_state=0)
    x = np.reshape(x, (n, 1))
    return (x - x.mean()) / x.std(), y


def gradient_time(model: pm.Model) -> float:
    """Return the milliseconds of one log probability and gradient at the starting point."""
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    x = DictToArrayBijection.map(model.initial_point())
    function(x)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        function(x)
        times.append(1e3 * (time.perf_counter() - start))
    return float(np.median(times))


def run(name: str, model: pm.Model, sampler: str, draws: int) -> str:
    """Sample two chains and return a row of the table."""
    gradient = gradient_time(model)
    with model:
        start = time.perf_counter()
        idata = pm.sample(
            draws=draws,
            tune=draws,
            chains=2,
            cores=2,
            random_seed=1,
            nuts_sampler=sampler,
            progressbar=False,
        )
        wall = time.perf_counter() - start
    names = ["ls", "background", "C", "epsilon"]
    summary = az.summary(idata, var_names=names, round_to="none")
    stats = idata["sample_stats"].dataset
    seconds = idata["posterior"].attrs.get("sampling_time", wall)
    ess = float(summary["ess_bulk"].min())
    row = (
        f"| {name} | {sampler} | {draws} | {float(stats['n_steps'].mean()):.1f} | "
        f"{100 * float(stats['diverging'].mean()):.1f} | {float(summary['r_hat'].max()):.3f} | "
        f"{ess:.0f} | {gradient:.2f} | {wall:.0f} | {ess / wall:.1f} | "
        + " | ".join(f"{float(summary.loc[k, 'mean']):.3g}" for k in names)
        + " |"
    )
    print(row, f"sampling {seconds:.1f} s", flush=True)
    return row


def main() -> None:
    """Run the benchmark and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--draws", type=int, default=500)
    arguments = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    n, draws = arguments.n, arguments.draws
    rows = []
    for width in (0.25, 0.5, 1.0):
        bsvm.losses.SILF.ramp_width = width
        model = on_evidence(n, 0.3, "smooth")
        rows.append(run(f"evidence, smooth, w = {width}", model, "pymc", draws))
    smooth = on_evidence(n, 0.3, "smooth")
    rows.append(run("evidence, smooth, w = 1", smooth, "nutpie", draws))
    rows.append(run("evidence, smooth, beta = 0.1", on_evidence(n, 0.1, "smooth"), "pymc", draws))
    rows.append(run("evidence, exact", on_evidence(n, 0.3, "exact"), "pymc", draws // 5))
    rows.append(run("all latent values", on_latents(n, 0.3), "pymc", draws // 5))
    rows.append(run("all latent values", on_latents(n, 0.3), "nutpie", draws // 5))
    used = machine("2 cores, one BLAS thread", "numpy", "pymc", "pytensor", "nutpie")
    REPORT.write_text(TEMPLATE.format(n=n, machine=used, rows="\n".join(rows)))


TEMPLATE = """\
# NUTS on the evidence and on all latent values

Measured by `benchmarks/nuts.py` on {machine}.

Sinc data with n = {n}, four hyperparameters, two chains in parallel, as many tuning steps as draws.
Leapfrogs are means over the draws of both chains, divergences are in percent, R-hat is the largest
and ESS the smallest (bulk) of the four. Gradient: milliseconds of one compiled log probability and
gradient at the starting point. Wall: seconds of `pm.sample`, with starting the processes and
compiling from the cache on disk. The last columns are posterior means. beta is 0.3 unless it is
given; w is the width of the ramps.

| target | sampler | draws | leapfrogs | divergent | R-hat | ESS | gradient | wall | ESS / s \
| ls | background | C | epsilon |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}
"""


if __name__ == "__main__":
    main()
