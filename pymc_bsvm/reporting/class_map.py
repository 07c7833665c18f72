"""The probability of a class over two inputs, with the support vectors."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from pymc import Model

from pymc_bsvm.gp.place import Point
from pymc_bsvm.gp.process import MarginalProcess
from pymc_bsvm.reporting.style import BLACK, PROBABILITY, draw_classes, legend_below
from pymc_bsvm.reporting.training import Training, axes_or_new, check_column

__all__ = ["plot_class_map"]


def plot_class_map(
    gp: MarginalProcess,
    point: Point,
    *,
    columns: tuple[int, int] = (0, 1),
    resolution: int = 80,
    model: Model | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the probability of label 1 over two inputs; others are held at their medians.

    Parameters
    ----------
    gp : MarginalProcess
        A process with a classification loss and its data.
    point : mapping or EvidenceFit
        Values of the free variables, or a fit.
    columns : pair of int, default (0, 1)
        Inputs on the axes.
    resolution : int, default 80
        Number of grid points along each axis.
    model : pymc.Model, optional
        The model; by default that of the context.
    ax : matplotlib axes, optional
        Where to draw. New ones by default.

    Returns
    -------
    Axes
        The axes, with a colour bar and a legend; the line is at probability one half. Label 1 is
        blue, label 0 is orange, and support vectors are filled.
    """
    training = Training.of(gp, point, model)
    if training.X.shape[1] < 2:
        raise ValueError(
            f"A map needs two inputs, but X has {training.X.shape[1]} column. "
            "Plot predict_proba along the input instead."
        )
    for column in columns:
        check_column("columns", column, training.X)
    first, second = columns
    if first == second:
        raise ValueError(
            f"A map needs two inputs, but columns is {columns}. Pass two different columns."
        )
    low, high = training.X.min(axis=0), training.X.max(axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    axis = [np.linspace(low[c] - margin[c], high[c] + margin[c], resolution) for c in columns]
    a, b = np.meshgrid(*axis)
    grid = np.repeat(np.median(training.X, axis=0)[None], a.size, axis=0)
    grid[:, first], grid[:, second] = a.ravel(), b.ravel()
    p = gp.predict_proba(grid, point, model=model).reshape(a.shape)
    ax = axes_or_new(ax)
    levels = np.linspace(0.0, 1.0, 21)
    map_ = ax.contourf(a, b, p, levels=levels, cmap=PROBABILITY, alpha=0.75)
    ax.contour(a, b, p, levels=[0.5], colors=BLACK, linewidths=1.0)
    ax.figure.colorbar(map_, ax=ax, label="P(y = 1)", ticks=[0.0, 0.25, 0.5, 0.75, 1.0])
    support = training.free | training.bound
    draw_classes(ax, training.X[:, [first, second]], training.y > 0.0, support)
    ax.set(xlabel=f"input {first}", ylabel=f"input {second}")
    legend_below(ax, columns=2)
    return ax
