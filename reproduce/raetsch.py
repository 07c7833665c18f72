"""The sets of Raetsch and others: tables 5.3, 5.4 and 5.5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from pymc_bsvm.datasets import Folder, load_folder, ringnorm
from reproduce.cell import Cell
from reproduce.classifiers import (
    PAPERS_STARTS,
    Classifier,
    btsvc_at,
    chosen_svc,
    scores,
    trained,
)
from reproduce.page import Section
from reproduce.plan import Plan
from reproduce.store import Found

__all__ = [
    "AT_LEAST",
    "AVERAGED",
    "METHODS",
    "OFFSETS",
    "OTHERS",
    "PAPERS",
    "PAPERS_ARD",
    "POOL",
    "ROWS",
    "STARTS",
    "USUAL",
    "averaged",
    "averaged_svc",
    "cells",
    "folder_of",
    "from_each_start",
    "inferred",
    "names_in",
    "paired",
    "section",
    "with_offset",
    "with_relevance",
]


class Papers(NamedTuple):
    """A row of tables 5.3 and 5.4; errors in per cent, with their spreads."""

    theta: tuple[float, float, float]
    rate: tuple[float, float]
    svc: tuple[float, float]
    p_svc: float
    support: tuple[float, float]
    seconds: tuple[float, float]
    """Of BTSVC and of GPC."""
    own_rate: tuple[float, float]
    gpc_rate: tuple[float, float]
    p_gpc: float


PAPERS = {
    "banana": Papers(
        (2.308, 1.425, 0.349), (10.39, 0.50), (11.53, 0.66), 7.69e-30, (252.9, 27.3),
        (9.34, 18.04), (10.44, 0.48), (10.47, 0.46), 0.216,
    ),
    "diabetis": Papers(
        (0.386, 0.0606, 15.638), (23.13, 1.75), (23.53, 1.73), 2.95e-4, (454.0, 7.0),
        (27.24, 12.67), (23.21, 1.77), (23.71, 2.08), 3.75e-7,
    ),
    "heart": Papers(
        (3.787, 0.00731, 9.222), (16.33, 2.78), (15.95, 3.26), 0.0404, (149.1, 8.6),
        (1.77, 2.39), (16.34, 2.90), (17.19, 3.23), 1.22e-4,
    ),
    "ringnorm": Papers(
        (0.978, 0.0502, 102.126), (1.99, 0.26), (1.66, 0.12), 2.75e-22, (188.8, 9.0),
        (2.88, 18.79), (1.99, 0.26), (1.61, 0.13), 7.36e-39,
    ),
    "thyroid": Papers(
        (66.920, 0.132, 96.360), (3.95, 2.07), (4.80, 2.19), 3.41e-8, (30.6, 8.3),
        (0.28, 1.56), (4.32, 2.09), (4.80, 1.94), 4.41e-4,
    ),
    "titanic": Papers(
        (0.391, 0.966, 44.536), (22.51, 1.01), (22.42, 1.02), 0.280, (149.8, 1.5),
        (1.32, 0.90), (22.73, 1.43), (22.50, 1.54), 5.12e-3,
    ),
    "twonorm": Papers(
        (18.658, 0.00426, 94.741), (2.90, 0.27), (2.96, 0.23), 3.26e-3, (96.0, 18.3),
        (2.16, 23.71), (2.85, 0.29), (2.89, 0.27), 0.016,
    ),
    "waveform": Papers(
        (1.310, 0.0393, 111.23), (9.94, 0.42), (9.88, 0.43), 0.196, (190.7, 22.3),
        (4.38, 30.92), (10.11, 0.45), (10.06, 0.47), 0.0888,
    ),
}  # fmt: skip
# Table 5.5: support vectors, errors of BTSVC and of GPC.
PAPERS_ARD = {
    "image": ((379.5, 53.7), (2.59, 0.54), (2.24, 0.58), 0.0287),
    "splice": ((598.1, 74.4), (5.29, 0.67), (5.07, 0.79), 0.217),
}
OTHERS = ("breast", "flare", "german", "image", "splice")  # of which the thesis has results
METHODS = ("btsvc", "gpc", "default")
POOL, TRAINING = 7400, 400  # of twonorm and ringnorm
AT_LEAST = 10  # partitions; where the folder has fewer, further ones are drawn
AVERAGED = 5  # partitions whose hyperparameters are averaged
USUAL = 10.0  # start of kappa_0
OFFSETS = (1.0, 100.0, 1e4)  # kappa_b of GPC on ringnorm
STARTS = {"once": list(PAPERS_STARTS), "again": [USUAL], "smooth": [USUAL]}
# About how many CPU seconds a partition takes.
_COST = {"btsvc": 1.0, "gpc": 2.5, "default": 2.5}
ROWS = {"banana": 400, "diabetis": 468, "heart": 170, "ringnorm": 400, "thyroid": 140,
         "titanic": 150, "twonorm": 400, "waveform": 400}  # fmt: skip


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield the first five partitions of each set, what belongs to them, then the others."""
    names = names_in(plan)
    counts = {name: _count(plan, name) for name in names}
    largest = max(counts.values(), default=0)
    for partition in range(largest):
        for name in names:
            if partition < counts[name]:
                for method in METHODS:
                    arguments = {"name": name, "method": method, "partition": partition}
                    scale = (ROWS[name] / 400.0) ** 2
                    yield Cell(inferred, arguments, _COST[method] * scale)
        if partition == min(AVERAGED, largest) - 1:
            yield from _of_tables(names, counts)
    for name in PAPERS_ARD:
        for partition in range(plan.choose(20, 1)) if plan.has(name) else ():
            for method in ("btsvc", "gpc"):
                arguments = {"name": name, "method": method, "partition": partition}
                yield Cell(with_relevance, arguments, 600.0)


