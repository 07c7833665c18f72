"""Two classes in one dimension, with an outlier and without: table 5.1, figure 5.3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import norm

from pymc_bsvm.datasets import two_gaussians
from pymc_bsvm.reporting.style import BLACK, CLASSES, GREY
from reproduce.cell import Cell
from reproduce.classifiers import COLOURS, NAMES, PAPERS_STARTS, SEARCHES, btsvc_at, trained
from reproduce.page import Section, dates, number, table
from reproduce.plan import Plan
from reproduce.results import columns, matching, paragraphs, quantiles, results
from reproduce.store import Found

__all__ = ["at_papers", "cells", "from_each_start", "section", "shapes", "shown"]

# Table 5.1: without and with the outlier; for SVC kappa and C.
PAPERS: dict[str, dict[bool, dict[str, float]]] = {
    "btsvc": {
        False: {
            "kappa_0": 7.485,
            "kappa": 0.194,
            "kappa_b": 0.565,
            "support": 9,
            "minus_log_evidence": 5.46,
        },
        True: {
            "kappa_0": 0.776,
            "kappa": 0.792,
            "kappa_b": 0.113,
            "support": 74,
            "minus_log_evidence": 15.97,
        },
    },
    "svc": {
        False: {"C": 7.943, "kappa": 0.159, "support": 6},
        True: {"C": 158.489, "kappa": 0.0158, "support": 8},
    },
}
WORDS = {
    "kappa_0": "κ₀",
    "kappa": "κ",
    "kappa_b": "κ_b",
    "support": "number of support vectors",
    "minus_log_evidence": "minus log evidence",
}
COSTS = {"btsvc": 0.3, "default": 0.4, "gpc": 0.2, "svc": 1.5}
FIRST_START = 0.1  # of kappa_0 in section 5.5.1
STARTS = {"once": list(PAPERS_STARTS), "again": [FIRST_START], "smooth": list(PAPERS_STARTS)}
_SEVERAL = 10  # draws, from which on there is a range to speak of
OUTLIER = -2.0
ENDS = -6.0, 6.0


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield the draw of the figure, then others for the spread."""
    for outlier in (False, True):
        for method, cost in COSTS.items():
            yield Cell(shapes, {"method": method, "outlier": outlier, "draw": 0}, cost)
    for draw in range(plan.choose(20, 3)):
        for outlier in (False, True):
            for method, cost in COSTS.items():
                if plan.quick and method == "svc" and draw > 0:
                    continue
                yield Cell(shown, {"method": method, "outlier": outlier, "draw": draw}, cost)
    for draw in range(plan.choose(20, 3)):
        for outlier in (False, True):
            yield Cell(at_papers, {"outlier": outlier, "draw": draw}, 0.05)
    for draw in range(plan.choose(20, 1)):
        for outlier in (False, True):
            for search, starts in STARTS.items():
                arguments = {"outlier": outlier, "draw": draw, "search": search}
                yield Cell(from_each_start, {**arguments, "starts": starts}, 0.3 * len(starts))
    for outlier in (True, False):  # for the ends of the range
        for draw in range(20, plan.choose(100, 20)):
            yield Cell(shown, {"method": "btsvc", "outlier": outlier, "draw": draw}, 0.3)


