"""The evidence and the error bars of [GGHB02] beside Laplace's, EP's and annealing.

Run by hand, some minutes: ``python -m benchmarks.gao`` writes ``benchmarks/gao.md``. The data are
those of their simulations: targets sin(x) with Gaussian noise of variance 0.5, x uniform on
[0, 4 pi], a Gaussian kernel of variance one and squared width 0.8, and epsilon = 0.4.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pymc as pm
import pytensor

from benchmarks._machine import machine
from pymc_bsvm import ep_evidence, fit_evidence, gao_evidence, gp, laplace_evidence
from pymc_bsvm.diagnosis import AnnealedEvidence, annealed_evidence
from pymc_bsvm.evidence import Evidence
from pymc_bsvm.losses import SILF, EpsilonInsensitive

EPSILON, WIDTH, SETS = 0.4, 4.0 * np.pi, 50
SLOPES = (0.5, 1.0, 2.1, 5.0, 10.0)
BETAS = (0.3, 0.1, 0.01, 0.001)
ROWS = (30, 100)
NEW = np.linspace(0.0, WIDTH, 101)

type Data = tuple[np.ndarray, np.ndarray]


def draw(n: int, seed: int) -> Data:
    """Return inputs and targets."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, WIDTH, n))
    return x, np.sin(x) + np.sqrt(0.5) * rng.normal(size=n)


