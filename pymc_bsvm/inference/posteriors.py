"""Posteriors of the same hyperparameters side by side: by evidence, by NUTS, with and without f."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from arviz_base import from_dict
from arviz_stats.base.array import array_stats
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import wasserstein_distance

from pymc_bsvm._pymc import coords_and_dims_for_inferencedata
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_mapping
from pymc_bsvm.inference.result import EvidenceFit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PosteriorComparison", "compare_posteriors"]

_SAMPLE_DIMS = ("chain", "draw")
_QUANTILES = {"q5": 0.05, "q50": 0.5, "q95": 0.95}
_INTERVALS = {"coverage_50": 0.5, "coverage_90": 0.9}
_ESS: Any = array_stats.ess  # untyped
_FEWEST_DRAWS = 4  # below, ArviZ has no effective sample size


@dataclass(frozen=True, eq=False)
class PosteriorComparison:
    """Posteriors of the same variables by several routes."""

    table: pd.DataFrame
    """One row for each element of each variable and each route, which are the index; the columns
    are those that `compare_posteriors` describes."""
    routes: pd.DataFrame
    """One row for each route: ``draws`` in all chains, ``seconds`` that they took, and ``min_ess``
    and ``min_ess_per_second`` of the slowest element."""
    predictive: pd.DataFrame | None
    """One row for each route: scores on held-out data. None without these."""
    reference: str
    """The route that distances are to."""

    def __str__(self) -> str:
        texts = [f"distances to {self.reference!r}, in its standard deviations"]
        texts += [table.to_string(float_format="{:.3g}".format) for table in self._tables()]
        return "\n\n".join(texts)

    def _repr_html_(self) -> str:
        tables = "".join(table.to_html(float_format="{:.3g}".format) for table in self._tables())
        return f"<div>{tables}</div>"

    def _tables(self) -> list[pd.DataFrame]:
        tables = [self.table, self.routes, self.predictive]
        return [table for table in tables if table is not None]


def compare_posteriors(
    posteriors: Mapping[str, EvidenceFit | xr.DataTree],
    var_names: str | Iterable[str] | None = None,
    *,
    held_out: tuple[str, ArrayLike] | None = None,
    draws: int = 1000,
    random_seed: Any = 0,
) -> PosteriorComparison:
    """Set posteriors of the same variables side by side.

    Parameters
    ----------
    posteriors : mapping
        Results by the names of their routes: of `fit_evidence`, or DataTrees with a group
        ``posterior``. The last is the reference. A typical call has ``{"map": fit, "evidence":
        idata, "latent": idata}``.
    var_names : str or iterable of str, optional
        Variables to compare. By default all that every posterior has.
    held_out : tuple of (str, array_like of shape (n_new,)), optional
        A variable and its true values. Each DataTree needs draws of that variable, of shape
        (chain, draw, n_new), in its group ``predictions`` or else ``posterior_predictive``.
    draws : int, default 1000
        Number of draws from the Gaussian near the mode of a fit that has a Hessian.
    random_seed : int or Generator, default 0
        Seed of these draws.

    Returns
    -------
    PosteriorComparison
        The table has the columns

        - ``mean``, ``sd``, ``q5``, ``q50``, ``q95``: of the draws, in units of the variable. A
          single draw, such as the mode of a fit without a Hessian, has no ``sd``, ``q5``, ``q95``;
        - ``shift``: mean less the reference's mean, in standard deviations of the reference;
        - ``distance``: 1-Wasserstein distance to the reference, in its standard deviations. It is
          at least the absolute shift, and the mean distance to the mode for a single draw;
        - ``ess``: effective sample size (bulk); NaN for draws from the Gaussian around a mode;
        - ``ess_per_second``: by the time that the sampler reports in the attribute
          ``sampling_time``: tuning included, compilation not.

        With `held_out`, ``predictive`` has the columns

        - ``rmse``: of the predictive mean, in units of the variable; for labels 0 and 1 the root
          of the Brier score;
        - ``coverage_50``, ``coverage_90``: share of the true values inside the central predictive
          intervals; NaN for labels;
        - ``log_score``: mean log predictive density in nats, if a DataTree has the group
          ``predictions_log_likelihood`` with log densities of the same variable and shape.

    Raises
    ------
    ValueError
        If groups or variables are missing, or have different shapes.

    See Also
    --------
    compare_evidence : models by their evidence.
    pymc_bsvm.latent_model : the model of the third route.

    Notes
    -----
    Both distances have a Monte Carlo error. For two sets of draws of one distribution, the shift is
    of the order of ``sqrt(1 / ess + 1 / ess_reference)``, and the distance is no smaller.

    The group ``log_likelihood`` is not used for the log score: it commonly belongs to the training
    data.

    Examples
    --------
    .. code-block:: python

        comparison = compare_posteriors({"map": fit, "evidence": marginal, "latent": latent})
        comparison.table.xs("map", level="route")["shift"]
    """
    if held_out is not None and (isinstance(held_out, str) or len(held_out) != 2):
        raise TypeError(
            f"held_out must be a name and true values, but it is {held_out!r}. "
            "Pass, for example, ('y_new', y_new)."
        )
    trees = _as_trees(posteriors, draws, random_seed)
    names = _common_names(trees, var_names)
    summaries = {
        route: _Route.of(route, tree["posterior"].dataset, names) for route, tree in trees.items()
    }
    reference = list(summaries)[-1]
    _check_same_elements(summaries, reference)
    return PosteriorComparison(
        table=_table(summaries, reference),
        routes=_efficiency(summaries),
        predictive=None if held_out is None else _scores(trees, *held_out),
        reference=reference,
    )


@dataclass(frozen=True)
class _Route:
    """The draws of one route by element."""

    draws: dict[str, Array]
    """Arrays of shape (chains, draws) by label, such as ``ls[0]``."""
    seconds: float
    markov: bool
    """Whether the draws are those of a Markov chain."""

    @classmethod
    def of(cls, route: str, posterior: xr.Dataset, names: list[str]) -> _Route:
        elements: dict[str, Array] = {}
        for name in names:
            elements |= _elements(_array(route, "posterior", posterior, name))
        seconds = float(posterior.attrs.get("sampling_time", 0.0)) or np.nan
        markov = posterior.attrs.get("inference_method") != "evidence"
        return cls(elements, seconds, markov)

    def ess(self, label: str) -> float:
        """Return the effective sample size of an element."""
        x = self.draws[label]
        if not self.markov or x.shape[1] < _FEWEST_DRAWS or not np.isfinite(x).all():
            return np.nan
        return float(_ESS(x, chain_axis=0, draw_axis=1))


def _as_trees(
    posteriors: Mapping[str, EvidenceFit | xr.DataTree], draws: int, random_seed: Any
) -> dict[str, xr.DataTree]:
    """Return the posteriors as DataTrees that have a posterior."""
    check_mapping("posteriors", posteriors, "Pass {'name': result}.")
    if not posteriors:
        raise ValueError("There are no posteriors to compare. Pass a mapping of names to results.")
    trees = {}
    for route, result in posteriors.items():
        if isinstance(result, EvidenceFit):
            result = _posterior_of(result, draws, random_seed)
        if not isinstance(result, xr.DataTree):
            raise TypeError(
                f"{route!r} must be a DataTree or a result of fit_evidence, but it is of type "
                f"{type(result).__name__}. Sample with pm.sample, or convert with az.from_dict."
            )
        if "posterior" not in result.children:
            raise ValueError(
                f"{route!r} has the groups {_listed(result.children)}, but no posterior. "
                "Pass the result of pm.sample or fit_evidence."
            )
        trees[route] = result
    return trees


def _posterior_of(fit: EvidenceFit, draws: int, random_seed: Any) -> xr.DataTree:
    """Return the posterior of `EvidenceFit.to_datatree`, without what costs time per draw."""
    if fit.hessian is None:
        values = {name: value[None] for name, value in fit.point.items()}
    else:
        values = fit.draws(draws, random_seed)
    coords, dims = coords_and_dims_for_inferencedata(fit.model)
    tree: xr.DataTree = from_dict(
        {"posterior": {name: value[None] for name, value in values.items()}},
        coords=coords,
        dims=dims,
        attrs={"posterior": {"inference_method": "evidence"}},
    )
    return tree


def _common_names(
    trees: Mapping[str, xr.DataTree], var_names: str | Iterable[str] | None
) -> list[str]:
    """Return the variables to compare, by default in the order of the first route."""
    present = {route: list(map(str, tree["posterior"].data_vars)) for route, tree in trees.items()}
    if var_names is not None:
        return [var_names] if isinstance(var_names, str) else list(var_names)
    first, *others = present.values()
    names = [name for name in first if all(name in other for other in others)]
    if not names:
        listed = "; ".join(f"{route!r}: {_listed(names)}" for route, names in present.items())
        raise ValueError(
            f"The posteriors have no variable in common ({listed}). "
            "Compare posteriors of the same model."
        )
    return names


def _array(route: str, group: str, data: xr.Dataset, name: str) -> xr.DataArray:
    """Return the draws of a variable, of shape (chain, draw, ...)."""
    if name not in data:
        raise ValueError(
            f"The {group} of {route!r} has no variable {name!r}. It has {_listed(data.data_vars)}."
        )
    array = data[name]
    if not set(_SAMPLE_DIMS) <= set(array.dims):
        raise ValueError(
            f"{name!r} in the {group} of {route!r} has the dimensions {_listed(array.dims)}. "
            "It needs chain and draw."
        )
    return array.transpose(*_SAMPLE_DIMS, ...)


def _elements(array: xr.DataArray) -> dict[str, Array]:
    """Return the draws of each element, labelled by its coordinates."""
    dims = array.dims[2:]
    labels = [array[dim].values if dim in array.coords else range(array.sizes[dim]) for dim in dims]
    values = array.to_numpy().astype(float)
    elements = {}
    for index in np.ndindex(values.shape[2:]):
        at = ", ".join(str(label[k]) for label, k in zip(labels, index, strict=True))
        elements[f"{array.name}[{at}]" if dims else str(array.name)] = values[:, :, *index]
    return elements


def _check_same_elements(routes: Mapping[str, _Route], reference: str) -> None:
    """Raise unless all routes have the same elements of the same variables."""
    expected = set(routes[reference].draws)
    for name, route in routes.items():
        different = sorted(expected ^ set(route.draws))
        if different:
            raise ValueError(
                f"{different[0]!r} is in the posterior of one of {name!r} and {reference!r}, but "
                "not of the other. Compare variables of the same shape and coordinates, or "
                "choose some by var_names."
            )


def _table(routes: Mapping[str, _Route], reference: str) -> pd.DataFrame:
    import pandas as pd

    target = routes[reference]
    rows = {
        (label, name): _row(route, label, target.draws[label])
        for label in target.draws
        for name, route in routes.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["variable", "route"])
    return table


def _row(route: _Route, label: str, reference: Array) -> dict[str, float]:
    """Return the row of one element and one route."""
    x, target = route.draws[label].ravel(), reference.ravel()
    scale = _sd(target) or np.nan
    row = {"mean": float(x.mean()), "sd": _sd(x)}
    for key, share in _QUANTILES.items():
        row[key] = float(np.quantile(x, share)) if x.size > 1 or share == 0.5 else np.nan
    row["shift"] = float(x.mean() - target.mean()) / scale
    row["distance"] = _distance(x, target) / scale
    row["ess"] = route.ess(label)
    row["ess_per_second"] = row["ess"] / route.seconds
    return row


def _sd(x: Array) -> float:
    """Return the standard deviation, which a single draw has not."""
    return float(x.std(ddof=1)) if x.size > 1 else np.nan


def _distance(x: Array, target: Array) -> float:
    finite = np.isfinite(x).all() and np.isfinite(target).all()
    return float(wasserstein_distance(x, target)) if finite else np.nan


def _efficiency(routes: Mapping[str, _Route]) -> pd.DataFrame:
    import pandas as pd

    rows = {}
    for name, route in routes.items():
        ess = float(np.min([route.ess(label) for label in route.draws]))
        rows[name] = {
            "draws": next(iter(route.draws.values())).size,
            "seconds": route.seconds,
            "min_ess": ess,
            "min_ess_per_second": ess / route.seconds,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("route")


# ---- held-out data ------------------------------------------------------------------------------


def _scores(trees: Mapping[str, xr.DataTree], name: str, y: ArrayLike) -> pd.DataFrame:
    """Return the scores of the predictions of all routes."""
    import pandas as pd

    truth = np.asarray(y, dtype=float)
    rows = {}
    for route, tree in trees.items():
        row = _score(_predictions(route, tree, name, truth), truth)
        if _LOG_DENSITY in tree.children:
            density = _array(route, _LOG_DENSITY, tree[_LOG_DENSITY].dataset, name)
            row["log_score"] = _log_score(_checked(density, route, truth))
        rows[route] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("route")


_LOG_DENSITY = "predictions_log_likelihood"


def _predictions(route: str, tree: xr.DataTree, name: str, y: Array) -> Array:
    """Return the predictive draws of a variable, of shape (draws, n_new)."""
    groups = [group for group in ("predictions", "posterior_predictive") if group in tree.children]
    if not groups:
        raise ValueError(
            f"{route!r} has the groups {_listed(tree.children)}, but neither predictions nor "
            "posterior_predictive. Add one with pm.sample_posterior_predictive, or leave held_out "
            "out."
        )
    holders = [group for group in groups if name in tree[group].dataset] or groups
    return _checked(_array(route, holders[0], tree[holders[0]].dataset, name), route, y)


def _checked(array: xr.DataArray, route: str, y: Array) -> Array:
    """Return draws as a matrix with one column for each true value."""
    values = array.to_numpy().astype(float)
    if values.shape[2:] != y.shape:
        raise ValueError(
            f"{array.name!r} of {route!r} has the shape {values.shape[2:]}, but the true values "
            f"have the shape {y.shape}. Predict at the held-out inputs."
        )
    return np.reshape(values, (-1, y.size))


def _score(draws: Array, y: Array) -> dict[str, float]:
    """Return error and coverage of predictive draws of shape (draws, n_new)."""
    y = y.ravel()
    row = {"rmse": float(np.sqrt(np.mean((draws.mean(axis=0) - y) ** 2)))}
    labels = bool(np.isin(draws, (0.0, 1.0)).all())
    for key, share in _INTERVALS.items():
        low, high = np.quantile(draws, [0.5 - share / 2.0, 0.5 + share / 2.0], axis=0)
        row[key] = np.nan if labels else float(np.mean((low <= y) & (y <= high)))
    return row


def _log_score(log_density: Array) -> float:
    """Return the mean log of the density that the draws mix to."""
    return float(np.mean(logsumexp(log_density, axis=0) - np.log(log_density.shape[0])))


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names)) or "none"
