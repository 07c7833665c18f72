"""The laser series of section 4.5.3: figure 4.3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pymc_bsvm.reporting.style import BLACK, BLUE, GREY, ORANGE
from reproduce.cell import Cell
from reproduce.page import Section, number, table
from reproduce.plan import Plan
from reproduce.regression import Split, measured
from reproduce.store import Found

TRAINED, NEW, LAGS = 1000, 100, 8
HARD = range(1051, 1081)  # where, as the thesis says, the error bars are larger
METHODS = {"papers": "as the papers", "default": "default"}


# ---- measures ------------------------------------------------------------------------------------


def series_of(data: Path | None) -> NDArray[np.float64]:
    """Return the points to learn from and those to predict."""
    assert data is not None
    folder = data / "santafe_a"
    files = (np.loadtxt(folder / name) for name in ("A.dat", "A.cont"))
    return np.concatenate([part.ravel() for part in files])[: TRAINED + NEW]


def split_of(series: NDArray[np.float64]) -> Split:
    """Return each point with the eight before it; all are normalised by those to learn from."""
    windows = np.lib.stride_tricks.sliding_window_view(series, LAGS + 1)
    X, y, count = windows[:, :LAGS], windows[:, LAGS], TRAINED - LAGS
    split = Split(X[:count], y[:count], X[count:], y[count:])
    return split.standardised(targets=True)


def trained(data: Path | None, method: str, **settings: Any) -> dict[str, Any]:
    """Learn the series and predict each new point from the eight true ones before it.

    What is returned is in units of the series.
    """
    series = series_of(data)
    split, centre = split_of(series), float(series[LAGS:TRAINED].mean())
    r = measured(method, split, predictions=True, **settings)
    return r | {
        "C": r["C"] / split.unit,
        "epsilon": split.unit * r["epsilon"],
        "noise": split.unit**2 * r["noise"],
        "mean": [round(centre + split.unit * m, 4) for m in r["mean"]],
        "variance": [round(split.unit**2 * v, 4) for v in r["variance"]],
        "truth": series[TRAINED:].tolist(),
    }


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield both methods."""
    if plan.has("santafe_a"):
        yield Cell(trained, {"method": "papers"}, 30.0)
        yield Cell(trained, {"method": "default"}, 30.0)


# ---- the page ------------------------------------------------------------------------------------


TITLE = "Laser series (figure 4.3)"
INTRODUCTION = """Points 1 to 1000 of the Santa Fe series A to learn from, 1001 to 1100 to predict,
each from the eight before it; β = 0.3. The papers have a figure only, and say of it that the
predictions do not match very well from 1051 to 1080, where the error bars are larger."""
CAPTION = (
    "Above the series and the predictions, below their errors with error bars of two standard "
    "deviations of new points."
)
HEAD = [
    *("method", "ASE", "AAE", "C", "ε", "σₙ", "SV_M", "SV_C", "within 2 sd"),
    *("error bar, 1051 to 1080", "elsewhere", "root of ASE there", "elsewhere", "CPU s"),
    "measured",
]


def section(found: Found, plan: Plan) -> Section:
    """Return table and figure of whatever is there."""
    if not found:
        return Section(TITLE, plan.missing("santafe_a") or INTRODUCTION)
    text = [
        INTRODUCTION,
        "{laser}",
        "All in units of the series, which are counts from 0 to 255.",
        table(HEAD, rows_of(found)),
        larger(found),
    ]
    return Section(TITLE, "\n\n".join(text), {"laser": (drawing(found), CAPTION)})


def forecast(result: Any) -> tuple[NDArray[np.float64], ...]:
    """Return errors, standard deviations, and which points are the hard ones."""
    error = np.subtract(result["mean"], result["truth"])
    hard = np.isin(np.arange(TRAINED + 1, TRAINED + 1 + NEW), HARD)
    return error, np.sqrt(result["variance"]), hard


def rows_of(found: Found) -> Iterator[list[str]]:
    """Yield a row for each method."""
    for cell, m in found.items():
        r = m.result
        error, sd, hard = forecast(r)
        inside = float(np.mean(np.abs(error) <= 2.0 * sd))
        root = [float(np.sqrt(np.mean(error[rows] ** 2))) for rows in (hard, ~hard)]
        bars = [2.0 * float(sd[rows].mean()) for rows in (hard, ~hard)]
        yield [
            *(METHODS[cell.arguments["method"]], number(r["ase"]), number(r["aae"])),
            *(number(r["C"]), number(r["epsilon"]), number(r["noise"] ** 0.5)),
            *(str(r["free"]), str(r["bound"]), f"{inside:.0%}"),
            *(number(v) for v in (*bars, *root, r["cpu"])),
            m.date,
        ]


def larger(found: Found) -> str:
    """Say whether error bars are larger where the errors are."""
    sentences = []
    for cell, m in found.items():
        _, sd, hard = forecast(m.result)
        ratio = sd[hard].mean() / sd[~hard].mean()
        sentences.append(f"{ratio:.1f} times as wide ({METHODS[cell.arguments['method']]})")
    return f"From 1051 to 1080 the error bars are {' and '.join(sentences)} as elsewhere."


def drawing(found: Found) -> Figure:
    """Draw figure 4.3, one column for each method."""
    points = np.arange(TRAINED + 1, TRAINED + 1 + NEW)
    style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(style):
        figure, axes = plt.subplots(
            *(2, len(found)),
            figsize=(9.0, 4.4),
            layout="constrained",
            sharex=True,
            sharey="row",
            squeeze=False,
        )
        for (above, below), (cell, m) in zip(axes.T, found.items(), strict=True):
            error, sd, _ = forecast(m.result)
            above.plot(points, m.result["truth"], color=BLACK, lw=0.9, label="series")
            above.plot(points, m.result["mean"], ".", color=BLUE, ms=4, label="prediction")
            above.set_title(METHODS[cell.arguments["method"]])
            below.fill_between(points, -2.0 * sd, 2.0 * sd, color=BLUE, alpha=0.25, lw=0)
            below.axhline(0.0, color=GREY, lw=0.8)
            below.plot(points, error, ".", color=ORANGE, ms=4)
            below.axvspan(HARD[0], HARD[-1], color="0.93", lw=0, zorder=0)
            below.set_xlabel("point of the series")
        axes[0, 0].set_ylabel("counts")
        axes[1, 0].set_ylabel("prediction − target, counts")
        axes[0, 0].legend(frameon=False, loc="upper right", ncols=2)
    return figure
