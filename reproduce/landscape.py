"""The evidence and the test error over the hyperparameters: figure 5.6."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from pymc_bsvm.approximations import EP, Approximation, Laplace
from pymc_bsvm.datasets import load_folder
from pymc_bsvm.reporting.style import BLACK, BLUE, ORANGE
from pymc_bsvm.solvers import DualSolveError
from reproduce.cell import Cell, Measured
from reproduce.classifiers import PapersEvidence
from reproduce.page import Section, dates, number, table
from reproduce.plan import Plan
from reproduce.results import paragraphs
from reproduce.store import Found

__all__ = ["cells", "line", "section"]

SETS = ("banana", "waveform")
KAPPA_B = 100.0
# Table 5.3: kappa_0 and kappa.
PAPERS = {"banana": (2.308, 1.425), "waveform": (1.310, 0.0393)}
APPROXIMATIONS: dict[str, Approximation] = {
    "laplace": Laplace(curvature="exact", tol=1e-6),
    "ep": EP(tol=1e-4),
}
NAMES = {"laplace": "Laplace's method, as the papers", "ep": "expectation propagation"}
_COST = {"laplace": 0.05, "ep": 0.1}  # CPU seconds of one point


def axes_of(name: str, plan: Plan) -> tuple[list[float], list[float]]:
    """Return the values of kappa_0 and of kappa, around those of the thesis."""
    count = plan.choose(15, 7)
    kappa = PAPERS[name][1]
    across = np.geomspace(0.05, 500.0, count)
    up = np.geomspace(kappa / 30.0, kappa * 10.0, count)
    return [float(f"{v:.4g}") for v in across], [float(f"{v:.4g}") for v in up]


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield the lines of constant kappa."""
    for name in SETS:
        if plan.has(name):
            across, up = axes_of(name, plan)
            for approximation, cost in _COST.items():
                for kappa in up:
                    arguments = {"name": name, "approximation": approximation, "kappa": kappa}
                    yield Cell(line, {**arguments, "kappa_0": across}, cost * len(across))


def line(
    data: Path | None, name: str, approximation: str, kappa: float, kappa_0: list[float]
) -> dict[str, Any]:
    """Return minus the log evidence and the test error, in per cent, along kappa_0."""
    assert data is not None
    X, labels, Z, truth = load_folder(data / name, 0).split()
    return along(X, labels, Z, truth == 1, APPROXIMATIONS[approximation], kappa, kappa_0)


def along(
    X: NDArray[np.float64],
    labels: Any,
    Z: NDArray[np.float64],
    truth: NDArray[np.bool_],
    approximation: Approximation,
    kappa: float,
    kappa_0: list[float],
) -> dict[str, Any]:
    """Return the same for rows; None where the approximation has no solution."""
    objective = PapersEvidence(X, labels, approximation)
    kernel = np.exp(-0.5 * kappa * cdist(X, Z, "sqeuclidean"))
    minus_log_evidence: list[float | None] = []
    error: list[float | None] = []
    for signal in kappa_0:
        try:
            evidence = objective.at(np.log([signal, kappa, KAPPA_B]))
        except DualSolveError:
            objective.forget()
            minus_log_evidence.append(None)
            error.append(None)
            continue
        mean = evidence.posterior.predict_mean(signal * kernel + KAPPA_B)
        minus_log_evidence.append(-evidence.log_evidence)
        error.append(100.0 * float(((mean > 0.0) != truth).mean()))
    return {"minus_log_evidence": minus_log_evidence, "error": error}


# ---- the page --------------------------------------------------------------------------------


def section(found: Found, plan: Plan) -> Section:
    """Return the figure, and where its valleys are."""
    title = "Evidence and test error over the hyperparameters (figure 5.6)"
    text = [_INTRODUCTION] if found else ["Nothing is measured yet."]
    maps = {}
    for name in SETS:
        for approximation in APPROXIMATIONS:
            known, measured = _map(found, plan, name, approximation)
            if measured:
                maps[name, approximation] = known, measured
    if maps:
        text += [_table(maps, plan), _remarks(maps, plan)]
    text.append(plan.missing(*SETS))
    whole = {key: known for key, (known, _) in maps.items() if np.isfinite(known).mean() > 0.3}
    if not whole:
        return Section(title, paragraphs(text))
    caption = (
        "Figure 5.6 again, on the first partition: minus the log evidence (nats), by both "
        "approximations, and the test error (%) of the latter's means; κ_b is 100. Circles: the "
        "highest evidence of the grid; crosses: the averages of table 5.3."
    )
    text.append("{landscape}")
    return Section(
        title,
        paragraphs(text),
        {"landscape": (_figure(whole, plan), caption)},
    )


_INTRODUCTION = """Minus the log evidence of the first partition, and the error on its test rows,
over κ₀ and κ with κ_b = 100, by Laplace's method and by expectation propagation. (The caption of
the thesis calls the vertical axis κ_b, which is fixed; the journal's has κ.) The rank correlation
is Spearman's over all points of the grid: one would mean that the evidence orders hyperparameters
as the test error does."""


