"""Pointwise log likelihoods of draws of the hyperparameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from rich.progress import track

from pymc_bsvm.gp.evaluator import Evaluator
from pymc_bsvm.solvers import DualSolveError

__all__ = ["add_log_likelihood"]


def add_log_likelihood(
    idata: xr.DataTree, name: str, evaluator: Evaluator, progressbar: bool
) -> xr.DataTree:
    """Add the log densities of each row given all others, at each draw of the posterior.

    Parameters
    ----------
    idata : DataTree
        With a group ``posterior``; it is changed in place.
    name : str
        The observed variable.
    evaluator : Evaluator
        What conditions its model on a draw.
    progressbar : bool
        Show the progress.

    Returns
    -------
    DataTree
        The same, with a group ``log_likelihood``.
    """
    if not isinstance(idata, xr.DataTree):
        raise TypeError(
            f"idata must be a DataTree, but it is of type {type(idata).__name__}. "
            "Pass what pm.sample returned."
        )
    if "posterior" not in idata.children:
        raise ValueError(
            f"idata has the groups {', '.join(idata.children) or 'none'}, but no posterior. "
            "Pass what pm.sample returned."
        )
    posterior = idata["posterior"].dataset
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    pairs = [(chain, draw) for chain in range(chains) for draw in range(draws)]
    values, start = [], None
    for chain, draw in track(pairs, "Pointwise log likelihood", disable=not progressbar):
        point = {str(k): v.values for k, v in posterior.isel(chain=chain, draw=draw).items()}
        try:
            on = evaluator.at(point, start=start, check_input=False)
        except (DualSolveError, ValueError) as error:
            error.add_note(f"This is at chain {chain}, draw {draw} of the posterior.")
            raise
        start = on.evidence.start
        values.append(on.log_predictive)
    array = np.reshape(values, (chains, draws, -1))
    dims: tuple[str, ...] = ("chain", "draw", f"{name}_dim_0")
    coords: dict[Any, Any] = {k: posterior.coords[k] for k in ("chain", "draw")}
    if "observed_data" in idata.children and name in idata["observed_data"].dataset:
        observed = idata["observed_data"].dataset[name]
        dims = (*dims[:2], *map(str, observed.dims))
        coords |= dict(observed.coords)
    data = xr.Dataset({name: (dims, array)}, coords=coords)
    if "log_likelihood" in idata.children:
        others = idata["log_likelihood"].dataset.drop_vars(name, errors="ignore")
        data = others.merge(data)
    idata["log_likelihood"] = xr.DataTree(data)
    return idata
