"""NUTS by three routes: evidence by Laplace's method, by EP, and all latents; writes routes.md.

OPENBLAS_NUM_THREADS=1 python -m benchmarks.routes [--draws 1000] [--rows 20 60]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import pymc as pm

import pymc_bsvm as bsvm
from benchmarks._machine import machine
from benchmarks.latent import CHAINS, by_nutpie, by_pymc, gradient_time, labels, targets

REPORT = Path(__file__).with_suffix(".md")
LONG, CAREFUL = 8, 0.99
"""How many times the draws has the run that the others are compared with, and its target_accept.

At 0.9 its chains are caught now and then, for a thousand draws, where length-scales are long and
labels separable, which makes the posterior narrow.
"""
DATA = {"labels": labels, "targets": targets}


class Run(NamedTuple):
    """Draws of the hyperparameters on the log scale, and what they cost."""

    values: dict[str, np.ndarray]
    ess: float
    seconds: float
    divergent: float
    gradient: float

    @property
    def speed(self) -> float:
        """Effective samples per second of the slowest hyperparameter."""
        return self.ess / self.seconds


def sampled(model: pm.Model, names: list[str], draws: int, sampler: Any) -> Run:
    """Sample a model and keep the named variables."""
    tree, seconds = sampler(model, draws)
    posterior = tree["posterior"].dataset[names]
    return Run(
        {name: np.log(posterior[name].to_numpy().ravel()) for name in names},
        min(float(az.ess(tree, var_names=[name], method="bulk")[name]) for name in names),
        seconds,
        float(tree["sample_stats"].dataset["diverging"].mean()),
        gradient_time(model),
    )


def row(data: str, route: str, run: Run, reference: Run) -> str:
    """Return a row: the largest shift of a mean, the ratios of the standard deviations, costs."""
    shifts, ratios = {}, []
    for name, values in run.values.items():
        expected = reference.values[name]
        shifts[name] = (values.mean() - expected.mean()) / expected.std()
        ratios.append(values.std() / expected.std())
    worst = max(shifts, key=lambda name: abs(shifts[name]))
    cells = (
        data,
        route,
        f"{shifts[worst]:+.2f} ({worst})",
        f"{min(ratios):.2f} to {max(ratios):.2f}",
        f"{100 * run.divergent:.1f}",
        f"{run.gradient:.2f}",
        f"{run.seconds:.1f}",
        f"{run.ess:.0f}",
        f"{run.speed:.1f}",
    )
    text = f"| {' | '.join(cells)} |"
    print(text, flush=True)
    return text


def study(data: str, n: int, seed: int, draws: int) -> tuple[list[str], str]:
    """Sample one data set by all routes; return their rows, and the ratios of their speeds."""
    build = DATA[data]
    model, title = build(n, seed), f"{data} {n}"
    names = [variable.name for variable in model.free_RVs]
    around = bsvm.latent_model(model, around="ep")
    careful = partial(by_nutpie, accept=CAREFUL)
    reference = sampled(around, names, LONG * draws, careful)
    runs = {
        "laplace": sampled(model, names, draws, by_pymc),
        "ep": sampled(build(n, seed, "ep"), names, draws, by_pymc),
        "latents": sampled(bsvm.latent_model(model), names, draws, by_pymc),
        "latents around ep": sampled(around, names, draws, by_pymc),
    }
    rows = [row(title, route, run, reference) for route, run in runs.items()]
    rows.append(row(title, "reference", reference, reference))
    speed = runs["ep"].speed
    ratios = [f"{speed / runs[name].speed:.1f}" for name in ("latents", "latents around ep")]
    return rows, f"| {title} | {' | '.join(ratios)} | {speed / runs['laplace'].speed:.2f} |"


def studies(sizes: list[int], draws: int) -> Iterator[tuple[list[str], str]]:
    """Go through the data sets."""
    for seed, n in enumerate(sizes):
        for data in DATA:
            yield study(data, n, seed, draws)


def main() -> None:
    """Run the benchmark and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--rows", type=int, nargs="+", default=[20, 60])
    arguments = parser.parse_args()
    found = list(studies(arguments.rows, arguments.draws))
    report = TEMPLATE.format(
        machine=machine("one core, one BLAS thread", "numpy", "pymc", "pytensor", "nutpie"),
        chains=CHAINS,
        draws=arguments.draws,
        long=LONG * arguments.draws,
        careful=CAREFUL,
        rows="\n".join(line for rows, _ in found for line in rows),
        ratios="\n".join(ratio for _, ratio in found),
    )
    REPORT.write_text(report, encoding="utf-8")


TEMPLATE = """\
# NUTS by three routes

Measured by `benchmarks/routes.py` on {machine}.

The data and priors of `latent.md`; the number is that of the rows. Routes: the evidence by
Laplace's method, the evidence by expectation propagation, the model of all latent values in the
coordinates of the prior, and the same in those of `latent_model(around="ep")`. {chains} chains of
{draws} tuning steps and {draws} draws by PyMC's sampler. The reference, which is exact but for its
sampling error, is the last of these with {long} draws a chain by nutpie and a target acceptance of
{careful}.

Shift: the largest difference of a posterior mean of a log hyperparameter from the reference, in
standard deviations of the reference. sd: the range of the ratios of the standard deviations.
Divergences are in percent, gradients in milliseconds of CPU at the start. CPU: seconds of sampling
with tuning, without compilation. ESS (bulk) is the smallest of the hyperparameters.

| data | route | shift | sd | divergent | gradient | CPU | ESS | ESS / s |
|---|---|--:|--:|--:|--:|--:|--:|--:|
{rows}

Effective samples per second on the evidence by expectation propagation, divided by those of the
other routes:

| data | / latents | / latents around ep | / laplace |
|---|--:|--:|--:|
{ratios}
"""


if __name__ == "__main__":
    main()
