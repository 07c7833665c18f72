"""Two classes in two dimensions: table 5.2, figures 5.4 and 5.5."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from pymc_bsvm.datasets import two_gaussians, two_gaussians_probability
from pymc_bsvm.reporting.style import BLACK, PROBABILITY, draw_classes
from reproduce.cell import Cell
from reproduce.classifiers import COLOURS, NAMES, Classifier, scores, trained
from reproduce.page import Section, dates, number, spread, table
from reproduce.plan import Plan
from reproduce.results import columns, matching, paragraphs, results
from reproduce.store import Found

__all__ = ["bayes", "cells", "classified", "contours", "exact", "growth", "optimal", "section"]

# Table 5.2: minus the log likelihood of the test rows, and the share of errors.
PAPERS = {
    "optimal": (2532.5, 0.0490),
    "bayes": (2559.2, 0.0495),
    "klogr": (2663.4, 0.0502),
    "svc": (2703.5, 0.0507),
    "gpc": (2570.3, 0.0496),
    "btsvc": (2665.7, 0.0496),
}
NAMES_HERE = {
    "optimal": "Optimal",
    "bayes": "Bayes, estimated moments",
    "klogr": "Kernel logistic regression",
    "svc": "SVC with Platt's sigmoid",
    "gpc": "GPC",
    "btsvc": NAMES["btsvc"],
    "default": NAMES["default"],
}
TEST_ROWS, TEST_SEED = 20002, 1003
SIZES = (10, 20, 50, 100, 200, 500, 1000)
QUICK_SIZES = (10, 30, 100, 200)
DRAWS = 20
# About how many CPU seconds a training and the prediction of the test rows take.
_COST = {
    "svc": lambda n: 1.0 + 0.003 * n,
    "btsvc": lambda n: 0.8 + 0.002 * n,
    "default": lambda n: 1.0 + 6e-6 * n**2,
    "gpc": lambda n: 0.1 + 8e-6 * n**2,
    "optimal": lambda n: 0.1,
    "bayes": lambda n: 0.1,
}
GRID = 61
REGION = (-6.0, 6.0), (-4.5, 4.5)


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield table 5.2 on one draw, the contours, then all sizes, draw by draw."""
    sizes = plan.choose(SIZES, QUICK_SIZES)
    largest, draws = max(sizes), plan.choose(DRAWS, 2)
    of_table = [m for m in NAMES_HERE if m != "klogr"]

    def cell(method: str, n: int, draw: int) -> Cell:
        arguments = {"method": method, "n": n, "draw": draw}
        return Cell(classified, arguments, float(_COST[method](n)))

    for method in of_table:
        yield cell(method, largest, 0)
    for method in ("bayes", "btsvc", "gpc", "default"):
        yield Cell(contours, {"method": method, "n": largest}, float(_COST[method](largest)))
    for draw in range(draws):
        for n in sizes:
            for method in (*COLOURS, "bayes") if n == largest else COLOURS:
                if (n, draw) != (largest, 0):
                    yield cell(method, n, draw)


def optimal() -> Classifier:
    """Return the classifier that knows the true densities."""
    return Classifier(
        {}, lambda Z: two_gaussians_probability(Z) > 0.5, lambda Z: two_gaussians_probability(Z)
    )


def bayes(X: NDArray[np.float64], labels: NDArray[np.int64]) -> Classifier:
    """Estimate the moments of two normal densities."""
    model = QuadraticDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, labels)
    return Classifier({}, lambda Z: model.predict(Z) == 1, lambda Z: model.predict_proba(Z)[:, 1])


