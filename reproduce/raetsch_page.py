"""The page of the sets of Raetsch and others: tables, and why they differ from the thesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.classifiers import NAMES, PAPERS_STARTS, SEARCHES
from reproduce.page import Section, dates, number, power, spread, table
from reproduce.plan import Plan
from reproduce.raetsch import (
    AT_LEAST,
    AVERAGED,
    METHODS,
    OFFSETS,
    OTHERS,
    PAPERS,
    PAPERS_ARD,
    POOL,
    ROWS,
    STARTS,
    USUAL,
    averaged,
    averaged_svc,
    folder_of,
    from_each_start,
    inferred,
    names_in,
    paired,
    with_offset,
    with_relevance,
)
from reproduce.results import bounded, columns, matching, paragraphs, results
from reproduce.store import Found

__all__ = ["page"]


def page(found: Found, plan: Plan) -> Section:
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
        for name in names_in(plan):
            if name == "ringnorm" or plan.data is None:
                continue
            genuine = len(folder_of(plan.data, name).train)
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
                str(ROWS[name]),
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
        f"partitions, up to {AVERAGED}, and the error on their test rows. What the run from 10 has "
        '"lost" is what it has less than the best of all starts, nats of the exact evidence.\n\n'
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
