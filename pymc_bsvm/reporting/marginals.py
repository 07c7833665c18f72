"""Hyperparameters by evidence against those by sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_mapping
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.reporting.style import legend_below

__all__ = ["plot_marginals"]


def plot_marginals(
    routes: Mapping[str, EvidenceFit | xr.DataTree],
    var_names: Sequence[str] | None = None,
    *,
    draws: int = 2000,
    ax: Sequence[object] | None = None,
) -> np.ndarray:
    """Plot the marginal distributions of hyperparameters from several routes.

    Parameters
    ----------
    routes : mapping
        Fits and DataTrees with a posterior, by name. A fit is drawn as a line at its mode, and
        with ``hessian=True`` also as the density of its Gaussian.
    var_names : sequence of str, optional
        Variables; by default those that all routes have in common. Arrays get one panel for each
        element.
    draws : int, default 2000
        Number of draws from the Gaussian of a fit.
    ax : sequence of matplotlib axes, optional
        Where to draw, one for each panel. New ones by default.

    Returns
    -------
    ndarray of Axes
        One for each panel.
    """
    check_mapping("routes", routes, "Pass {'name': result}.")
    if not routes:
        raise ValueError("There are no routes to plot. Pass a mapping of names to results.")
    samples = {name: _sample(route, draws) for name, route in routes.items()}
    common = [k for k in next(iter(samples.values())) if all(k in s for s in samples.values())]
    if var_names is not None:
        wanted = [var_names] if isinstance(var_names, str) else list(var_names)
        missing = [name for name in wanted if name not in {k.split("[")[0] for k in common}]
        if missing:
            raise ValueError(
                f"Not all routes have the variable {missing[0]!r}. "
                f"Use names among {', '.join(dict.fromkeys(k.split('[')[0] for k in common))}."
            )
        common = [k for name in wanted for k in common if k.split("[")[0] == name]
    if not common:
        raise ValueError("The routes have no variable in common. Pass results of the same model.")
    if ax is None:
        _, new = plt.subplots(
            1, len(common), figsize=(3.0 * len(common), 2.6), squeeze=False, layout="constrained"
        )
        panels = new[0]
    else:
        panels = np.atleast_1d(np.asarray(ax, dtype=object))
    if len(panels) != len(common):
        raise ValueError(
            f"The number of axes is {len(panels)}, but that of panels {len(common)}. "
            "Pass one for each."
        )
    for panel, key in zip(panels, common, strict=True):
        for k, (name, route) in enumerate(routes.items()):
            x = samples[name][key]
            if x.size > 1:
                grid, density, _ = array_stats.kde(x)  # type: ignore[no-untyped-call]
                panel.plot(grid, density, color=f"C{k}", label=name)
            if isinstance(route, EvidenceFit):
                label = name if x.size == 1 else None
                panel.axvline(_mode(route, key), color=f"C{k}", ls="--", lw=0.9, label=label)
            elif x.size == 1:
                panel.axvline(float(x[0]), color=f"C{k}", ls="--", lw=0.9, label=name)
        panel.set(xlabel=key, yticks=[])
    legend_below(panels[0], columns=1)
    return np.asarray(panels)


def _sample(route: EvidenceFit | xr.DataTree, draws: int) -> dict[str, Array]:
    """Return the draws of each element of each variable."""
    if isinstance(route, EvidenceFit):
        points = route.draws(draws, 0) if route.hessian is not None else None
        arrays = points or {name: value[None] for name, value in route.point.items()}
    else:
        posterior = route["posterior"].dataset.stack(sample=("chain", "draw"))
        arrays = {str(k): v.transpose("sample", ...).values for k, v in posterior.items()}
    return {
        name + (str(list(index)) if index else ""): array[(slice(None), *index)]
        for name, array in arrays.items()
        for index in np.ndindex(array.shape[1:])
        if array[0].size <= _MOST
    }


def _mode(fit: EvidenceFit, key: str) -> float:
    name, _, index = key.partition("[")
    place = tuple(int(k) for k in index.rstrip("]").split(",")) if index else ()
    return float(fit.point[name][place])


_MOST = 20  # elements of a variable that are drawn; latent values are not hyperparameters
