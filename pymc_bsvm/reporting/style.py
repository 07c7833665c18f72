"""The colours and marks of every figure: the same for a class, or a kind of row, in all of them."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

__all__ = [
    "BLACK",
    "BLUE",
    "BOUND",
    "CLASSES",
    "FREE",
    "GREEN",
    "GREY",
    "MARKERS",
    "ORANGE",
    "PROBABILITY",
    "PURPLE",
    "draw_classes",
    "legend_below",
]

# Of Okabe and Ito, told apart by readers with any colour vision.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
BLACK, GREY = "#000000", "0.6"

# Labels, with their marks for readers of a print in grey.
CLASSES = {1: BLUE, 0: ORANGE}
MARKERS = {1: "o", 0: "s"}

# Rows of a regression: those on the edge of the tube, those that pull with all their force.
FREE, BOUND = GREEN, PURPLE

# From a label 0 that is certain, by white, to a label 1 that is.
PROBABILITY = LinearSegmentedColormap.from_list("probability", [ORANGE, "white", BLUE])


def draw_classes(
    ax: Axes, X: NDArray[np.float64], ones: NDArray[np.bool_], support: NDArray[np.bool_]
) -> None:
    """Draw rows in the colour and the mark of their class; support vectors are filled.

    Parameters
    ----------
    ax : matplotlib axes
        Where to draw.
    X : ndarray of shape (n, 2)
        The places of the rows.
    ones : ndarray of bool, shape (n,)
        Whether the label of a row is 1.
    support : ndarray of bool, shape (n,)
        Whether a row is a support vector.
    """
    kinds: dict[str, tuple[NDArray[np.bool_], Any]] = {
        "support vectors": (support, {"s": 24, "edgecolors": BLACK, "linewidths": 0.7}),
        "others": (~support, {"s": 12, "facecolors": "white", "linewidths": 0.9}),
    }
    for label, colour in CLASSES.items():
        for kind, (mask, look) in kinds.items():
            rows = mask & (ones == bool(label))
            if rows.any():
                look = {"facecolors": colour, "edgecolors": colour} | look
                name = f"label {label}, {kind}"
                ax.scatter(*X[rows].T, marker=MARKERS[label], label=name, **look)


def legend_below(ax: Axes, columns: int = 3) -> Legend:
    """Put the legend under the horizontal axis and its label, where it covers no data.

    Parameters
    ----------
    ax : matplotlib axes
        Axes with labelled artists.
    columns : int, default 3
        Number of columns.

    Returns
    -------
    Legend
        The legend. Constrained and tight layouts make room for it.
    """
    size = float(mpl.rcParams["font.size"])
    inches = (13.0 + 2.4 * size) / 72.0  # of the ticks, their labels and the label of the axis
    place = ax.transAxes + ScaledTranslation(0.0, -inches, ax.figure.dpi_scale_trans)
    return ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=place,
        borderaxespad=0.0,
        ncols=columns,
        fontsize="small",
        frameon=False,
    )