def exact() -> tuple[float, float, float]:
    """Return the error and the NLL of the test rows that the true densities have on average.

    By quadrature; with the standard deviation of the NLL over draws of the rows.
    """
    u, v = np.linspace(-14.0, 14.0, 561), np.linspace(-12.0, 12.0, 481)
    one = norm.pdf(u, -2.0, 1.0)[:, None] * norm.pdf(v, 0.0, np.sqrt(2.0))
    zero = norm.pdf(u, 2.0, np.sqrt(2.0))[:, None] * norm.pdf(v, 0.0, 1.0)
    cell = 0.5 * (u[1] - u[0]) * (v[1] - v[0])
    parts = np.stack([one, zero])
    nats = np.log(one + zero) - np.log(parts)
    first, second = (float((parts * nats**k).sum()) * cell for k in (1, 2))
    error = float(np.minimum(one, zero).sum()) * cell
    return error, TEST_ROWS * first, math.sqrt(TEST_ROWS * (second - first**2))


def _trained(method: str, n: int, draw: int) -> Classifier:
    if method == "optimal":
        return optimal()
    X, labels = two_gaussians(n, dim=2, random_state=draw)
    return bayes(X, labels) if method == "bayes" else trained(method, X, labels)


def classified(data: Path | None, method: str, n: int, draw: int) -> dict[str, Any]:
    """Return how well a method labels the 20002 test rows, and what it cost."""
    found = _trained(method, n, draw)
    X, labels = two_gaussians(TEST_ROWS, dim=2, random_state=TEST_SEED)
    return {**found.facts, **scores(found, X, labels)}


def contours(data: Path | None, method: str, n: int) -> dict[str, Any]:
    """Return the probabilities of figure 5.4 on a grid, row by row."""
    found = _trained(method, n, 0)
    assert found.probability is not None
    p = found.probability(np.column_stack([axis.ravel() for axis in _grid()]))
    return {"p": np.round(p, 4).tolist()}


def _grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    u, v = np.meshgrid(*(np.linspace(*ends, GRID) for ends in REGION))
    return u, v


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Return the power of the size with which the seconds grow, by least squares of logs."""
    if len(sizes) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


# ---- the page --------------------------------------------------------------------------------


def section(found: Found, plan: Plan) -> Section:
    """Return the table, the contours, and errors and times by the size."""
    title = "Two classes in two dimensions (table 5.2, figures 5.4 and 5.5)"
    known = results(found, classified)
    if not known:
        return Section(title, "Nothing is measured yet.")
    figures, text = {}, [_introduction(plan), _table(found, plan), _remarks(found, plan)]
    if any(cell.measure is contours for cell in found):
        caption = (
            "Figure 5.4 again: probabilities of label 1 from the same "
            f"{max(plan.choose(SIZES, QUICK_SIZES))} rows; dotted is one half by the true "
            "densities."
        )
        figures["two_classes_contours"] = _contours(found, plan), caption
        text.append("{two_classes_contours}")
    caption = (
        "Figure 5.5 again: share of errors on the test rows, and CPU seconds of a training "
        "(filled) and of one evaluation or one SVC (open); means and standard deviations over "
        f"up to {plan.choose(DRAWS, 2)} draws."
    )
    figures["two_classes_sizes"] = _sizes(found, plan), caption
    text += ["{two_classes_sizes}", _growth(found, plan)]
    return Section(title, paragraphs(text), figures)


def _introduction(plan: Plan) -> str:
    n = max(plan.choose(SIZES, QUICK_SIZES))
    rows = f"{n} training rows" + (" (the thesis has 1000)" if plan.quick else "")
    return f"""{rows}, {TEST_ROWS} test rows; means and standard deviations over draws of the