def _map(
    found: Found, plan: Plan, name: str, approximation: str
) -> tuple[NDArray[np.float64], list[Measured]]:
    """Return evidence and error on the grid, of shape (2, kappa, kappa_0), with NaN for gaps."""
    across, up = axes_of(name, plan)
    known, measured = np.full((2, len(up), len(across)), np.nan), []
    for cell, each in found.items():
        arguments = cell.arguments
        if (arguments["name"], arguments["approximation"]) == (name, approximation):
            k = up.index(arguments["kappa"])
            known[0, k] = np.array(each.result["minus_log_evidence"], dtype=float)
            known[1, k] = np.array(each.result["error"], dtype=float)
            measured.append(each)
    return known, measured


def _table(maps: Any, plan: Plan) -> str:
    lines = []
    for (name, approximation), (known, measured) in maps.items():
        across, up = axes_of(name, plan)
        evidence, error = known
        there = np.isfinite(evidence)
        k, j = np.unravel_index(np.nanargmin(evidence), evidence.shape)
        lines.append(
            [
                name,
                NAMES[approximation],
                f"{there.sum()} of {there.size}",
                number(across[j]),
                number(up[k]),
                f"{evidence[k, j]:.1f}",
                f"{error[k, j]:.2f}",
                f"{np.nanmin(error):.2f}",
                f"{spearmanr(evidence[there], error[there]).statistic:.2f}",
                dates(measured),
            ]
        )
    head = ["set", "evidence", "points", "best κ₀", "best κ", "minus log evidence"]
    errors = ["its error, %", "lowest error, %", "rank correlation", "measured"]
    return table([*head, *errors], lines, left=2)


def _remarks(maps: Any, plan: Plan) -> str:
    """Say how the approximations differ where the signal is strong."""
    text = []
    for name in SETS:
        losses = {}
        for approximation in APPROXIMATIONS:
            if (name, approximation) in maps:
                evidence = maps[name, approximation][0][0]
                if np.isfinite(evidence).all():
                    losses[approximation] = evidence[:, -1].min() - evidence.min()
        if len(losses) == len(APPROXIMATIONS):
            far = axes_of(name, plan)[0][-1]
            text.append(
                f"- {name}: from the best point to the best one with κ₀ = {far:g} Laplace's "
                f"evidence falls by {losses['laplace']:.1f} nats, that of expectation propagation "
                f"by {losses['ep']:.1f}."
            )
    return "\n".join(text)


def _figure(maps: dict[tuple[str, str], NDArray[np.float64]], plan: Plan) -> Figure:
    names = [name for name in SETS if any(key[0] == name for key in maps)]
    look = {"font.size": 9}
    with plt.rc_context(look):
        figure, axes = plt.subplots(
            len(names),
            3,
            figsize=(10.0, 3.5 * len(names)),
            layout="constrained",
            squeeze=False,
            sharey="row",
        )
        for row, name in zip(axes, names, strict=True):
            for ax, approximation in zip(row, APPROXIMATIONS, strict=False):
                if (name, approximation) in maps:
                    known = maps[name, approximation]
                    _panel(ax, name, plan, known[0], "evidence")
                    _mark(ax, name, plan, known[0])
                ax.set_title(f"{name}: −log evidence,\n{NAMES[approximation]}")
            last = [a for a in APPROXIMATIONS if (name, a) in maps][-1]
            _panel(row[2], name, plan, maps[name, last][1], "error")
            _mark(row[2], name, plan, maps[name, last][0])
            row[2].set_title(f"{name}: test error, %\n{NAMES[last]}")
            row[0].set_ylabel("κ, per squared unit of the inputs")
        for ax in axes[-1]:
            ax.set_xlabel("κ₀, squared units of f")
    return figure


def _panel(ax: Axes, name: str, plan: Plan, values: NDArray[np.float64], kind: str) -> None:
    """Draw contours, close together near the lowest value."""
    across, up = axes_of(name, plan)
    lowest = float(np.nanmin(values))
    steps = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0])
    if kind == "error":
        steps = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    steps = steps[lowest + steps < np.nanmax(values)]
    masked = np.ma.masked_invalid(values)
    shades = plt.get_cmap("Blues_r" if kind == "evidence" else "Oranges_r")
    levels = lowest + np.concatenate([[-1e-9], steps, [np.inf]])
    levels[-1] = float(np.nanmax(values)) + 1e-9
    fill = shades(np.linspace(0.3, 1.0, len(levels) - 1))
    ax.contourf(across, up, masked, levels, colors=fill)
    colour = BLUE if kind == "evidence" else ORANGE
    lines = ax.contour(across, up, masked, levels[1:-1], colors=colour, linewidths=0.8)
    ax.clabel(lines, fontsize=7, fmt="%.0f" if kind == "evidence" else "%.1f", colors=BLACK)
    ax.set(xscale="log", yscale="log")


def _mark(ax: Axes, name: str, plan: Plan, evidence: NDArray[np.float64]) -> None:
    """Mark the highest evidence, and the hyperparameters of table 5.3."""
    across, up = axes_of(name, plan)
    k, j = np.unravel_index(np.nanargmin(evidence), evidence.shape)
    ax.plot(across[j], up[k], "o", mfc="none", mec=BLACK, ms=8, mew=1.5)
    ax.plot(*PAPERS[name], "x", color=BLACK, ms=7, mew=1.5)
