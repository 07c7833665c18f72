"""Which inputs matter, by their length-scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from pymc_bsvm._typing import Array
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.reporting.training import axes_or_new

__all__ = ["plot_relevance"]


def plot_relevance(
    source: Any,
    name: str = "ls",
    *,
    labels: Sequence[str] | None = None,
    draws: int = 1000,
    ax: Axes | None = None,
) -> Axes:
    """Plot the relevance of each input, the inverse of its length-scale.

    Parameters
    ----------
    source : EvidenceFit, DataTree or estimator
        A fit, whose error bars need ``hessian=True``; posterior draws; or a fitted estimator with
        ``ard=True``, whose relevances are in units of standardised columns.
    name : str, default "ls"
        The vector of length-scales, in units of the inputs. An estimator does not need it.
    labels : sequence of str, optional
        Names of the inputs; by default the coordinate of the variable, the columns that an
        estimator saw, or the index.
    draws : int, default 1000
        Number of draws for the error bars of a fit.
    ax : matplotlib axes, optional
        Where to draw. New ones by default.

    Returns
    -------
    Axes
        Horizontal bars, the most relevant input on top. Where there are draws, a bar is their
        median and its error bar holds 90 % of them; else it is the mode.
    """
    sample: Array | None = None
    if hasattr(source, "get_params"):
        relevance, coordinate = _of_estimator(source)
        axis = "relevance, standard deviation / length-scale"
    else:
        values, sample, coordinate = _length_scales(source, name, draws)
        if values.ndim != 1:
            raise ValueError(
                f"{name} must be a vector of length-scales, but it has {values.ndim} dimensions. "
                "Use one length-scale for each input."
            )
        relevance, axis = 1.0 / values, f"relevance, 1 / {name}"
    labels = [str(x) for x in (coordinate if labels is None else labels)]
    if len(labels) != relevance.size:
        raise ValueError(
            f"The number of labels is {len(labels)}, but there are {relevance.size} length-scales. "
            "Pass one for each."
        )
    order = np.argsort(relevance)
    ax = axes_or_new(ax)
    ax.barh(np.arange(relevance.size), relevance[order], color="C0", alpha=0.7)
    if sample is not None:
        low, high = np.quantile(1.0 / sample, [0.05, 0.95], axis=0)
        for place, k in enumerate(order):
            ax.plot([low[k], high[k]], [place, place], color="k", lw=1.0)
    ax.set_yticks(np.arange(relevance.size), [labels[k] for k in order])
    ax.set_xlabel(axis)
    return ax


def _of_estimator(source: Any) -> tuple[Array, Sequence[object]]:
    """Return the relevances of an estimator and the labels."""
    if not hasattr(source, "relevance_"):
        raise ValueError(
            f"{type(source).__name__} has no relevance_. "
            "Fit it with ard=True and a kernel with length-scales."
        )
    names = getattr(source, "feature_names_in_", range(source.n_features_in_))
    return np.asarray(source.relevance_), list(names)


def _length_scales(
    source: EvidenceFit | xr.DataTree, name: str, draws: int
) -> tuple[Array, Array | None, Sequence[object]]:
    """Return central values, draws of shape (draws, d), and the labels."""
    if isinstance(source, EvidenceFit):
        if name not in source.point:
            raise ValueError(f"{name!r} is not in the fit. Use one of {', '.join(source.point)}.")
        sample = None if source.hessian is None else source.draws(draws, 0)[name]
        values = np.asarray(source.point[name] if sample is None else np.median(sample, axis=0))
        dims = source.model.named_vars_to_dims.get(name)
        coordinate = source.model.coords.get(dims[0]) if dims else None
        return values, sample, range(values.size) if coordinate is None else coordinate
    if "posterior" not in getattr(source, "children", {}):
        raise TypeError(
            f"source must be an estimator, a fit or a DataTree with a posterior, but it is of type "
            f"{type(source).__name__}. Pass what fit_evidence or pm.sample returned."
        )
    posterior = source["posterior"].dataset
    if name not in posterior:
        raise ValueError(
            f"{name!r} is not in the posterior. Use one of {', '.join(map(str, posterior))}."
        )
    array = posterior[name].stack(sample=("chain", "draw")).transpose("sample", ...)
    values = np.median(array.values, axis=0)
    return values, array.values, array.coords[array.dims[1]].values if array.ndim > 1 else [0]
