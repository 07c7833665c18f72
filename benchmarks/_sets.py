"""The sets on which methods are compared, with a split for each number of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

import pymc_bsvm as bsvm

__all__ = [
    "KEPT",
    "Split",
    "Task",
    "classification_tasks",
    "friedman",
    "kept_task",
    "laser",
    "of_folder",
    "of_sklearn",
    "regression_tasks",
    "shuffled",
    "simulated",
    "sinc",
    "two_gaussians",
]

KEPT = {  # training rows of the partitions that come with the data
    "banana": 400,
    "diabetis": 468,
    "heart": 170,
    "thyroid": 140,
    "titanic": 150,
    "waveform": 400,
}

type Array = NDArray[np.float64]


class Split(NamedTuple):
    """Training rows, new rows, and for simulated regression the noise-free new targets."""

    X: Array
    y: Any
    X_new: Array
    y_new: Any
    truth: Array | None = None


class Task(NamedTuple):
    """A data set with a split for each number of a partition; nothing is read before."""

    name: str
    split: Callable[[int], Split]
    partitions: int


def sinc(outliers: float, n: int, seed: int) -> Split:
    """Return sinc data; the new targets have outliers, too."""
    draw = partial(bsvm.datasets.sinc, noise="gaussian", sigma=0.1, outliers=outliers)
    X, y = draw(n, random_state=seed)
    X_new, y_new = draw(2000, random_state=1000 + seed)
    return Split(X, y, X_new, y_new, np.sinc(X_new[:, 0] / np.pi))


def friedman(seed: int) -> Split:
    """Return Friedman's first function: five inputs matter, five do not."""
    X, y = datasets.make_friedman1(200, noise=1.0, random_state=seed)
    X_new, truth = datasets.make_friedman1(2000, noise=0.0, random_state=1000 + seed)
    noise = np.random.default_rng(seed).normal(size=2000)
    return Split(X, y, X_new, truth + noise, truth)


def two_gaussians(n: int, seed: int) -> Split:
    """Return two normal classes with different covariances; the best error is 14.6 %."""

    def draw(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        labels = rng.integers(2, size=count)
        root = np.linalg.cholesky([[1.5, 1.2], [1.2, 1.5]])
        z = rng.normal(size=(count, 2))
        shift = np.array([1.0, 0.0])
        return np.where(labels[:, None] == 1, z @ root.T + shift, z - shift), labels

    return Split(
        *draw(n, np.random.default_rng(seed)), *draw(4000, np.random.default_rng(1000 + seed))
    )


def simulated(draw: Callable[..., tuple[Array, Array]], n: int, seed: int) -> Split:
    """Return rows of one of Breiman's problems."""
    return Split(*draw(n, random_state=seed), *draw(4000, random_state=1000 + seed))


def shuffled(X: Array, y: Array, n: int, seed: int, most_new: int = 2000) -> Split:
    """Return n random rows and the others."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, new = order[:n], order[n : n + most_new]
    return Split(X[train], y[train], X[new], y[new])


@cache
def folder(path: Path, targets: int = 1) -> bsvm.datasets.Folder:
    """Return a set of the data folder, read once."""
    return bsvm.datasets.load_folder(path, targets=targets)


def kept(path: Path, seed: int) -> Split:
    """Return a partition that comes with the data."""
    return Split(*folder(path).split(seed))


def kept_task(data: Path, name: str, partitions: int) -> Task:
    """Return a set of the data folder with its own partitions."""
    return Task(f"{name} *, n = {KEPT[name]}", partial(kept, data / name), partitions)


def of_folder(path: Path, n: int, seed: int, targets: int = 1) -> Split:
    """Return n random rows of a set of the data folder, and the others; its first target."""
    rows = folder(path, targets)
    return shuffled(rows.X, rows.y if targets == 1 else rows.y[:, 0], n, seed)


def of_sklearn(name: str, n: int, seed: int) -> Split:
    """Return n random rows of a set of scikit-learn, and the others."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return shuffled(X, y, n, seed)


def laser(path: Path, seed: int, lags: int = 8) -> Split:
    """Return a thousand values of the laser series: half of them to learn the next one from."""
    series = np.concatenate([np.loadtxt(path / name) for name in ("A.dat", "A.cont")])
    windows = np.lib.stride_tricks.sliding_window_view(
        series[1000 * seed : 1000 * (seed + 1)], lags + 1
    )
    X, y = windows[:, :-1], windows[:, -1]
    return Split(X[:500], y[:500], X[500:], y[500:])


def regression_tasks(data: Path | None, partitions: int) -> Iterable[Task]:
    """Yield the sets of regression."""
    yield Task("friedman1, n = 200", friedman, partitions)
    yield Task("diabetes, n = 342", partial(of_sklearn, "diabetes", 342), partitions)
    if data is None:
        return
    for name, path, n, targets in (
        ("boston", "boston", 455, 1),
        ("robot arm", "robot_arm", 200, 2),
        ("abalone", "abalone", 1000, 1),
    ):
        if (data / path).is_dir():
            split = partial(of_folder, data / path, n, targets=targets)
            yield Task(f"{name}, n = {n}", split, partitions)


def classification_tasks(data: Path | None, partitions: int) -> Iterable[Task]:
    """Yield the sets of classification; a star marks partitions that come with the data."""
    for name in ("twonorm", "ringnorm", "waveform"):
        draw = getattr(bsvm.datasets, name)
        yield Task(f"{name}, n = 400", partial(simulated, draw, 400), partitions)
    for name, n in (("breast_cancer", 285), ("iris", 75), ("wine", 89), ("digits", 500)):
        few = min(partitions, 3) if name == "digits" else partitions
        yield Task(f"{name.replace('_', ' ')}, n = {n}", partial(of_sklearn, name, n), few)
    if data is None:
        return
    for name in ("banana", "diabetis", "heart", "thyroid", "titanic"):
        if (data / name).is_dir():
            yield kept_task(data, name, partitions)
