"""The table of hyperparameters: the mode, and the Gaussian near it on the variables' own scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from arviz_base import rcParams
from pymc import Model
from scipy import stats

from pymc_bsvm._pymc import LogTransform
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, as_parameter
from pymc_bsvm.search.hessian import Hessian

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["labels_of", "summary_of"]

_SHARE = Interval(0.0, 1.0)

type Draws = Callable[[], dict[str, Array]]


def summary_of(
    model: Model,
    point: dict[str, Array],
    gaussian: Hessian | None,
    draws: Draws,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Return one row for each element of each variable; see `EvidenceFit.summary`.

    Parameters
    ----------
    model : pymc.Model
        The model, for transforms and coordinates.
    point : dict
        The mode.
    gaussian : Hessian, optional
        The Gaussian on the unconstrained space; without it the table has the mode alone.
    draws : callable
        Returns draws of the Gaussian by name. Called only if a transform needs them.
    ci_prob : float, optional
        Probability of the interval; ArviZ's default if there is none.
    """
    import pandas as pd

    share = as_parameter(
        "ci_prob", rcParams["stats.ci_prob"] if ci_prob is None else ci_prob, _SHARE
    )
    ends = f"eti{100.0 * share:g}_lb", f"eti{100.0 * share:g}_ub"
    drawn: dict[str, Array] = {}
    rows: dict[str, dict[str, float]] = {}
    for name, value in point.items():
        marginals = None if gaussian is None else _marginals(model, name, value.shape, gaussian)
        if gaussian is not None and marginals is None:
            drawn = drawn or draws()
        for index, label in zip(
            np.ndindex(value.shape), labels_of(model, name, value), strict=True
        ):
            row = rows[label] = {"mode": float(value[index])}
            if marginals is not None:
                law = marginals[index]
                row |= {"mean": law.mean(), "sd": law.std()}
                row |= dict(zip(ends, law.interval(share), strict=True))
            elif gaussian is not None:
                x = drawn[name][(slice(None), *index)]
                row |= {"mean": float(x.mean()), "sd": float(x.std())}
                tails = np.quantile(x, [0.5 - share / 2.0, 0.5 + share / 2.0])
                row |= dict(zip(ends, tails.tolist(), strict=True))
    return pd.DataFrame.from_dict(rows, orient="index")


def _marginals(
    model: Model, name: str, shape: tuple[int, ...], gaussian: Hessian
) -> dict[tuple[int, ...], Any] | None:
    """Return the distribution of each element if it is normal or log-normal, else None."""
    variable = next((rv for rv in model.free_RVs if rv.name == name), None)
    if variable is None:
        return None
    transform = model.rvs_to_transforms[variable]
    if not (transform is None or isinstance(transform, LogTransform)):
        return None
    value = model.rvs_to_values[variable].name
    laws = {}
    for index in np.ndindex(shape):
        k = gaussian.names.index(value + (str(list(index)) if index else ""))
        mean, sd = gaussian.mean[k], np.sqrt(gaussian.covariance[k, k])
        laws[index] = (
            stats.norm(mean, sd) if transform is None else stats.lognorm(sd, scale=np.exp(mean))
        )
    return laws


def labels_of(model: Model, name: str, value: Array) -> list[str]:
    """Return the name of each element, such as ``ls[width]``, by the coordinates of the model."""
    if not value.ndim:
        return [name]
    dims = model.named_vars_to_dims.get(name) or (None,) * value.ndim
    coordinates = [
        range(size) if model.coords.get(dim) is None else model.coords[dim]
        for dim, size in zip(dims, value.shape, strict=True)
    ]
    return [
        f"{name}[{', '.join(str(c[k]) for c, k in zip(coordinates, index, strict=True))}]"
        for index in np.ndindex(value.shape)
    ]
