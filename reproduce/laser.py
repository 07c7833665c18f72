"""The laser series of section 4.5.3: figure 4.3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

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

type Array = NDArray[np.float64]

TRAINED, NEW, LAGS = 1000, 100, 8
HARD = range(1051, 1081)  # where, as the thesis says, the error bars are larger
METHODS = {"papers": "as the papers", "default": "default"}


# ---- measures ------------------------------------------------------------------------------------


def series_of(data: Path | None) -> Array:
    """Return the points to learn from and those to predict."""
    assert data is not None
    folder = data / "santafe_a"
    files = (np.loadtxt(folder / name) for name in ("A.dat", "A.cont"))
    return np.concatenate([part.ravel() for part in files])[: TRAINED + NEW]


def split_of(series: Array) -> Split:
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
    places = {k: r[k] for k in ("mean", "low", "high") if k in r}
    return r | {
        **{k: [round(centre + split.unit * v, 4) for v in part] for k, part in places.items()},
        "C": r["C"] / split.unit,
        "epsilon": split.unit * r["epsilon"],
        "noise": split.unit**2 * r["noise"],
        "variance": [round(split.unit**2 * v, 4) for v in r["variance"]],
        "truth": series[TRAINED:].tolist(),
    }


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield both methods."""
    if plan.has("santafe_a"):
        yield Cell(trained, {"method": "papers"}, 5.0)
        yield Cell(trained, {"method": "default"}, 4.0)


# ---- the page ------------------------------------------------------------------------------------


TITLE = "Laser series (figure 4.3)"
INTRODUCTION = """Points 1 to 1000 of the Santa Fe series A to learn from, 1001 to 1100 to predict,
each from the eight before it; β = 0.3. The papers have a figure only, and say of it that the
predictions do not match very well from 1051 to 1080, where the error bars are larger."""
UNITS = """All in units of the series, which are counts from 0 to 255. The error bars are two
standard deviations as in the thesis; of "default", whose noise has other tails than a normal
distribution, they are central intervals of the same probability, 95.4 %."""
CAPTION = (
    "Above the series and the predictions, below their errors and the error bars of new points; in "
    "grey the points from 1051 to 1080."
)
HEAD = [
    *("method", "ASE", "AAE", "C", "ε", "σₙ", "SV_M", "SV_C", "within error bars"),
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
        UNITS,
        table(HEAD, rows_of(found)),
        larger(found),
    ]
    return Section(TITLE, "\n\n".join(text), {"laser": (drawing(found), CAPTION)})


class Forecast(NamedTuple):
    """Errors of predictions, the error bars, and which points are the hard ones."""

    error: Array
    below: Array
    above: Array
    hard: NDArray[np.bool_]

    @classmethod
    def of(cls, result: Any) -> Forecast:
        """Return that of a result; without intervals of its own it has two standard deviations."""
        mean, two_sd = np.array(result["mean"]), 2.0 * np.sqrt(result["variance"])
        below, above = (
            np.abs(np.subtract(result[key], mean)) if key in result else two_sd
            for key in ("low", "high")
        )
        hard = np.isin(np.arange(TRAINED + 1, TRAINED + 1 + NEW), HARD)
        return cls(mean - result["truth"], below, above, hard)

    @property
    def bar(self) -> Array:
        """Half of the width of the error bars."""
        return 0.5 * (self.below + self.above)

    @property
    def inside(self) -> float:
        """The share of the points that are within their error bars."""
        return float(np.mean((self.error <= self.below) & (-self.error <= self.above)))


def rows_of(found: Found) -> Iterator[list[str]]:
    """Yield a row for each method."""
    for cell, m in found.items():
        r, forecast = m.result, Forecast.of(m.result)
        parts = forecast.hard, ~forecast.hard
        root = [float(np.sqrt(np.mean(forecast.error[rows] ** 2))) for rows in parts]
        bars = [float(forecast.bar[rows].mean()) for rows in parts]
        yield [
            *(METHODS[cell.arguments["method"]], number(r["ase"]), number(r["aae"])),
            *(number(r["C"]), number(r["epsilon"]), number(r["noise"] ** 0.5)),
            *(str(r["free"]), str(r["bound"]), f"{forecast.inside:.0%}"),
            *(number(v) for v in (*bars, *root, r["cpu"])),
            m.date,
        ]


def larger(found: Found) -> str:
    """Say whether error bars are larger where the errors are."""
    sentences = []
    for cell, m in found.items():
        forecast = Forecast.of(m.result)
        ratio = forecast.bar[forecast.hard].mean() / forecast.bar[~forecast.hard].mean()
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
            forecast = Forecast.of(m.result)
            above.plot(points, m.result["truth"], color=BLACK, lw=0.9, label="series")
            above.plot(points, m.result["mean"], ".", color=BLUE, ms=4, label="prediction")
            above.set_title(METHODS[cell.arguments["method"]])
            ends = -forecast.above, forecast.below  # of prediction minus target
            below.fill_between(points, *ends, color=BLUE, alpha=0.25, lw=0, label="error bars")
            below.axhline(0.0, color=GREY, lw=0.8)
            below.plot(points, forecast.error, ".", color=ORANGE, ms=4, label="error")
            below.axvspan(HARD[0], HARD[-1], color="0.93", lw=0, zorder=0)
            below.set_xlabel("point of the series")
        axes[0, 0].set_ylabel("counts")
        axes[1, 0].set_ylabel("prediction − target, counts")
        marks = [artist for ax in axes[:, 0] for artist in ax.get_legend_handles_labels()[0]]
        figure.legend(handles=marks, loc="outside lower center", ncols=4, frameon=False)
    return figure
