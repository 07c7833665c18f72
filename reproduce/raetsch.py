"""The sets of Raetsch and others: tables 5.3, 5.4 and 5.5."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    NAMES,
    PAPERS_STARTS,
    SEARCHES,
    Classifier,
    btsvc_at,
    chosen_svc,
    scores,
    trained,
)
from reproduce.page import Section, dates, number, power, spread, table
from reproduce.plan import Plan
from reproduce.results import bounded, columns, matching, paragraphs, results
from reproduce.store import Found

__all__ = [
    "averaged",
    "averaged_svc",
    "cells",
    "from_each_start",
    "inferred",
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
_ROWS = {"banana": 400, "diabetis": 468, "heart": 170, "ringnorm": 400, "thyroid": 140,
         "titanic": 150, "twonorm": 400, "waveform": 400}  # fmt: skip


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield the first five partitions of each set, what belongs to them, then the others."""
    names = _names(plan)
    counts = {name: _count(plan, name) for name in names}
    largest = max(counts.values(), default=0)
    for partition in range(largest):
        for name in names:
            if partition < counts[name]:
                for method in METHODS:
                    arguments = {"name": name, "method": method, "partition": partition}
                    scale = (_ROWS[name] / 400.0) ** 2
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
        scale = (_ROWS[name] / 400.0) ** 2
        yield Cell(averaged, arguments, 9.0 * scale)
        yield Cell(averaged_svc, arguments, 20.0 * scale)
    for name in names:
        for partition in range(min(AVERAGED, counts[name])):
            for search, starts in STARTS.items():
                arguments = {"name": name, "partition": partition, "search": search}
                cost = 0.8 * len(starts) * (_ROWS[name] / 400.0) ** 2
                yield Cell(from_each_start, {**arguments, "starts": starts}, cost)

    for partition in range(min(2, counts["ringnorm"])):
        for kappa_b in OFFSETS:
            yield Cell(with_offset, {"partition": partition, "kappa_b": kappa_b}, 0.8)


def _names(plan: Plan) -> list[str]:
    """Return the sets that can be had; ringnorm is simulated."""
    return [name for name in PAPERS if name == "ringnorm" or plan.has(name)]


def _count(plan: Plan, name: str) -> int:
    """Return the number of partitions."""
    if plan.quick:
        return 2 if _ROWS[name] < 200 else 1
    assert name == "ringnorm" or plan.data is not None
    genuine = 0 if name == "ringnorm" else len(_folder(plan.data, name).train)
    return max(genuine, AT_LEAST)


@cache
def _folder(data: Path, name: str) -> Folder:
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
        folder = _folder(data, name)
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


# ---- the page --------------------------------------------------------------------------------


def section(found: Found, plan: Plan) -> Section:
    """Return the tables, and why they are not those of the thesis where they are not."""
    title = "The sets of Rätsch and others (tables 5.3 to 5.5)"
    if not found:
        return Section(title, f"Nothing is measured yet. {plan.missing(*OTHERS)}".rstrip())
    text = [_INTRODUCTION, _missing(plan)]
    parts: list[tuple[str, Callable[[Found], str]]] = [
        ("### Table 5.3: one set of hyperparameters for all partitions", _hyperparameters),
        ("", _rates),
        ("### Table 5.4: each partition finds its own", _own_rates),
        ("", _costs),
        ("", _log_scores),
        ("### What is different, and why", _remarks),
        ("### Table 5.5: a length-scale for each column", _ard),
    ]
    for heading, part in parts:
        if body := part(found):
            text.append(f"{heading}\n\n{body}" if heading else body)
    return Section(title, paragraphs(text))


_INTRODUCTION = """Errors are shares of the test rows in per cent, means and standard deviations
over partitions. BTSVC starts at κ₀ = 10, κ = 1/d and κ_b = 100. p is that of Student's paired t, as
the thesis computes it; partitions share rows, so that it is too small, there and here. GPC is that
of scikit-learn, which differs from that of the thesis only in its implementation. Inputs are as the
folder has them."""


def _missing(plan: Plan) -> str:
    """Say which sets and which partitions are not those of the thesis."""
    text = [plan.missing(*(name for name in (*PAPERS, *OTHERS) if name != "ringnorm"))]
    text.append(
        f"Ringnorm is simulated: a pool of {POOL} rows, standardised, split at random as that of "
        "twonorm is."
    )
    if not plan.quick:
        for name in _names(plan):
            if name == "ringnorm" or plan.data is None:
                continue
            genuine = len(_folder(plan.data, name).train)
            if genuine < AT_LEAST:
                text.append(
                    f"The folder has {genuine} partition{'s' * (genuine > 1)} of {name}; "
                    f"{AT_LEAST - genuine} more are drawn from its rows."
                )
    return " ".join(part for part in text if part)