def _of_tables(names: Sequence[str], counts: Mapping[str, int]) -> Iterator[Cell]:
    """Yield table 5.3, and where BTSVC ends from each start."""
    for name in names:
        arguments = {"name": name, "partitions": counts[name]}
        scale = (ROWS[name] / 400.0) ** 2
        yield Cell(averaged, arguments, 9.0 * scale)
        yield Cell(averaged_svc, arguments, 20.0 * scale)
    for name in names:
        for partition in range(min(AVERAGED, counts[name])):
            for search, starts in STARTS.items():
                arguments = {"name": name, "partition": partition, "search": search}
                cost = 0.8 * len(starts) * (ROWS[name] / 400.0) ** 2
                yield Cell(from_each_start, {**arguments, "starts": starts}, cost)

    for partition in range(min(2, counts["ringnorm"])):
        for kappa_b in OFFSETS:
            yield Cell(with_offset, {"partition": partition, "kappa_b": kappa_b}, 0.8)


def names_in(plan: Plan) -> list[str]:
    """Return the sets that can be had; ringnorm is simulated."""
    return [name for name in PAPERS if name == "ringnorm" or plan.has(name)]


def _count(plan: Plan, name: str) -> int:
    """Return the number of partitions."""
    if plan.quick:
        return 2 if ROWS[name] < 200 else 1
    assert name == "ringnorm" or plan.data is not None
    genuine = 0 if name == "ringnorm" else len(folder_of(plan.data, name).train)
    return max(genuine, AT_LEAST)


@cache
def folder_of(data: Path, name: str) -> Folder:
    """Return a set with its partitions."""
    return load_folder(data / name)