training rows. NLL is minus the sum of the log probabilities of the test labels, in nats. "Above
optimal" is what it has more than the true densities: this hardly depends on the draw of the test
rows, as the NLL itself does. SVC has the two grids of the thesis in ten folds. GPC is that of
scikit-learn, with Laplace's method and the covariance and starts of BTSVC, and an implementation
of its own."""


def _table(found: Found, plan: Plan) -> str:
    n = max(plan.choose(SIZES, QUICK_SIZES))
    best = columns(results(found, classified, method="optimal", n=n), "nll")
    lines = []
    for method, name in NAMES_HERE.items():
        paper = PAPERS.get(method)
        own = results(found, classified, method=method, n=n)
        nll = columns(own, "nll")
        above = [value - best[0] for value in nll] if best else []
        lines.append(
            [
                name,
                f"{paper[0]:.1f}" if paper else "",
                spread(nll, 1),
                f"{paper[0] - PAPERS['optimal'][0]:.1f}" if paper else "",
                spread(above, 1),
                f"{paper[1]:.4f}" if paper else "",
                spread(columns(own, "error"), 4),
                str(len(own)) if own else "",
                dates(matching(found, classified, method=method, n=n)),
            ]
        )
    head = ["method", "NLL, papers", "NLL", "above optimal, papers", "above optimal"]
    return table([*head, "errors, papers", "errors", "draws", "measured"], lines)


def _remarks(found: Found, plan: Plan) -> str:
    """Say what is different from the thesis, and why."""
    n = max(plan.choose(SIZES, QUICK_SIZES))
    text = []
    best = results(found, classified, method="optimal", n=n)
    if best:
        error, nll, deviation = exact()
        theirs, ours = ((v - nll) / deviation for v in (PAPERS["optimal"][0], best[0]["nll"]))
        text.append(
            f"By quadrature, the true densities err on {100 * error:.2f} % of rows, and their NLL "
            f"of {TEST_ROWS} rows is {nll:.0f} with a standard deviation of {deviation:.0f} over "
            f"draws. The thesis has {PAPERS['optimal'][0]}, {theirs:+.1f} standard deviations, and "
            f"{100 * PAPERS['optimal'][1]:.2f} %; here they have {best[0]['nll']:.1f}, {ours:+.1f} "
            "of them. So all figures of the thesis are as high as its draw is, and those above "
            "the optimum are to be compared."
        )
    spare = [
        name for name in ("svc", "gpc", "btsvc") if results(found, classified, method=name, n=n)
    ]
    if best and spare:
        parts = []
        for name in spare:
            own = columns(results(found, classified, method=name, n=n), "error")
            here = spread([100 * (e - best[0]["error"]) for e in own], 2)
            there = 100 * (PAPERS[name][1] - PAPERS["optimal"][1])
            parts.append(f"{there:.2f} by {NAMES_HERE[name]} in the thesis, {here} here")
        text.append(f"Errors above the optimum, in per cent of the rows: {'; '.join(parts)}.")
    svc = results(found, classified, method="svc", n=n)
    if best and len(svc) > 1:
        order = sorted(svc, key=lambda each: each["nll"])
        ends = (
            f"{each['nll'] - best[0]['nll']:.0f} with C = {number(each['C'])} and κ = "
            f"{number(each['kappa'])}"
            for each in (order[0], order[-1])
        )
        text.append(
            "The number of errors on rows left out hardly tells the points of SVC's grids apart, "
            "and probabilities suffer from what it picks: NLL above optimal from "
            f"{' to '.join(ends)}. The thesis takes its figures of SVC from Keerthi et al. (2002), "
            "who chose by five folds."
        )
    return "\n".join(f"- {line}" for line in text)


def _growth(found: Found, plan: Plan) -> str:
    """Return a table of times and growth exponents."""
    sizes = plan.choose(SIZES, QUICK_SIZES)
    large = [n for n in sizes if n >= 100]
    lines = []
    for method in COLOURS:
        times, ones, known = [], [], []
        for n in large:
            own = results(found, classified, method=method, n=n)
            if own:
                known.append(n)
                times.append(float(np.mean(columns(own, "seconds"))))
                ones.append(float(np.mean([r["seconds"] / r["evaluations"] for r in own])))
        if not known:
            continue
        day = dates(matching(found, classified, method=method))
        evaluations = columns(results(found, classified, method=method, n=known[-1]), "evaluations")
        lines.append(
            [
                NAMES[method],
                f"{known[-1]}",
                number(times[-1]),
                number(float(np.mean(evaluations))),
                number(growth(known, times)),
                number(growth(known, ones)),
                day,
            ]
        )
    head = ["method", "largest size", "seconds of a training", "evaluations"]
    powers = ["exponent, training", "exponent, one evaluation"]
    return (
        "Seconds s of n ≥ 100 rows grow as a power of n; an evaluation is one of the evidence with "
        "its gradient, or one SVC on the rows of a fold. The seconds of the default hold more than "
        "its evaluations: the choice of starts, and the power of the odds.\n\n"
        + table([*head, *powers, "measured"], lines)
    )


# ---- the figures -----------------------------------------------------------------------------

_LOOK = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def _contours(found: Found, plan: Plan) -> Figure:
    u, v = _grid()
    exact = two_gaussians_probability(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
    n = max(plan.choose(SIZES, QUICK_SIZES))
    X, labels = two_gaussians(n, dim=2, random_state=0)
    inside = np.all(
        [(low <= x) & (x <= high) for x, (low, high) in zip(X.T, REGION, strict=True)], 0
    )
    with plt.rc_context(_LOOK):
        figure, axes = plt.subplots(
            2, 2, figsize=(9.0, 6.6), layout="constrained", sharex=True, sharey=True
        )
        for ax, method in zip(axes.ravel(), ("bayes", "btsvc", "gpc", "default"), strict=True):
            ax.set_title(NAMES_HERE[method])
            own = results(found, contours, method=method)
            if not own:
                continue
            p = np.reshape(own[0]["p"], u.shape)
            colours = ax.contourf(u, v, p, np.linspace(0, 1, 21), cmap=PROBABILITY, alpha=0.75)
            draw_classes(ax, X[inside], labels[inside] == 1, np.zeros(inside.sum(), dtype=bool))
            for marks in ax.collections[-2:]:
                marks.set(sizes=[4.0], linewidths=[0.5])
            lines = ax.contour(u, v, p, (0.1, 0.3, 0.5, 0.7, 0.9), colors=BLACK, linewidths=1.0)
            ax.clabel(lines, fontsize=7)
            ax.contour(u, v, exact, (0.5,), colors=BLACK, linestyles=":", linewidths=1.6)
        for ax in axes[1]:
            ax.set_xlabel("x1")
        for ax in axes[:, 0]:
            ax.set_ylabel("x2")
        figure.colorbar(colours, ax=axes, ticks=np.linspace(0, 1, 6), label="P(y = 1)")
    return figure


def _sizes(found: Found, plan: Plan) -> Figure:
    sizes = plan.choose(SIZES, QUICK_SIZES)
    best = results(found, classified, method="optimal")
    with plt.rc_context(_LOOK):
        figure, axes = plt.subplots(
            2, 4, figsize=(10.0, 5.2), layout="constrained", sharex=True, sharey="row"
        )
        for column, method in zip(axes.T, ("svc", "btsvc", "gpc", "default"), strict=True):
            column[0].set_title(NAMES[method])
            column[1].set(xscale="log", yscale="log", xlabel="training rows")
            column[1].xaxis.set_major_locator(FixedLocator([10, 100, 1000]))
            column[1].xaxis.set_major_formatter(ScalarFormatter())
            column[1].xaxis.set_minor_formatter(NullFormatter())
            if best:
                column[0].axhline(100 * best[0]["error"], color=BLACK, lw=0.8, ls=":")
            for n in sizes:
                own = results(found, classified, method=method, n=n)
                if not own:
                    continue
                errors = 100.0 * np.array(columns(own, "error"))
                seconds = np.array(columns(own, "seconds"))
                ones = seconds / np.array(columns(own, "evaluations"))
                look: dict[str, Any] = {"color": COLOURS[method], "capsize": 2, "ms": 4}
                column[0].errorbar(n, errors.mean(), errors.std(), fmt="o", **look)
                column[1].errorbar(n, seconds.mean(), seconds.std(), fmt="o", **look)
                column[1].errorbar(n, ones.mean(), ones.std(), fmt="o", mfc="white", **look)
        axes[0, 0].set_ylabel("errors, %")
        axes[1, 0].set_ylabel("CPU time, s")
    return figure