def _measured_names(found: Found, measure: Callable[..., Any]) -> list[str]:
    return [name for name in PAPERS if matching(found, measure, name=name)]


def _own(found: Found, name: str, method: str, key: str) -> dict[int, float]:
    """Return a number of each partition."""
    return {
        cell.arguments["partition"]: float(measured.result[key])
        for cell, measured in found.items()
        if cell.measure is inferred
        and (cell.arguments["name"], cell.arguments["method"]) == (name, method)
        and measured.result.get(key) is not None
    }


def _pm(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.2f} ± {pair[1]:.2f}"


def _hyperparameters(found: Found) -> str:
    lines = []
    for name in _measured_names(found, averaged):
        [own] = matching(found, averaged, name=name)
        theta = PAPERS[name].theta
        each = np.array(own.result["found"])
        lines.append([name])
        for k in range(3):
            text = bounded(own.result["mean"][k])
            if len(each) > 1:
                text += f" ({bounded(each[:, k].min())} to {bounded(each[:, k].max())})"
            lines[-1] += [f"{theta[k]:g}", text]
        lines[-1].append(dates([own]))
    head = [f"{name}, {whose}" for name in ("κ₀", "κ", "κ_b") for whose in ("papers", "mean")]
    head = [text.removesuffix(", mean") for text in head]
    if not lines:
        return ""
    return (
        f"The average of the first partitions, up to {AVERAGED}, and in brackets the lowest and "
        "the highest.\n\n" + table(["set", *head, "measured"], lines)
    )


def _rates(found: Found) -> str:
    lines = []
    for name in _measured_names(found, averaged):
        [own] = matching(found, averaged, name=name)
        peers = matching(found, averaged_svc, name=name)
        errors = own.result["errors"]
        svc = list(peers[0].result["errors"]) if peers else []
        p = paired(np.subtract(errors, svc))[1] if svc else math.nan
        papers = PAPERS[name]
        lines.append(
            [
                name,
                str(len(errors)),
                _pm(papers.rate),
                spread(errors, 2),
                spread(own.result["errors_papers"], 2),
                _pm(papers.svc),
                spread(svc, 2),
                power(papers.p_svc),
                "" if math.isnan(p) else power(p),
                dates([own, *peers]),
            ]
        )
    head = ["set", "partitions", "BTSVC, papers", "BTSVC", "BTSVC with the papers' averages"]
    peers_head = ["SVC, papers", "SVC", "p, papers", "p"]
    return table([*head, *peers_head, "measured"], lines) if lines else ""


def _own_rates(found: Found) -> str:
    lines = []
    for name in _measured_names(found, inferred):
        errors = {m: _own(found, name, m, "error") for m in METHODS}
        support = list(_own(found, name, "btsvc", "support").values())
        papers = PAPERS[name]
        lines.append(
            [
                name,
                str(max(map(len, errors.values()))),
                f"{papers.support[0]:.1f} ± {papers.support[1]:.1f}",
                spread(support, 1),
                _pm(papers.own_rate),
                spread(list(errors["btsvc"].values()), 2),
                _pm(papers.gpc_rate),
                spread(list(errors["gpc"].values()), 2),
                power(papers.p_gpc),
                _p_of(errors["btsvc"], errors["gpc"]),
                spread(list(errors["default"].values()), 2),
                _p_of(errors["default"], errors["btsvc"]),
                dates(matching(found, inferred, name=name)),
            ]
        )
    head = ["set", "partitions", "SVs, papers", "SVs", "BTSVC, papers", "BTSVC"]
    peers = ["GPC, papers", "GPC", "p, papers", "p"]
    own = ["default", "p, default and BTSVC", "measured"]
    return table([*head, *peers, *own], lines) if lines else ""


def _p_of(first: Mapping[int, float], second: Mapping[int, float]) -> str:
    """Return the p value of the partitions that both have."""
    p = paired([first[k] - second[k] for k in first if k in second])[1]
    return "" if math.isnan(p) else power(p)


def _costs(found: Found) -> str:
    lines = []
    for name in _measured_names(found, inferred):
        seconds = {m: list(_own(found, name, m, "seconds").values()) for m in METHODS}
        counts = {m: list(_own(found, name, m, "evaluations").values()) for m in METHODS}
        means = {m: float(np.mean(v)) if v else math.nan for m, v in seconds.items()}
        papers = PAPERS[name].seconds
        lines.append(
            [
                name,
                str(_ROWS[name]),
                f"{papers[0]:g}",
                number(means["btsvc"]),
                f"{papers[1]:g}",
                number(means["gpc"]),
                f"{papers[1] / papers[0]:.1f}",
                number(means["gpc"] / means["btsvc"], 2),
                number(means["default"]),
                *(f"{np.mean(counts[m]):.0f}" if counts[m] else "" for m in METHODS),
                dates(matching(found, inferred, name=name)),
            ]
        )
    head = ["set", "rows", "BTSVC, papers", "BTSVC", "GPC, papers", "GPC"]
    ratio = ["GPC / BTSVC, papers", "GPC / BTSVC", "default"]
    counts_head = [f"evaluations, {name}" for name in ("BTSVC", "GPC", "default")]
    if not lines:
        return ""
    return (
        "CPU seconds of a training, in the thesis on a Pentium III of 866 MHz, and evaluations of "
        "the evidence.\n\n" + table([*head, *ratio, *counts_head, "measured"], lines)
    )