def covariance(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the kernel."""
    return np.exp(-((x[:, None] - z) ** 2) / 1.6)


def contenders(x: np.ndarray, y: np.ndarray, C: float) -> dict[str, Evidence]:
    """Return the evidences by name."""
    K, loss = covariance(x, x), EpsilonInsensitive(C, EPSILON)
    laplace = {
        f"Laplace, β = {beta:g}": laplace_evidence(K, y, SILF(C, EPSILON, beta), "exact")
        for beta in BETAS
    }
    return {"Gao": gao_evidence(K, y, loss), "EP": ep_evidence(K, y, loss), **laplace}


def exact(x: np.ndarray, y: np.ndarray, C: float) -> AnnealedEvidence:
    """Return the unbiased estimate."""
    loss = EpsilonInsensitive(C, EPSILON)
    return annealed_evidence(covariance(x, x), y, loss, random_seed=1, progressbar=False)


def compare() -> Iterator[str]:
    """Yield the tables of evidences and of standard deviations."""
    names = ["Gao", "EP", *(f"Laplace, β = {beta:g}" for beta in BETAS)]
    evidences, widths = [], []
    for n in ROWS:
        x, y = draw(n, 0)
        cross, prior = covariance(x, NEW), np.ones(NEW.size)
        for C in SLOPES:
            annealed, found = exact(x, y, C), contenders(x, y, C)
            margin, bound = sets_of(found["Gao"])
            head = f"| {n} | {C:g} | {margin} | {bound} |"
            errors = [found[k].log_evidence - annealed.log_evidence for k in names]
            value = f" {annealed.log_evidence:.2f} ± {annealed.standard_error:.2f} |"
            evidences.append(head + value + "".join(f" {e:+.2f} |" for e in errors))
            sd = annealed.predict(cross, prior).sd
            variances = [found[k].posterior.predict_variance(cross, prior) for k in names]
            variances.append(left_out(covariance(x, x), cross))
            noise = EpsilonInsensitive(C, EPSILON).variance()
            ratios = [np.sqrt(v) / sd for v in variances]
            ratios.append(np.sqrt((variances[0] + noise) / (sd**2 + noise)))
            widths.append(head + "".join(f" {spread(ratio)} |" for ratio in ratios))
            print(evidences[-1], widths[-1], sep="\n", flush=True)
    yield "## Log evidence\n"
    yield from table(["n", "C", "margin", "bound", "annealing", *names], evidences)
    yield "\n## Standard deviation of the function over that of annealing, at 101 new inputs\n"
    yield from table(["n", "C", "margin", "bound", *names, "(23)", "(30)"], widths)


def sets_of(evidence: Evidence) -> tuple[int, int]:
    """Return the numbers of margin and of bound support vectors."""
    margin = evidence.margin.rows.size
    return margin, int(np.count_nonzero(evidence.posterior.a)) - margin


def left_out(K: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Return the prior variance that all rows together leave, were they known; K is singular."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    explained = (vectors[:, kept].T @ cross) ** 2 / values[kept, None]
    return np.maximum(1.0 - explained.sum(axis=0), 0.0)


def spread(ratio: np.ndarray) -> str:
    """Return the median of ratios, and their range."""
    return f"{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})"


def table(head: list[str], rows: list[str]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "--:|" * len(head)
    yield from rows


def steps() -> Iterator[str]:
    """Yield how rough the evidence is along log C."""
    yield "\n## Steps along log C, from 0.5 to 10 in 2000 steps\n"
    grid, rows = np.geomspace(0.5, 10.0, 2001), []
    for n in ROWS:
        x, y = draw(n, 0)
        K, a0, found = covariance(x, x), None, []
        for C in grid:
            found.append(gao_evidence(K, y, EpsilonInsensitive(C, EPSILON), a0=a0))
            a0 = np.clip(found[-1].start, -C, C)
        value = np.array([e.log_evidence for e in found])
        members = [tuple(e.margin.rows) for e in found]
        changes = np.array([one != two for one, two in pairwise(members)])
        jumps = np.abs(np.diff(value))[changes]
        best = grid[value.argmax()]
        rows.append(
            f"| {n} | {changes.sum()} | {np.median(jumps):.2f} | {jumps.max():.2f} | {best:.2f} |"
        )
    yield from table(["n", "changes of the margin", "median step", "largest", "highest at C"], rows)


def updates() -> Iterator[str]:
    """Yield where the update (17) of C goes."""
    ends, counts = [], []
    for seed in range(SETS):
        path = update(*draw(100, seed), 10.0)
        counts.append(len(path) - 1)
        ends.append(path[-1])
        if seed == 0:
            yield "\n## The update (17) of C from 10, until it changes by less than 0.05\n"
            yield "First set: " + ", ".join(f"{C:.4f}" for C in path) + ".\n"
    settled = np.array(counts) < 50
    of = np.array(ends)[settled]
    yield (
        f"Of {SETS} sets {settled.sum()} settle within 50 steps, after {np.median(counts):.0f} in "
        f"the median, at C = {np.median(of):.2f} in the median, {of.min():.2f} to {of.max():.2f}."
    )


def update(x: np.ndarray, y: np.ndarray, C: float) -> list[float]:
    """Return the values of C by (17)."""
    K, n, path = covariance(x, x), y.size, [C]
    while len(path) <= 50 and (len(path) == 1 or abs(path[-1] - path[-2]) >= 0.05):
        C = path[-1]
        found = gao_evidence(K, y, EpsilonInsensitive(C, EPSILON))
        size = np.abs(found.margin.a)
        lost = -found.terms["fit"] / C
        below = lost + (1.0 / (C - size)).sum() + n * EPSILON / (EPSILON * C + 1.0)
        path.append((n + size.size) / below)
    return path


def search() -> Iterator[str]:
    """Yield where searches over the length-scale and C end."""
    yield "\n## A search over the length-scale and C, 40 rows, three starts\n"
    x, y = draw(40, 0)
    rows = []
    for name in ("gao", "ep"):
        with pm.Model() as model, pytensor.config.change_flags(mode="FAST_COMPILE"):
            ls, C = pm.InverseGamma("ls", 3, 3), pm.LogNormal("C", 0.7, 1)
            process = gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
            loss = EpsilonInsensitive(C, EPSILON)
            process.marginal_likelihood("y", x[:, None], y, loss=loss, approximation=name)
            fit = fit_evidence(model, restarts=3, random_seed=1, progressbar=False)
        ls, C = (float(fit.point[k]) for k in ("ls", "C"))
        K = np.exp(-((x[:, None] - x) ** 2) / (2.0 * ls**2))
        loss = EpsilonInsensitive(C, EPSILON)
        estimate = annealed_evidence(K, y, loss, random_seed=1, progressbar=False).log_evidence
        settled = int((fit.restarts["ending"] == "converged").sum())
        rows.append(
            f"| {name} | {settled} | {ls:.2f} | {C:.2f} | {fit.log_evidence - estimate:+.2f} |"
        )
    yield from table(["approximation", "converged", "ls", "C", "error there, nats"], rows)


def main() -> None:
    """Measure, and write the report."""
    parts: tuple[Callable[[], Iterator[str]], ...] = (compare, steps, updates, search)
    lines = [line for part in parts for line in part()]
    about = machine("one BLAS thread", "numpy", "scipy")
    title = "# The evidence from margin support vectors\n"
    note = (
        f"Measured by `python -m benchmarks.gao` on {about}.\n\nTargets sin(x) with noise of "
        "variance 0.5, seed 0, ε = 0.4. `annealing` is the log evidence of the ε-insensitive loss "
        "with its standard error; the columns after it are differences from that, in nats. Laplace "
        "is the exact curvature of SILF. `(23)` is what the paper calls an upper bound, `(30)` "
        "is of new targets, noise included.\n"
    )
    text = "\n".join([title, note, *lines, ""])
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
