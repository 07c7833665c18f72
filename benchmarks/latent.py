"""NUTS on all latent values, in two coordinates; writes latent.md.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.latent [--n 80] [--draws 500] [--sets 3]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import nutpie
import pymc as pm
from pymc.blocking import DictToArrayBijection

import pymc_bsvm as bsvm
from benchmarks._machine import machine

REPORT = Path(__file__).with_suffix(".md")
CHAINS, ACCEPT = 2, 0.9


def labels(n: int, seed: int, approximation: str = "laplace") -> pm.Model:
    """Return a model of labels with the trigonometric likelihood."""
    X, y = bsvm.datasets.two_gaussians(n, random_state=seed)
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3, 2), pm.HalfNormal("eta", 3)
        gp = bsvm.gp.BTSVC(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, approximation=approximation)
    return model


def targets(n: int, seed: int, approximation: str = "laplace") -> pm.Model:
    """Return a model of real targets with SILF."""
    X, y = bsvm.datasets.sinc(n, C=20, epsilon=0.2, random_state=seed)
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3, 5), pm.HalfNormal("eta", 1)
        C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, approximation=approximation)
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


def by_nutpie(model: pm.Model, draws: int, accept: float = ACCEPT) -> tuple[Any, float]:
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


def by_pymc(model: pm.Model, draws: int) -> tuple[Any, float]:
    """Return draws, and the seconds of CPU from the first draw on."""
    seen: list[float] = []
    tree = pm.sample(
        draws=draws,
        tune=draws,
        chains=CHAINS,
        cores=1,
        random_seed=1,
        model=model,
        target_accept=ACCEPT,
        nuts_sampler="pymc",
        init="adapt_diag",
        progressbar=False,
        callback=lambda **_: seen.append(time.process_time()),
    )
    return tree, seen[-1] - seen[0]


SAMPLERS = {"nutpie": by_nutpie, "pymc": by_pymc}
COORDINATES = ("prior", "ep")


class Run(NamedTuple):
    """What came of one run of a sampler."""

    text: str
    """Its row of the table."""
    divergent: float
    """Share of the draws."""
    speed: float
    """Effective samples per second of the slowest hyperparameter."""


def run(
    name: str, latent: pm.Model, names: list[str], gradient: float, sampler: str, draws: int
) -> Run:
    """Sample in one of the coordinates."""
    tree, seconds = SAMPLERS[sampler](latent, draws)
    summary = az.summary(tree, var_names=names, round_to="none")
    stats = tree["sample_stats"].dataset
    ess = summary["ess_bulk"].astype(float)
    of_f = az.ess(tree, var_names=["f_y"], method="bulk")["f_y"].to_numpy().min()
    divergent, speed = float(stats["diverging"].mean()), float(ess.min()) / seconds
    cells = (
        name,
        sampler,
        f"{100 * divergent:.1f}",
        f"{float(stats['n_steps'].mean()):.0f}",
        f"{gradient:.2f}",
        f"{seconds:.1f}",
        f"{float(summary['r_hat'].astype(float).max()):.3f}",
        f"{float(ess.min()):.0f} ({ess.idxmin()})",
        f"{float(of_f):.0f}",
        f"{speed:.1f}",
    )
    text = f"| {' | '.join(cells)} |"
    print(text, flush=True)
    return Run(text, divergent, speed)


def summary(name: str, sampler: str, runs: dict[bool, list[Run]]) -> str:
    """Return one row for all sets: divergences, and how many times the effective samples."""
    divergent = (
        f"{100 * np.mean([run.divergent for run in runs[moved]]):.1f}" for moved in (False, True)
    )
    ratios = [after.speed / before.speed for before, after in zip(*runs.values(), strict=True)]
    each = ", ".join(f"{ratio:.1f}" for ratio in ratios)
    mean = np.exp(np.mean(np.log(ratios)))
    return f"| {name} | {sampler} | {' | '.join(divergent)} | {mean:.1f} | {each} |"


def main() -> None:
    """Run the benchmark and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=80)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--sets", type=int, default=3)
    arguments = parser.parse_args()
    rows, summaries, searches = [], [], []
    for name, build in (("labels", labels), ("targets", targets)):
        found: dict[str, dict[bool, list[Run]]] = {
            sampler: {False: [], True: []} for sampler in SAMPLERS
        }
        for seed in range(arguments.sets):
            model = build(arguments.n, seed)
            names = [rv.name for rv in model.free_RVs]
            start = time.process_time()
            moved = bsvm.latent_model(model, around="ep")
            searches.append(time.process_time() - start)
            for around, latent in ((False, bsvm.latent_model(model)), (True, moved)):
                gradient, title = gradient_time(latent), f"{name} {seed} | {COORDINATES[around]}"
                for sampler, runs in found.items():
                    one = run(title, latent, names, gradient, sampler, arguments.draws)
                    runs[around].append(one)
                    rows.append(one.text)
        summaries += [summary(name, sampler, runs) for sampler, runs in found.items()]
    REPORT.write_text(
        TEMPLATE.format(
            n=arguments.n,
            draws=arguments.draws,
            chains=CHAINS,
            accept=ACCEPT,
            rows="\n".join(rows),
            summaries="\n".join(summaries),
            search=f"{np.max(searches):.1f}",
            machine=machine("one core, one BLAS thread", "numpy", "pymc", "pytensor", "nutpie"),
        ),
        encoding="utf-8",
    )


TEMPLATE = """\
# NUTS on all latent values

Measured by `benchmarks/latent.py` on {machine}.

{n} rows, {chains} chains of {draws} tuning steps and {draws} draws, target_accept {accept}. Labels
with the trigonometric likelihood, targets with SILF; the number is the seed of the data.
Coordinates of the latent values: "prior" is the Cholesky factor of the prior, "ep" those of
`latent_model(around="ep")`, which took at most {search} s of CPU to find, not counted.

| model | sampler | divergent, prior | divergent, ep | ESS / s, times | of each set |
|---|---|--:|--:|--:|---|
{summaries}

Divergences are in percent. ESS (bulk) is the smallest of the hyperparameters, per second of CPU of
sampling with tuning, without compilation; its ratio is a geometric mean. All runs, with the mean
leapfrogs of a draw, the milliseconds of CPU of a gradient at the start, and the smallest ESS of a
latent value:

| data | coordinates | sampler | divergent | leapfrogs | gradient | CPU | R-hat | ESS | ESS of f \
| ESS / s |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}
"""


if __name__ == "__main__":
    main()
