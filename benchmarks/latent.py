"""NUTS on all latent values, in two coordinates; writes latent.md.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.latent [--n 80] [--draws 500]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import nutpie
import pymc as pm
from pymc.blocking import DictToArrayBijection

import pymc_bsvm as bsvm
from benchmarks._machine import machine

REPORT = Path(__file__).with_suffix(".md")
CHAINS = 2


def labels(n: int) -> pm.Model:
    """Return a model of labels with the trigonometric likelihood."""
    X, y = bsvm.datasets.two_gaussians(n, random_state=0)
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3, 2), pm.HalfNormal("eta", 3)
        gp = bsvm.gp.BTSVC(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y)
    return model


def targets(n: int) -> pm.Model:
    """Return a model of real targets with SILF."""
    X, y = bsvm.datasets.sinc(n, C=20, epsilon=0.2, random_state=0)
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3, 5), pm.HalfNormal("eta", 1)
        C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon)
    return model


def gradient_time(model: pm.Model) -> float:
    """Return the milliseconds of CPU of one log density and gradient."""
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    x = DictToArrayBijection.map(model.initial_point())
    function(x)
    start = time.process_time()
    for _ in range(300):
        function(x)
    return (time.process_time() - start) / 0.3


def by_nutpie(model: pm.Model, draws: int, accept: float) -> tuple[Any, float]:
    """Return draws, and the seconds of CPU after compilation."""
    compiled = nutpie.compile_pymc_model(model)
    start = time.process_time()
    tree = nutpie.sample(
        compiled,
        draws=draws,
        tune=draws,
        chains=CHAINS,
        cores=1,
        seed=1,
        target_accept=accept,
        progress_bar=False,
    )
    return tree, time.process_time() - start


def by_pymc(model: pm.Model, draws: int, accept: float) -> tuple[Any, float]:
    """Return draws, and the seconds of CPU from the first draw on."""
    seen: list[float] = []
    tree = pm.sample(
        draws=draws,
        tune=draws,
        chains=CHAINS,
        cores=1,
        random_seed=1,
        model=model,
        target_accept=accept,
        nuts_sampler="pymc",
        init="adapt_diag",
        progressbar=False,
        callback=lambda **_: seen.append(time.process_time()),
    )
    return tree, seen[-1] - seen[0]


SAMPLERS = {"nutpie": by_nutpie, "pymc": by_pymc}


def row(name: str, model: pm.Model, around: Any, sampler: str, draws: int, accept: float) -> str:
    """Sample, and return a row of the table."""
    latent = bsvm.latent_model(model, around=around)
    gradient = gradient_time(latent)
    tree, seconds = SAMPLERS[sampler](latent, draws, accept)
    names = [rv.name for rv in model.free_RVs]
    summary = az.summary(tree, var_names=names, round_to="none")
    stats = tree["sample_stats"].dataset
    ess = summary["ess_bulk"].astype(float)
    text = (
        f"| {name} | {'prior' if around is None else 'ep'} | {sampler} | {accept} | "
        f"{100 * float(stats['diverging'].mean()):.1f} | {float(stats['n_steps'].mean()):.0f} | "
        f"{gradient:.2f} | {seconds:.1f} | {float(summary['r_hat'].max()):.3f} | "
        f"{float(ess.min()):.0f} ({ess.idxmin()}) | {float(ess.min()) / seconds:.1f} |"
    )
    print(text, flush=True)
    return text


def main() -> None:
    """Run the benchmark and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=80)
    parser.add_argument("--draws", type=int, default=500)
    arguments = parser.parse_args()
    rows, searches = [], []
    for name, model in (
        ("labels, trigonometric", labels(arguments.n)),
        ("targets, SILF", targets(arguments.n)),
    ):
        with model:
            start = time.process_time()
            fit = bsvm.fit_evidence(progressbar=False)
            searches.append(time.process_time() - start)
        for sampler, accept in (("nutpie", 0.9), ("nutpie", 0.95), ("pymc", 0.9)):
            rows += [
                row(name, model, around, sampler, arguments.draws, accept)
                for around in (None, fit.point)
            ]
    REPORT.write_text(
        TEMPLATE.format(
            n=arguments.n,
            draws=arguments.draws,
            chains=CHAINS,
            rows="\n".join(rows),
            search=f"{np.max(searches):.1f}",
            machine=machine("one core, one BLAS thread", "numpy", "pymc", "pytensor", "nutpie"),
        ),
        encoding="utf-8",
    )


TEMPLATE = """\
# NUTS on all latent values

Measured by `benchmarks/latent.py` on {machine}.

{n} rows, {chains} chains of {draws} tuning steps and {draws} draws. Coordinates of the latent
values: "prior" is the Cholesky factor of the prior, "ep" is `around`, at the mode of the Laplace
evidence (at most {search} s of CPU with compilation, not counted). Divergences are in percent,
leapfrogs means over the draws, gradients in milliseconds of CPU at the start. CPU: seconds of
sampling with tuning, without compilation. ESS (bulk) is the smallest of the hyperparameters.

| model | coordinates | sampler | target_accept | divergent | leapfrogs | gradient | CPU | R-hat \
| ESS | ESS / s |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}
"""


if __name__ == "__main__":
    main()
