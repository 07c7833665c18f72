"""A regression along one input: mean, predictive band, tube and support vectors."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from pymc import Model

from pymc_bsvm._validation import Interval, as_parameter
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.gp.place import Point
from pymc_bsvm.gp.process import MarginalProcess
from pymc_bsvm.losses import SILF
from pymc_bsvm.reporting.style import BLUE, BOUND, FREE, GREY, legend_below
from pymc_bsvm.reporting.training import Training, axes_or_new, check_column

__all__ = ["plot_regression_band"]


def plot_regression_band(
    gp: MarginalProcess,
    point: Point,
    Xnew: ArrayLike | None = None,
    *,
    column: int = 0,
    coverage: float = 0.9,
    model: Model | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a regression with its predictive band, its tube and its support vectors.

    Parameters
    ----------
    gp : MarginalProcess
        A process with a regression loss and its data.
    point : mapping or EvidenceFit
        Values of the free variables, or a fit.
    Xnew : array_like of shape (n_new, d), optional
        Inputs of the curves. By default 200 points across `column`, the others at their medians.
    column : int, default 0
        Input on the horizontal axis.
    coverage : float, default 0.9
        Probability of the band: its ends are exact quantiles of new targets.
    model : pymc.Model, optional
        The model; by default that of the context.
    ax : matplotlib axes, optional
        Where to draw. New ones by default.

    Returns
    -------
    Axes
        The axes, with a legend.
    """
    coverage = as_parameter("coverage", coverage, Interval(0.0, 1.0))
    training = Training.of(gp, point, model)
    check_column("column", column, training.X)
    if Xnew is None:
        grid = np.repeat(np.median(training.X, axis=0)[None], 200, axis=0)
        grid[:, column] = np.linspace(*_range(training.X[:, column]), 200)
    else:
        grid = gp.at(point, model=model).rows(Xnew)
    order = np.argsort(grid[:, column])
    grid = grid[order]
    predictive = gp.predictive(grid, point, model=model)
    if not isinstance(predictive, RegressionPredictive):
        raise ValueError(
            f"{type(training.loss).__name__} is a loss of labels, which have no band. "
            "Use plot_class_map."
        )
    x, mean = grid[:, column], predictive.mean
    low, high = (predictive.quantile(u) for u in (0.5 - coverage / 2, 0.5 + coverage / 2))
    ax = axes_or_new(ax)
    ax.fill_between(
        x, low, high, color=BLUE, alpha=0.2, lw=0, label=f"{100 * coverage:.4g}% of targets"
    )
    loss = predictive.loss
    if isinstance(loss, SILF) and np.any(loss.beta < 1.0):
        epsilon = loss.epsilon
        ax.plot(x, mean - epsilon, color=BLUE, lw=0.8, ls="--", label="tube")
        ax.plot(x, mean + epsilon, color=BLUE, lw=0.8, ls="--")
    ax.plot(x, mean, color=BLUE, label="mean")
    flat = ~(training.free | training.bound)
    for mask, label, style in (
        (flat, "others", {"color": GREY, "marker": "."}),
        (training.free, "free support vectors", {"color": FREE, "marker": "o", "s": 18}),
        (training.bound, "bound support vectors", {"color": BOUND, "marker": "x", "s": 26}),
    ):
        if mask.any():
            inputs = training.X[mask, column]
            ax.scatter(inputs, training.y[mask], label=label, zorder=3, **style)
    ax.set(xlabel=f"input {column}", ylabel=getattr(gp, "name", "y"))
    legend_below(ax)
    return ax


def _range(x: np.ndarray) -> tuple[float, float]:
    margin = 0.03 * float(np.ptp(x) or 1.0)
    return float(x.min()) - margin, float(x.max()) + margin
