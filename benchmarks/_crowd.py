"""Simulated sets of any number of rows whose best predictions are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.special import expit

import pymc_bsvm as bsvm
from pymc_bsvm.losses import SILF

__all__ = ["Array", "Crowd", "curved", "draw", "friedman", "mapped", "references", "rings", "twins"]

type Array = NDArray[np.float64]

PIECE = 100_000  # rows that are drawn at a time, each piece with a seed of its own
NEW = 20_000
SHARE, FACTOR = 0.05, 10.0  # of the outliers, and how much wider they are
FIRST_NEW = 10**6  # number of the first piece of the new rows ...
APART = 10**4  # ... and how far apart the first pieces of two draws are


class Crowd(NamedTuple):
    """Rows, targets, and what is true of them: the function, or the probability of class 1."""

    X: Array
    y: Array
    truth: Array


def friedman(n: int, rng: np.random.Generator) -> Crowd:
    """Draw Friedman's first function of five inputs; one target in twenty is an outlier."""
    X = rng.uniform(size=(n, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    f += 10 * X[:, 3] + 5 * X[:, 4]
    noise = rng.normal(size=n)
    noise[rng.random(n) < SHARE] *= FACTOR
    return Crowd(X, f + noise, f)


def curved(n: int, rng: np.random.Generator) -> Crowd:
    """Draw two classes on the sides of a parabola."""
    X = rng.normal(size=(n, 2)) * [1.2, 1.0]
    p = expit(3.0 * (X[:, 1] - 0.8 * X[:, 0] ** 2 + 0.8))
    return Crowd(X, (rng.random(n) < p).astype(float), p)


def twins(n: int, rng: np.random.Generator) -> Crowd:
    """Draw twonorm, 20 inputs."""
    X, labels = bsvm.datasets.twonorm(n, random_state=rng)
    return Crowd(X, labels.astype(float), expit(2.0 * 2.0 / np.sqrt(20.0) * X.sum(axis=1)))


def rings(n: int, rng: np.random.Generator) -> Crowd:
    """Draw ringnorm, 20 inputs."""
    X, labels = bsvm.datasets.ringnorm(n, random_state=rng)
    inner = stats.norm.logpdf(X, 2.0 / np.sqrt(20.0)).sum(axis=1)
    return Crowd(X, labels.astype(float), expit(inner - stats.norm.logpdf(X, scale=2.0).sum(1)))


SETS = {"friedman": friedman, "curved": curved, "twonorm": twins, "ringnorm": rings}


def pieces(name: str, n: int, first: int) -> Iterator[Crowd]:
    """Yield n rows in pieces; fewer rows are the first ones of more."""
    for k in range(-(-n // PIECE)):
        rng = np.random.default_rng([first + k, len(name)])
        yield SETS[name](PIECE, rng)


def draw(name: str, n: int, new: bool = False, number: int = 0) -> Crowd:
    """Return n rows for training, or new ones, of one of several draws."""
    parts = list(pieces(name, n, APART * number + (FIRST_NEW if new else 0)))
    return Crowd(*(np.concatenate(each)[:n] for each in zip(*parts, strict=True)))


def mapped(name: str, n: int, folder: Path) -> tuple[Array, Array]:
    """Return n rows and targets in files, written a piece at a time."""
    files = folder / "X.npy", folder / "y.npy"
    d = draw(name, 1).X.shape[1]
    shapes: tuple[tuple[int, ...], ...] = ((n, d), (n,))
    writers = [
        np.lib.format.open_memmap(file, mode="w+", dtype=float, shape=shape)
        for file, shape in zip(files, shapes, strict=True)
    ]
    start = 0
    for piece in pieces(name, n, 0):
        stop = min(start + PIECE, n)
        writers[0][start:stop], writers[1][start:stop] = (
            piece.X[: stop - start],
            piece.y[: n - start],
        )
        start = stop
    for writer in writers:
        writer.flush()
    return np.load(files[0], mmap_mode="r"), np.load(files[1], mmap_mode="r")


def references(name: str) -> dict[str, float]:
    """Return the scores of the truth on the new rows.

    For regression the mean log density of the true noise, and of the Student-t and of the SILF
    noise that fit another draw best, all around the true function; for classes that of the labels
    and the error in per cent.
    """
    new, other = draw(name, NEW, new=True), draw(name, PIECE)
    if name != "friedman":
        p = np.where(new.y == 1.0, new.truth, 1.0 - new.truth)
        return {"truth": float(np.log(p).mean()), "error": 100.0 * float((p < 0.5).mean())}
    r, s = other.y - other.truth, new.y - new.truth
    mixture = (1.0 - SHARE) * stats.norm.pdf(s) + SHARE * stats.norm.pdf(s, scale=FACTOR)
    nu, _, scale = stats.t.fit(r, floc=0.0)

    def silf(x: Array) -> SILF:
        return SILF(np.exp(x[0]), np.exp(x[1]), expit(x[2]))

    def cost(x: Array) -> float:
        return float(silf(x).value(r, 0.0).mean() + silf(x).log_normalizer())

    best = silf(optimize.minimize(cost, np.zeros(3), method="Nelder-Mead").x)
    return {
        "truth": float(np.log(mixture).mean()),
        "Student": float(stats.t.logpdf(s, nu, scale=scale).mean()),
        "SILF": -float(best.value(s, 0.0).mean() + best.log_normalizer()),
    }