def rows(data: Path | None, name: str, partition: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows with their labels.

    Where the folder has no such partition, the pool is split at random; the pool of ringnorm is
    simulated and standardised as those of the folder are.
    """
    if name == "ringnorm":
        X, labels = ringnorm(POOL, random_state=0)
        X, training = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), TRAINING
    else:
        assert data is not None
        folder = folder_of(data, name)
        if partition < len(folder.train):
            return folder.split(partition)
        X, labels, training = folder.X, folder.y, len(folder.train[0])
    order = np.random.default_rng([partition, 53]).permutation(len(labels))
    train, test = order[:training], order[training:]
    return X[train], labels[train], X[test], labels[test]


# ---- the measures ----------------------------------------------------------------------------


def inferred(data: Path | None, name: str, method: str, partition: int) -> dict[str, Any]:
    """Return what a method does on a partition whose hyperparameters it finds by itself."""
    X, labels, Z, truth = rows(data, name, partition)
    return _judged(trained(method, X, labels), Z, truth)


def _judged(found: Classifier, Z: NDArray[np.float64], truth: Any) -> dict[str, Any]:
    of_test = scores(found, Z, truth)
    assert of_test["error"] is not None
    nll = of_test["nll"]
    mean = None if nll is None else nll / len(truth)
    return {**found.facts, "error": 100.0 * of_test["error"], "mean_nll": mean}


def averaged(data: Path | None, name: str, partitions: int) -> dict[str, Any]:
    """Return the errors on all partitions with the averages of the first five, as table 5.3.

    And those with the averages that the thesis prints.
    """
    found = []
    for partition in range(min(AVERAGED, partitions)):
        X, labels, *_ = rows(data, name, partition)
        facts = trained("btsvc", X, labels).facts
        found.append([facts["kappa_0"], facts["kappa"], facts["kappa_b"]])
    mean = np.mean(found, axis=0)
    chosen = {"errors": mean, "errors_papers": PAPERS[name].theta}
    errors: dict[str, list[float]] = {key: [] for key in chosen}
    for partition in range(partitions):
        X, labels, Z, truth = rows(data, name, partition)
        for key, theta in chosen.items():
            wrong = btsvc_at(X, labels, np.asarray(theta)).positive(Z) != (truth == 1)
            errors[key].append(100.0 * float(wrong.mean()))
    return {"found": np.array(found).tolist(), "mean": mean.tolist(), **errors}


def averaged_svc(data: Path | None, name: str, partitions: int) -> dict[str, Any]:
    """Return the errors of an SVC on all partitions, with the medians of the first five.

    They are found by five folds and the two grids of section 5.5.1.
    """
    found = []
    for partition in range(min(AVERAGED, partitions)):
        X, labels, *_ = rows(data, name, partition)
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, labels))
        found.append(chosen_svc(X, labels, folds)[:2])
    C, kappa = np.exp(np.median(np.log(found), axis=0))
    errors = []
    for partition in range(partitions):
        X, labels, Z, truth = rows(data, name, partition)
        model = SVC(C=C, gamma=0.5 * kappa).fit(X, labels)
        errors.append(100.0 * float((model.predict(Z) != truth).mean()))
    return {"C": float(C), "kappa": float(kappa), "errors": errors}


def from_each_start(
    data: Path | None, name: str, partition: int, search: str, starts: list[float]
) -> dict[str, Any]:
    """Return where BTSVC ends from each start of the thesis."""
    X, labels, Z, truth = rows(data, name, partition)
    ends = [
        _judged(trained("btsvc", X, labels, kappa_0=k, search=search), Z, truth) for k in starts
    ]
    names = ("kappa_0", "kappa", "kappa_b", "support", "minus_log_evidence", "error", "evaluations")
    return {name: [end[name] for end in ends] for name in names}


def with_offset(data: Path | None, partition: int, kappa_b: float) -> dict[str, Any]:
    """Return what GPC does on ringnorm with a given kappa_b."""
    X, labels, Z, truth = rows(data, "ringnorm", partition)
    return _judged(trained("gpc", X, labels, kappa_b=kappa_b), Z, truth)


def with_relevance(data: Path | None, name: str, method: str, partition: int) -> dict[str, Any]:
    """Return table 5.5: a kappa for each column, standardised on the training rows."""
    X, labels, Z, truth = rows(data, name, partition)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    found = trained(method, (X - mean) / deviation, labels, ard=True)
    return _judged(found, (Z - mean) / deviation, truth)


def paired(differences: Sequence[float]) -> tuple[float, float]:
    """Return Student's t of paired differences, as section 5.5.3 has it, and its two-sided p."""
    e = np.asarray(differences, dtype=float)
    n = e.size
    square = float(((e - e.mean()) ** 2).sum()) / (n * (n - 1)) if n > 1 else math.nan
    if not square > 0.0:
        return math.nan, math.nan
    t = float(e.mean()) / math.sqrt(square)
    return t, float(2.0 * student.sf(abs(t), n - 1))


def section(found: Found, plan: Plan) -> Section:
    """Return the tables, and why they are not those of the thesis where they are not."""
    from reproduce.raetsch_page import page  # which reads what is measured here

    return page(found, plan)
