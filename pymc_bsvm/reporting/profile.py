"""The evidence along one hyperparameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.inference.objective import marginals_of
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.reporting.style import legend_below
from pymc_bsvm.reporting.training import axes_or_new

__all__ = ["plot_evidence_profile"]


def plot_evidence_profile(
    fit: EvidenceFit,
    name: str,
    *,
    index: tuple[int, ...] = (),
    span: float = 1.0,
    points: int = 61,
    exact: bool = True,
    beside: Sequence[str | Approximation] = (),
    ax: Axes | None = None,
) -> Axes:
    """Plot the log evidence along one hyperparameter, the others staying at the fit.

    Parameters
    ----------
    fit : EvidenceFit
        Result of `fit_evidence`.
    name : str
        A free variable with positive values.
    index : tuple of int
        Element of the variable, if it is an array.
    span : float, default 1
        Distance to both sides, in units of the variable's logarithm.
    points : int, default 61
        Number of evaluations.
    exact : bool, default True
        For Laplace's approximation: draw the exact evidence, which jumps, beside the smooth one.
    beside : sequence of str or Approximation
        Other approximations to draw, such as ``["ep"]``: a spike of one is none of the other.
    ax : matplotlib axes, optional
        Where to draw. New ones by default.

    Returns
    -------
    Axes
        The axes; the numbers of support vectors have a second vertical axis.
    """
    center = _center(fit, name, index)
    values = center * np.exp(np.linspace(-span, span, points))
    ax = axes_or_new(ax)
    marginals = marginals_of(fit.model)
    own = [marginal.approximation for marginal in marginals]
    curves = list(zip(*(a.variants() for a in own), strict=False)) if exact else [tuple(own)]
    curves += [(approximation_of(other),) * len(own) for other in beside]
    others = [curve for curve in curves if list(curve) != own]
    along = [_moved(fit, name, index, value) for value in values]
    counts = np.zeros(points)
    for curve in sorted(curves, key=lambda curve: list(curve) == own):  # the model's own on top
        evidence = np.zeros(points)
        for marginal, approximation in zip(marginals, curve, strict=True):
            evaluator, start = marginal.evaluator(fit.model), None
            for k, point in enumerate(along):
                found = evaluator.at(point, approximation, start).evidence
                start = found.start
                evidence[k] += found.log_evidence
                if list(curve) == own:
                    counts[k] += found.solution.support.sum()
        color = "C0" if list(curve) == own else f"C{others.index(curve) + 1}"
        ax.plot(values, evidence, color=color, lw=1.0, label=_label(curve))
    ax.axvline(center, color="0.7", lw=0.8, zorder=0)
    label = name + (str(list(index)) if index else "")
    ax.set(xscale="log", xlabel=label, ylabel="log evidence (nats)")
    legend_below(ax, columns=2)
    other = ax.twinx()
    other.plot(values, counts, color="0.4", lw=1.0, ls=":", drawstyle="steps-mid")
    other.yaxis.set_major_locator(MaxNLocator(integer=True))
    other.set_ylabel("support vectors (dotted)")
    return ax


def _center(fit: EvidenceFit, name: str, index: tuple[int, ...]) -> float:
    """Return the value at the fit around which a profile is drawn."""
    if not isinstance(fit, EvidenceFit):
        raise TypeError(
            f"fit must be a result of fit_evidence, but it is of type {type(fit).__name__}. "
            "Pass what fit_evidence returned."
        )
    free = [rv.name for rv in fit.model.free_RVs]
    if name not in free:
        raise ValueError(
            f"{name!r} is no free variable of the model. Use one of {', '.join(free)}."
        )
    shape = np.shape(fit.point[name])
    if len(index) != len(shape) or not all(0 <= k < n for k, n in zip(index, shape, strict=True)):
        raise ValueError(
            f"{name} has the shape {shape}, but index is {index}. "
            f"Pass, for example, index={(0,) * len(shape)}."
        )
    center = float(fit.point[name][index])
    if not center > 0.0:
        raise ValueError(
            f"{name} is {center:g} at the fit, which has no logarithm. "
            "Profiles are drawn for positive hyperparameters."
        )
    return center


def _label(curve: tuple[Approximation, ...]) -> str:
    """Return the approximations of a curve in words."""
    return ", ".join(dict.fromkeys(map(str, curve)))


def _moved(fit: EvidenceFit, name: str, index: tuple[int, ...], value: float) -> dict[str, Any]:
    """Return the fit's point with one element changed."""
    moved = np.array(fit.point[name], dtype=float)
    moved[index] = value
    return {**fit.point, name: moved}
