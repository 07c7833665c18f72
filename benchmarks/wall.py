"""What the wall of the trigonometric likelihood costs, and what a small flip share changes.

Run by hand, about three minutes: ``python benchmarks/wall.py > benchmarks/wall.md``. The data are
labels of a wave in one input; the model is a latent Gaussian process with a fixed covariance, so
that every divergence is the wall's. Elliptical slice sampling, which meets a wall without harm, is
the reference for the posterior with no flips.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import logging
import sys
import time
import warnings
from collections.abc import Callable

import arviz as az
import numpy as np
import pymc as pm
from pymc.sampling.mcmc import SamplingError

import pymc_bsvm as bsvm
from benchmarks._machine import machine

SIZES = (20, 60, 150)
FLIPS = (0.005, 0.01, 0.05)
DRAWS, TUNE, CHAINS = 1500, 1000, 2
STARTS = 1000
SLICES = 50_000
LENGTH_SCALE, AMPLITUDE, JITTER = 1.0, 1.5, 1e-6


def main() -> None:
    """Print the tables."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    begin = time.perf_counter()
    starts, runs = [], []
    for n in SIZES:
        X, labels = classes(n)
        model = latent_model(X, labels)
        share = share_of_infinite_starts(model)
        starts.append(f"| {n} | {100 * share:.1f} % | {100 * share**11:.2g} % |")
        reference = slice_sample(X, labels)
        for flip, sampler in [
            (0.0, "pymc"),
            (0.0, "nutpie"),
            *((flip, "nutpie") for flip in FLIPS),
        ]:
            print(f"n = {n}, flip = {flip}, {sampler}", file=sys.stderr)
            runs.append(f"| {n} | {flip:g} | {sampler} | {row(model, flip, sampler, reference)} |")
        halves = np.array_split(reference, 2)
        noise = differences(halves[0], halves[1], 0.0)
        runs.append(f"| {n} | 0 | slice, one half against the other | | | | {noise} |")
    minutes = (time.perf_counter() - begin) / 60
    print("# The wall of the trigonometric likelihood\n")
    print(
        f"Measured by `benchmarks/wall.py` in {minutes:.0f} minutes on "
        f"{machine(f'{os.cpu_count()} cores', 'pymc', 'nutpie')}. "
        f"Labels of f(x) = 1.4 sin(1.7 x), x uniform on [-3, 3], drawn with the sine link; "
        f"`pm.gp.Latent` with `{AMPLITUDE:g}**2 * ExpQuad(ls={LENGTH_SCALE:g})`.\n"
    )
    print("## Starting points\n")
    print(
        f"Share of {STARTS} starting points with logp = -inf at flip = 0 when each value of the "
        "whitened process is shifted by U(-1, 1), as PyMC's `jitter+adapt_diag` does, and the "
        "chance that all 11 attempts of a chain fail (`SamplingError`). The likelihood of the "
        "start without jitter is exactly 2**-n.\n"
    )
    print("| n | jittered starts with logp = -inf | 11 in a row |\n|--:|--:|--:|")
    print("\n".join(starts))
    print("\n## Sampling\n")
    print(
        f"{CHAINS} chains of {TUNE} tuning steps and {DRAWS} draws each, default target acceptance "
        'rates. "pymc" is `nuts_sampler="pymc", init="adapt_diag"`, "nutpie" is '
        '`nuts_sampler="nutpie"`. The last two columns compare posterior means with those of '
        f"{SLICES} elliptical slices at flip = 0, over the inputs of the data: P(y = 1 | x) as the "
        "model predicts it, flips included, and f. The last line of each n compares the two "
        "halves of the slices: smaller changes than that are Monte Carlo noise.\n"
    )
    print(
        "| n | flip | sampler | divergences per 1000 draws | largest R-hat | time, s "
        "| change of P(y=1\\|x): max, mean | change of f: max, mean |\n"
        "|--:|--:|---|--:|--:|--:|--:|--:|"
    )
    print("\n".join(runs))


def classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n labels of a wave that leaves the margin [-1, 1] in places."""
    rng = np.random.default_rng(100 + n)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    return x[:, None], (rng.uniform(size=n) < link(1.4 * np.sin(1.7 * x))).astype(int)


def link(f: np.ndarray) -> np.ndarray:
    """Return the sine link, P(y = 1 | f) without flips."""
    return 0.5 * (1.0 + np.sin(0.5 * np.pi * np.clip(f, -1.0, 1.0)))


def latent_model(X: np.ndarray, labels: np.ndarray) -> pm.Model:
    """Build the model; the flip share is data, so that it can change."""
    with pm.Model() as model:
        flip = pm.Data("flip", 0.0)
        cov = AMPLITUDE**2 * pm.gp.cov.ExpQuad(1, ls=LENGTH_SCALE)
        f = pm.gp.Latent(cov_func=cov).prior("f", X, jitter=JITTER)
        bsvm.Trigonometric("y", f=f, flip=flip, observed=labels)
    return model


def share_of_infinite_starts(model: pm.Model) -> float:
    """Return the share of jittered starting points behind the wall."""
    rng = np.random.default_rng(0)
    logp = model.compile_logp()
    start = model.initial_point(random_seed=0)
    jittered = (
        {name: value + rng.uniform(-1, 1, np.shape(value)) for name, value in start.items()}
        for _ in range(STARTS)
    )
    return float(np.mean([not np.isfinite(logp(point)) for point in jittered]))


def row(model: pm.Model, flip: float, sampler: str, reference: np.ndarray) -> str:
    """Sample once and return the cells of the table."""
    settings = {"init": "adapt_diag", "cores": 1} if sampler == "pymc" else {}
    begin = time.perf_counter()
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pm.set_data({"flip": flip})
        try:
            idata = pm.sample(
                DRAWS,
                tune=TUNE,
                chains=CHAINS,
                nuts_sampler=sampler,
                random_seed=1,
                progressbar=False,
                quiet=True,
                compute_convergence_checks=False,
                **settings,
            )
        except SamplingError:
            return "no start | | | |"
    seconds = time.perf_counter() - begin
    divergences = 1000 * float(idata["sample_stats"]["diverging"].mean())
    r_hat = float(az.rhat(idata, var_names=["f"])["f"].max())
    f = idata["posterior"]["f"].values.reshape(-1, reference.shape[1])
    return f"{divergences:.1f} | {r_hat:.3f} | {seconds:.0f} | {differences(f, reference, flip)}"


def differences(f: np.ndarray, reference: np.ndarray, flip: float) -> str:
    """Compare posterior means of the class probabilities and of f."""
    cells = []
    links: tuple[Callable[[np.ndarray], np.ndarray], ...] = (
        lambda g: flip + (1 - 2 * flip) * link(g),
        lambda g: g,
    )
    for ours, theirs in zip(links, (link, links[1]), strict=True):
        change = np.abs(ours(f).mean(axis=0) - theirs(reference).mean(axis=0))
        cells.append(f"{change.max():.3f}, {change.mean():.3f}")
    return " | ".join(cells)


def slice_sample(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Draw from the posterior with no flips by elliptical slice sampling."""
    rng = np.random.default_rng(2)
    sign = 2 * labels - 1
    distance = (X - X.T) / LENGTH_SCALE
    K = AMPLITUDE**2 * np.exp(-0.5 * distance**2) + JITTER * np.eye(len(X))
    L = np.linalg.cholesky(K)

    def log_likelihood(f: np.ndarray) -> float:
        p = link(sign * f)
        return float(np.log(p).sum()) if (sign * f > -1).all() else -np.inf

    f = np.zeros(len(X))
    level = log_likelihood(f)
    draws = []
    for step in range(SLICES + 1000):
        other = L @ rng.standard_normal(len(X))
        bar = level - rng.exponential()
        angle = rng.uniform(0, 2 * np.pi)
        low, high = angle - 2 * np.pi, angle
        while (level := log_likelihood(g := f * np.cos(angle) + other * np.sin(angle))) <= bar:
            low, high = (angle, high) if angle < 0 else (low, angle)
            angle = rng.uniform(low, high)
        f = g
        if step >= 1000:
            draws.append(f)
    return np.array(draws)


if __name__ == "__main__":
    main()