def _log_scores(found: Found) -> str:
    lines = []
    for name in _measured_names(found, inferred):
        own = {m: _own(found, name, m, "mean_nll") for m in METHODS}
        lines.append(
            [
                name,
                *(spread(list(own[m].values()), 4) for m in METHODS),
                _p_of(own["default"], own["btsvc"]),
                dates(matching(found, inferred, name=name)),
            ]
        )
    head = [NAMES[m] for m in METHODS]
    if not lines:
        return ""
    return (
        "Minus the mean log probability of the test labels, in nats, which the thesis does not "
        "print for these sets.\n\n"
        + table(["set", *head, "p, default and BTSVC", "measured"], lines)
    )


def _remarks(found: Found) -> str:
    text = [_agreement(found), _of_offset(found), *_of_starts(found)]
    listed = "\n".join(f"- {line}" for line in text if line)
    return paragraphs((listed, _decomposition(found), _starts(found)))


def _decomposition(found: Found) -> str:
    """Split the differences in table 5.3 into those of hyperparameters and of partitions."""
    lines = []
    for name in _measured_names(found, averaged):
        [own] = matching(found, averaged, name=name)
        mean, deviation = PAPERS[name].rate
        errors, given = own.result["errors"], own.result["errors_papers"]
        ours, theirs, n = float(np.mean(errors)), float(np.mean(given)), len(errors)
        error = deviation / math.sqrt(n)
        parts = [ours - mean, ours - theirs, theirs - mean]
        lines.append(
            [
                name,
                str(n),
                *(f"{part:+.2f}" for part in parts),
                f"{error:.2f}",
                f"{abs(parts[2]) / error:.1f}",
                dates([own]),
            ]
        )
    if not lines:
        return ""
    head = ["set", "partitions", "difference", "of hyperparameters", "of partitions"]
    return (
        "The difference of table 5.3 from the thesis, in per cent of the test rows, in two parts: "
        "what our averages do instead of the printed ones on the same partitions, and what the "
        "printed ones do on these partitions instead of all hundred. The standard error of the "
        "latter is the thesis' standard deviation over the root of the number of partitions.\n\n"
        + table([*head, "standard error", "partitions / error", "measured"], lines)
    )


def _agreement(found: Found) -> str:
    """Say which errors are farther from the thesis than its spread."""
    beyond, count = [], 0
    for name in _measured_names(found, inferred):
        papers = PAPERS[name]
        for method, (mean, deviation) in (("btsvc", papers.own_rate), ("gpc", papers.gpc_rate)):
            errors = list(_own(found, name, method, "error").values())
            if len(errors) >= AVERAGED:
                count += 1
                off = float(np.mean(errors)) - mean
                if abs(off) > deviation:
                    beyond.append(f"{NAMES[method]} on {name} ({off:+.2f})")
    if not count:
        return ""
    text = (
        f"{count - len(beyond)} of {count} mean errors of table 5.4 are within a standard "
        "deviation of those of the thesis"
    )
    return f"{text}." if not beyond else f"{text}; not {', '.join(beyond)}."


def _of_offset(found: Found) -> str:
    """Say what the offset does to GPC on ringnorm."""
    parts = []
    for kappa_b in OFFSETS:
        own = results(found, with_offset, kappa_b=kappa_b)
        if own:
            nats, error = (np.mean(columns(own, key)) for key in ("minus_log_evidence", "error"))
            parts.append(f"{error:.2f} % at κ_b = {kappa_b:g} (minus log evidence {nats:.1f})")
    if not parts:
        return ""
    free = list(_own(found, "ringnorm", "gpc", "kappa_b").values())
    end = f"; with κ_b free it ends at {number(float(np.mean(free)))}" if free else ""
    return (
        "The error of GPC on ringnorm depends on the offset, which the thesis does not print for "
        f"it: {', '.join(parts)}{end}. What this evidence prefers is not what errs least, so that "
        "where the search of the thesis stopped may have helped it; and the pool is another draw."
    )


class _End(NamedTuple):
    """Where searches end on the first partitions: means, as table 5.3 has them."""

    theta: NDArray[np.float64]
    error: float
    minus_log_evidence: float