def rows(outlier: bool, draw: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the 100 rows of a draw, and the outlier."""
    X, labels = two_gaussians(100, random_state=draw)
    if outlier:
        X, labels = np.vstack([X, [[OUTLIER]]]), np.append(labels, 0)
    return X, labels


def shown(data: Path | None, method: str, outlier: bool, draw: int) -> dict[str, Any]:
    """Return what table 5.1 says of a training; and how suspicious the outlier looks.

    `below_outlier` is the number of rows of label 0 whose probability of it is below that of the
    outlier.
    """
    X, labels = rows(outlier, draw)
    found = trained(method, X, labels, **_settings(method))
    facts = dict(found.facts)
    if outlier and found.probability is not None:
        p = found.probability(X)
        facts["below_outlier"] = int((p[labels == 0] > p[-1] + 1e-12).sum())
    return facts


def shapes(data: Path | None, method: str, outlier: bool, draw: int) -> dict[str, Any]:
    """Return the curves of figure 5.3: probability and latent function, as far as there are."""
    found = trained(method, *rows(outlier, draw), **_settings(method))
    grid = np.linspace(*ENDS, 121)[:, None]
    curves: dict[str, Any] = {"x": grid.ravel()}
    if found.probability is not None:
        curves["probability"] = found.probability(grid)
    if found.latent is not None:
        curves["mean"], curves["deviation"] = found.latent(grid)
    if method == "svc":  # whose probabilities are not those of the thesis
        curves = {"x": grid.ravel(), "positive": found.positive(grid)}
    return {name: np.round(values.astype(float), 5).tolist() for name, values in curves.items()}


def from_each_start(
    data: Path | None, outlier: bool, draw: int, search: str, starts: list[float]
) -> dict[str, Any]:
    """Return where BTSVC ends from each start of the thesis."""
    given = rows(outlier, draw)
    ends = [trained("btsvc", *given, kappa_0=k, search=search).facts for k in starts]
    names = ("kappa_0", "kappa", "kappa_b", "support", "minus_log_evidence")
    return {name: [end[name] for end in ends] for name in names}


def _settings(method: str) -> dict[str, Any]:
    return {"kappa_0": FIRST_START} if method == "btsvc" else {}


def at_papers(data: Path | None, outlier: bool, draw: int) -> dict[str, Any]:
    """Return the evidence at the hyperparameters that the thesis prints for its own draw."""
    papers = PAPERS["btsvc"][outlier]
    theta = np.array([papers["kappa_0"], papers["kappa"], papers["kappa_b"]])
    return dict(btsvc_at(*rows(outlier, draw), theta).facts)


# ---- the page --------------------------------------------------------------------------------


def section(found: Found, plan: Plan) -> Section:
    """Return the tables, what is different in them and why, and the figure."""
    title = "Two classes in one dimension, and an outlier (table 5.1, figure 5.3)"
    if not results(found, shown) and not results(found, shapes):
        return Section(title, "Nothing is measured yet.")
    text = [_INTRODUCTION, _table(found, "btsvc"), _table(found, "svc"), _remarks(found)]
    figure = _figure(found)
    if figure is None:
        return Section(title, paragraphs(text))
    caption = (
        "Figure 5.3 again, on one draw: the latent function of BTSVC and of GPC with one standard "
        "deviation, and the probabilities, without and with the outlier. Arrows mark where SVC "
        "changes sides."
    )
    return Section(title, paragraphs([*text, "{outlier}"]), {"outlier": (figure, caption)})


_INTRODUCTION = """100 rows, half of them from N(-2, 1) with label 1, half from N(2, 1) with
label 0; with the outlier there is one more row of label 0 at -2. BTSVC starts at κ₀ = 0.1, κ = 1
and κ_b = 100. SVC has the two grids of the thesis, by leaving out one row at a time. The thesis has
one draw, which is not printed; here are the median of the draws, and in brackets their tenth and
ninetieth percentiles."""


def _table(found: Found, kind: str) -> str:
    """Return the part of table 5.1 for BTSVC or for SVC."""
    names = list(PAPERS[kind][False])
    lines = []
    for outlier in (False, True):
        case = "with the outlier" if outlier else "without"
        papers = PAPERS[kind][outlier]
        lines.append([case, "papers", *(f"{papers[name]:g}" for name in names), "1", ""])
        for method in ("btsvc", "default") if kind == "btsvc" else ("svc",):
            if method == "default":
                lines += _of_searches(found, outlier)
            own = results(found, shown, method=method, outlier=outlier)
            if not own:
                continue
            values = [quantiles(columns(own, name)) for name in names]
            if method == "default":
                values[names.index("kappa_b")] = "100 (fixed)"
            day = dates(matching(found, shown, method=method, outlier=outlier))
            lines.append([case, NAMES[method], *values, str(len(own)), day])
    head = [WORDS.get(name, name) for name in names]
    return table(["case", "model", *head, "draws", "measured"], lines, left=2)


def _of_searches(found: Found, outlier: bool) -> list[list[str]]:
    """Return rows for other searches of the same optimum."""
    lines = []
    for search, text in (
        ("again", f"the same, {SEARCHES['again']}"),
        ("smooth", f"{SEARCHES['smooth']}, best of four starts"),
    ):
        ends = results(found, from_each_start, outlier=outlier, search=search)
        if ends:
            values = [
                quantiles([each[name][int(np.argmin(each["minus_log_evidence"]))] for each in ends])
                for name in PAPERS["btsvc"][outlier]
            ]
            day = dates(matching(found, from_each_start, outlier=outlier, search=search))
            case = "with the outlier" if outlier else "without"
            lines.append([case, text, *values, str(len(ends)), day])
    return lines


def _remarks(found: Found) -> str:
    """Say what is as in the thesis, what is not, and why."""
    pairs = _pairs(found, "btsvc")
    text = []
    if pairs:
        n = len(pairs)
        fewer = sum(with_["kappa_0"] < without["kappa_0"] for without, with_ in pairs)
        more = sum(with_["support"] > without["support"] for without, with_ in pairs)
        narrow = sum(with_["kappa"] > without["kappa"] for without, with_ in pairs)
        text.append(
            f"The outlier lowers κ₀ in {fewer} of {n} draws, narrows the kernel in {narrow} and "
            f"adds support vectors in {more}, as the thesis finds on one."
        )
    for method in ("btsvc", "default", "gpc"):
        own = columns(results(found, shown, method=method, outlier=True), "below_outlier")
        if own:
            text.append(
                f"{NAMES[method]}: of all rows of its class the outlier has the lowest probability "
                f"of its own label in {sum(v == 0 for v in own)} of {len(own)} draws."
            )
    outside = _outside(found)
    if outside:
        text.append(outside)
    text += [*_of_papers_theta(found), *_of_starts(found)]
    return "\n".join(f"- {line}" for line in text)


def _pairs(found: Found, method: str) -> list[tuple[Any, Any]]:
    """Return the results without and with the outlier, of the draws that have both."""
    without, with_ = (
        _by_draw(found, shown, method=method, outlier=outlier) for outlier in (False, True)
    )
    return [(without[draw], with_[draw]) for draw in without if draw in with_]


def _outside(found: Found) -> str:
    """Say which figures of the thesis no draw comes near to."""
    beyond, within, n = [], 0, 0
    for outlier, papers in PAPERS["btsvc"].items():
        own = results(found, shown, method="btsvc", outlier=outlier)
        n = max(n, len(own))
        for name, value in papers.items():
            values = columns(own, name)
            if len(values) < _SEVERAL:
                continue
            if min(values) <= value <= max(values):
                within += 1
            else:
                case = "with" if outlier else "without"
                beyond.append(
                    f"{WORDS[name]} {case} the outlier ({value:g}; the draws have "
                    f"{number(min(values))} to {number(max(values))})"
                )
    if not beyond and not within:
        return ""
    text = (
        f"{within} of the {within + len(beyond)} figures of BTSVC lie inside the range of {n} draws"
    )
    return f"{text}." if not beyond else f"{text}; outside are {', '.join(beyond)}."


def _of_papers_theta(found: Found) -> list[str]:
    """Say how good the hyperparameters of the thesis are on other draws."""
    text = []
    for outlier in (False, True):
        at = _by_draw(found, at_papers, outlier=outlier)
        ends = _by_draw(found, from_each_start, outlier=outlier, search="once")
        losses = [
            at[draw]["minus_log_evidence"] - min(ends[draw]["minus_log_evidence"])
            for draw in at
            if draw in ends
        ]
        if losses:
            case = "with" if outlier else "without"
            text.append(
                f"{quantiles(losses)} nats {case} the outlier, where they leave "
                f"{quantiles(columns(list(at.values()), 'support'), 2)} support vectors"
            )
    if not text:
        return []
    return [
        "The hyperparameters of the thesis have less evidence on these draws than the best end of "
        f"the four starts by {' and '.join(text)}."
    ]


def _by_draw(found: Found, measure: Any, **arguments: Any) -> dict[int, Any]:
    return {
        cell.arguments["draw"]: measured.result
        for cell, measured in found.items()
        if cell.measure is measure
        and all(cell.arguments[name] == value for name, value in arguments.items())
    }


def _of_starts(found: Found) -> list[str]:
    """Say how much start and search matter."""
    text = []
    for search, name in (("once", "exact evidence"), ("smooth", "smooth evidence")):
        ends = results(found, from_each_start, search=search)
        if ends:
            ranges = [np.ptp(each["minus_log_evidence"]) for each in ends]
            text.append(
                f"{name}: {np.median(ranges):.2f} nats (median of {len(ends)} cases), "
                f"{max(ranges):.2f} at most"
            )
    if not text:
        return []
    return [
        "How far apart the evidences at the ends from κ₀ = 0.1, 1, 10 and 100 are: "
        + "; ".join(text)
        + ". The exact evidence jumps where a row becomes a support vector, and a run ends at a "
        "jump, so that the hyperparameters of a run depend on its start; κ₀, κ and κ_b trade off "
        "along a ridge."
    ]


# ---- the figure ------------------------------------------------------------------------------


def _figure(found: Found) -> Figure | None:
    curves = {
        (cell.arguments["method"], cell.arguments["outlier"]): measured.result
        for cell, measured in found.items()
        if cell.measure is shapes
    }
    if not curves:
        return None
    look = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(look):
        figure, axes = plt.subplots(3, 2, figsize=(9.0, 8.6), layout="constrained", sharex=True)
        _classes(axes[0, 0])
        for ax, outlier in ((axes[0, 1], False), (axes[1, 1], True)):
            _latent(ax, curves, "btsvc", outlier)
        _probabilities(axes[1, 0], curves, ("btsvc", "default"))
        _probabilities(axes[2, 0], curves, ("gpc",))
        _latent(axes[2, 1], curves, "gpc", True)
        for ax in axes[2]:
            ax.set_xlabel("input x")
    return figure


def _classes(ax: Axes) -> None:
    """Draw the densities and the rows."""
    x = np.linspace(*ENDS, 241)
    X, labels = rows(True, 0)
    for label, centre in ((1, -2.0), (0, 2.0)):
        ax.plot(x, norm.pdf(x, centre), color=CLASSES[label], label=f"label {label}")
        ax.plot(
            X[labels == label, 0],
            np.full((labels == label).sum(), -0.02),
            "|",
            ms=7,
            color=CLASSES[label],
        )
    ax.annotate(
        "outlier",
        (OUTLIER, -0.02),
        (OUTLIER, 0.12),
        ha="center",
        color=CLASSES[0],
        arrowprops={"arrowstyle": "->", "color": CLASSES[0]},
    )
    ax.set(title="The classes", ylabel="density", ylim=(-0.05, 0.5))
    ax.legend(frameon=False, ncols=2, loc="upper center")


def _latent(ax: Axes, curves: Any, method: str, outlier: bool) -> None:
    """Draw a latent function with its error bars, and where SVC changes sides."""
    case = "with the outlier" if outlier else "without the outlier"
    ax.axhline(0.0, color=GREY, lw=0.8)
    ax.set(title=f"{NAMES[method]}: {case}", ylabel="latent function f")
    if (own := curves.get((method, outlier))) is not None:
        x, mean, deviation = (np.array(own[name]) for name in ("x", "mean", "deviation"))
        ax.plot(x, mean, color=COLOURS[method], label="mean")
        ax.fill_between(
            x,
            mean - deviation,
            mean + deviation,
            color=COLOURS[method],
            alpha=0.2,
            lw=0,
            label="one standard deviation",
        )
    if (own := curves.get(("svc", outlier))) is not None:
        x, positive = np.array(own["x"]), np.array(own["positive"])
        for k in np.flatnonzero(np.diff(positive)):
            ax.annotate(
                "SVC",
                (0.5 * (x[k] + x[k + 1]), 0.0),
                xytext=(0, 26),
                ha="center",
                textcoords="offset points",
                arrowprops={"arrowstyle": "->"},
            )
    ax.legend(frameon=False, loc="upper right", fontsize=8, handlelength=1.4)


def _probabilities(ax: Axes, curves: Any, methods: tuple[str, ...]) -> None:
    """Draw probabilities of label 1, dashed with the outlier."""
    for method in methods:
        for outlier, style in ((False, "-"), (True, "--")):
            if (own := curves.get((method, outlier))) is not None:
                name = NAMES[method].partition(",")[0] + (", outlier" if outlier else "")
                ax.plot(own["x"], own["probability"], style, color=COLOURS[method], label=name)
    ax.axvline(OUTLIER, color=BLACK, lw=0.7, ls=":")
    ax.set(title="Probability of label 1", ylabel="P(y = 1)", ylim=(-0.03, 1.03))
    ax.legend(frameon=False, loc="upper right", fontsize=8, handlelength=1.4)
