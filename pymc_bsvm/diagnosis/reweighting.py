"""Draws of the hyperparameters, carried from the approximate posterior to the exact one."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats
from pymc import Model
from rich.progress import track

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import generator_of, names_arguments
from pymc_bsvm.diagnosis.annealing import anneal_problem
from pymc_bsvm.gp.place import model_at
from pymc_bsvm.inference.objective import Marginal, marginals_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Reweighted", "reweight"]

_ARRAY_STATS: Any = array_stats  # untyped
_LEAST_DRAWS = 25  # for a tail to which a Pareto distribution can be fitted
_HIGHEST_K = 0.7


@dataclass(frozen=True)
class Reweighted:
    """Draws of the approximate posterior of the hyperparameters with weights for the exact one."""

    posterior: xr.Dataset = field(repr=False)
    """The draws that were used, with the dimensions ``chain`` and ``draw``."""
    log_ratios: Array = field(repr=False)
    """Unbiased less approximate log evidence of each draw, of shape (chains, draws), in nats."""
    errors: Array = field(repr=False)
    """Standard errors of the log ratios, of the same shape, in nats."""
    weights: Array = field(repr=False)
    """Pareto-smoothed weights of the same shape, which sum to one."""
    pareto_k: float
    """Shape of the tail of the weights: above 0.7 they are not to be trusted. NaN for fewer than
    25 draws, whose weights are not smoothed."""

    @property
    def ess(self) -> float:
        """Effective number of the weighted draws, taken as independent."""
        return float(1.0 / (self.weights**2).sum())

    @property
    def reliable(self) -> bool:
        """Whether the tail of the weights is known to be light enough."""
        return self.pareto_k <= _HIGHEST_K

    def summary(self) -> pd.DataFrame:
        """Return means and standard deviations of the hyperparameters, before and after.

        Returns
        -------
        DataFrame
            One row for each element of each variable: ``mean`` and ``sd`` of the draws,
            ``mean_exact`` and ``sd_exact`` with the weights, and ``shift``, the draws' mean less
            the exact one in units of ``sd_exact``.
        """
        import pandas as pd

        rows = {}
        for name, variable in self.posterior.items():
            values = variable.transpose("chain", "draw", ...).values
            for index in np.ndindex(values.shape[2:]):
                x = values[(slice(None), slice(None), *index)]
                mean = float((self.weights * x).sum())
                sd = math.sqrt(float((self.weights * (x - mean) ** 2).sum()))
                rows[str(name) + (str(list(index)) if index else "")] = {
                    "mean": float(x.mean()),
                    "sd": float(x.std()),
                    "mean_exact": mean,
                    "sd_exact": sd,
                    "shift": (float(x.mean()) - mean) / sd if sd > 0.0 else 0.0,
                }
        return pd.DataFrame.from_dict(rows, orient="index")

    def resample(self, draws: int = 1000, random_seed: Any = None) -> xr.DataTree:
        """Return draws of the exact posterior, by resampling with replacement.

        Parameters
        ----------
        draws : int
            Number of draws.
        random_seed : int or Generator, optional
            Seed.

        Returns
        -------
        DataTree
            With a group ``posterior`` of one chain.
        """
        rng = np.random.default_rng(random_seed)
        rows = rng.choice(self.weights.size, draws, p=self.weights.ravel())
        chain, draw = np.unravel_index(rows, self.weights.shape)
        picked = self.posterior.drop_vars(["chain", "draw"], errors="ignore").isel(
            chain=xr.DataArray(chain, dims="sample"), draw=xr.DataArray(draw, dims="sample")
        )
        picked = picked.rename(sample="draw").expand_dims(chain=[0])
        picked = picked.assign_coords(draw=np.arange(draws))
        return xr.DataTree.from_dict({"posterior": picked.transpose("chain", "draw", ...)})

    def to_datatree(self) -> xr.DataTree:
        """Return the draws with their weights.

        Returns
        -------
        DataTree
            Groups ``posterior`` and ``sample_stats``, with ``log_weight`` (smoothed, normalised),
            ``log_ratio`` and ``log_ratio_error``, in nats.
        """
        dims = ("chain", "draw")
        with np.errstate(divide="ignore"):
            table = {"log_weight": (dims, np.log(self.weights))}
        table |= {"log_ratio": (dims, self.log_ratios), "log_ratio_error": (dims, self.errors)}
        coords = {key: self.posterior.coords[key] for key in dims if key in self.posterior.coords}
        stats = xr.Dataset(table, coords=coords, attrs={"pareto_k": self.pareto_k})
        return xr.DataTree.from_dict({"posterior": self.posterior, "sample_stats": stats})

    def __str__(self) -> str:
        error, spread = -self.log_ratios.mean(), self.log_ratios.std()
        trust = "" if self.reliable else " They are not to be trusted."
        return (
            f"The error of the approximate evidence is {error:+.2f} nats on average over "
            f"{self.weights.size} draws, with a standard deviation of {spread:.2f} (Monte Carlo "
            f"error {np.sqrt((self.errors**2).mean()):.2f}). The weights for the exact posterior "
            f"have Pareto k {self.pareto_k:.2f} and leave {self.ess:.0f} effective draws.{trust}"
        )


@names_arguments
def reweight(
    idata: xr.DataTree,
    model: Model | None = None,
    *,
    name: str | None = None,
    particles: int = 100,
    temperatures: int = 50,
    replicates: int = 2,
    max_draws: int = 200,
    random_seed: Any = None,
    progressbar: bool = True,
) -> Reweighted:
    """Carry draws of the hyperparameters from the approximate posterior to the exact one.

    Parameters
    ----------
    idata : DataTree
        With a group ``posterior`` of draws under the approximate evidence, such as those of
        `pm.sample`.
    model : pymc.Model, optional
        The model; by default that of the context.
    name : str, optional
        Name of the one variable with an evidence to correct; all of them by default.
    particles, temperatures, replicates, random_seed
        As for `annealed_evidence`, for each draw.
    max_draws : int, default 200
        Largest number of draws, which are spread evenly over all chains.
    progressbar : bool, default True
        Show the progress.

    Returns
    -------
    Reweighted
        Weights with their Pareto k, and the posterior with them.

    Raises
    ------
    ValueError
        If there are no draws, or if the model has no such variable.

    Notes
    -----
    The log weight of a draw is the unbiased less the approximate log evidence. As the estimates of
    p(y) have no bias, their noise adds to the spread of the weights but does not shift what they
    converge to. A constant error of the approximation drops out.

    See Also
    --------
    pymc_bsvm.diagnosis.verdict : at one point, with the latent values.
    """
    model = model_at(model)
    marginals = marginals_of(model, name)
    posterior = _thin(idata, max_draws)
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    rng = generator_of(random_seed)
    settings = {"particles": particles, "temperatures": temperatures, "replicates": replicates}
    correctors = [_Corrector(marginal, model, settings) for marginal in marginals]
    log_ratios, variances = np.zeros(shape), np.zeros(shape)
    cells = list(itertools.product(*map(range, shape)))
    for chain, draw in track(cells, "Annealing each draw", disable=not progressbar):
        point = {str(k): v.values for k, v in posterior.isel(chain=chain, draw=draw).items()}
        for corrector in correctors:
            log_ratio, error = corrector(point, rng)
            log_ratios[chain, draw] += log_ratio
            variances[chain, draw] += error**2
    weights, pareto_k = _smoothed(log_ratios)
    return Reweighted(posterior, log_ratios, np.sqrt(variances), weights, pareto_k)


class _Corrector:
    """The unbiased less the approximate log evidence of one variable, with a warm start."""

    def __init__(self, marginal: Marginal, model: Model, settings: dict[str, int]) -> None:
        self._evaluator = marginal.evaluator(model)
        self._settings = settings
        self._start: Array | None = None

    def __call__(self, point: Mapping[str, Any], rng: np.random.Generator) -> tuple[float, float]:
        """Return the difference at a point and its standard error, in nats."""
        evidence = self._evaluator.at(point, start=self._start).evidence
        self._start = evidence.start
        settings = {**self._settings, "random_seed": rng, "progressbar": False}
        annealed = anneal_problem(evidence.problem, **settings)
        return annealed.log_evidence - evidence.log_evidence, annealed.standard_error


def _thin(idata: xr.DataTree, max_draws: int) -> xr.Dataset:
    """Return at most so many draws, evenly over all chains."""
    if not isinstance(max_draws, numbers.Integral) or max_draws < 1:
        raise ValueError(
            f"max_draws must be an integer >= 1, but it is {max_draws!r}. Pass, for example, 200."
        )
    if "posterior" not in getattr(idata, "children", {}):
        raise ValueError(
            "idata must have a group 'posterior' of draws of the hyperparameters, but it has none. "
            "Pass what pm.sample returns."
        )
    posterior: xr.Dataset = idata["posterior"].to_dataset()
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    kept = min(draws, max(1, max_draws // chains))
    return posterior.isel(draw=((np.arange(kept) + 0.5) * draws / kept).astype(int))


def _smoothed(log_ratios: Array) -> tuple[Array, float]:
    """Return Pareto-smoothed weights, which sum to one, and the shape of their tail."""
    log_weights, pareto_k = log_ratios.ravel() - log_ratios.max(), math.nan
    if log_weights.size >= _LEAST_DRAWS:
        log_weights, k = _ARRAY_STATS.psislw(-log_weights)  # it takes log ratios of the inverse
        pareto_k = float(k)
    weights = np.exp(log_weights - log_weights.max())
    return (weights / weights.sum()).reshape(log_ratios.shape), pareto_k