def _end(found: Found, name: str, search: str, start: float) -> _End | None:
    own, place = results(found, from_each_start, name=name, search=search), STARTS[search]
    if not own:
        return None
    mean = {
        key: float(np.mean([each[key][place.index(start)] for each in own]))
        for key in ("kappa_0", "kappa", "kappa_b", "error", "minus_log_evidence")
    }
    theta = np.array([mean["kappa_0"], mean["kappa"], mean["kappa_b"]])
    return _End(theta, mean["error"], mean["minus_log_evidence"])


def _nearest(found: Found, name: str) -> float | None:
    """Return the start whose ends are nearest to the thesis in the logs of kappa_0 and kappa."""
    ends = [_end(found, name, "once", k) for k in PAPERS_STARTS]
    if None in ends:
        return None
    target = np.log(PAPERS[name].theta[:2])
    off = [np.linalg.norm(np.log(end.theta[:2]) - target) for end in ends if end is not None]
    return PAPERS_STARTS[int(np.argmin(off))]


def _of_starts(found: Found) -> list[str]:
    """Say which starts lead to what the thesis prints."""
    names = _measured_names(found, from_each_start)
    by_start: dict[float, list[str]] = {}
    for name in names:
        start = _nearest(found, name)
        if start is not None:
            by_start.setdefault(start, []).append(name)
    text = []
    if by_start:
        which = "; ".join(f"κ₀ = {k:g} on {', '.join(v)}" for k, v in sorted(by_start.items()))
        text.append(
            "The thesis starts at one of κ₀ = 0.1, 1, 10 and 100, usually at 10. Of these, the "
            f"ends nearest to its averages of κ₀ and κ are those from {which}."
        )
    kept = [name for name in names if 0.75 < PAPERS[name].theta[2] / 100.0 < 1.25]
    moved = {
        name: end.theta[2]
        for name in kept
        if (end := _end(found, name, "smooth", USUAL)) is not None
    }
    if moved:
        ends = ", ".join(f"{bounded(v)} on {name}" for name, v in moved.items())
        text.append(
            f"On {', '.join(kept)} the κ_b of the thesis is within a quarter of its start, 100. "
            f"The smooth evidence, which does not jump, has its optimum at κ_b = {ends}: such "
            "printed values are where a run stopped at a jump, not optima."
        )
    return text


def _starts(found: Found) -> str:
    """Return where the searches end from each start."""
    lines = []
    tried = [(search, start) for search, starts in STARTS.items() for start in starts]
    for name in _measured_names(found, from_each_start):
        line = [name, _theta(np.array(PAPERS[name].theta))]
        for search, start in tried:
            end = _end(found, name, search, start)
            text = "" if end is None else f"{_theta(end.theta)}; {end.error:.1f} %"
            line.append(text)
        exact = [_end(found, name, *each) for each in tried if each[0] != "smooth"]
        known = [end.minus_log_evidence for end in exact if end is not None]
        usual = _end(found, name, "once", USUAL)
        line.append("" if usual is None else f"{usual.minus_log_evidence - min(known):.2f}")
        line.append(dates(matching(found, from_each_start, name=name)))
        lines.append(line)
    if not lines:
        return ""
    head = [f"from {k:g}" for k in PAPERS_STARTS]
    more = [f"from 10, {SEARCHES[search]}" for search in ("again", "smooth")]
    return (
        "Where the search ends from each start of κ₀: averages of κ₀, κ and κ_b over the first "
        f'partitions, up to {AVERAGED}, and the error on their test rows. "Lost" is what the run from 10 has '
        "less than the best of all starts, nats of the exact evidence.\n\n"
        + table(["set", "papers", *head, *more, "lost", "measured"], lines)
    )


def _theta(theta: NDArray[np.float64]) -> str:
    return ", ".join(bounded(value, 2) for value in theta)


def _ard(found: Found) -> str:
    lines = []
    for name, (support, rate, gpc_rate, p) in PAPERS_ARD.items():
        own = {m: results(found, with_relevance, name=name, method=m) for m in ("btsvc", "gpc")}
        if not any(own.values()):
            continue
        errors = {m: columns(v, "error") for m, v in own.items()}
        lines.append(
            [
                name,
                f"{support[0]:.1f} ± {support[1]:.1f}",
                spread(columns(own["btsvc"], "support"), 1),
                _pm(rate),
                spread(errors["btsvc"], 2),
                _pm(gpc_rate),
                spread(errors["gpc"], 2),
                power(p),
                dates(matching(found, with_relevance, name=name)),
            ]
        )
    head = ["set", "SVs, papers", "SVs", "BTSVC, papers", "BTSVC", "GPC, papers", "GPC"]
    return table([*head, "p, papers", "measured"], lines) if lines else ""
