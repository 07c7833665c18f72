"""How far Laplace's method is from the exact posterior: at a point, and over draws.

`verdict` compares a Laplace model with an unbiased estimate of the exact one at one point of its
hyperparameters. `reweight` carries draws of the hyperparameters from the Laplace posterior over to
the exact one.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import xarray as xr
from arviz_stats.base.array import array_stats
from pymc.model.core import Model, modelcontext
from pytensor.compile.mode import get_mode
from rich.progress import track

from pymc_bsvm.evidence.laplace import Curvature, LaplaceEvidence
from pymc_bsvm.gp.data import as_inputs
from pymc_bsvm.gp.evaluator import Evaluator, State
from pymc_bsvm.inference.annealing import AnnealedEvidence, LatentMoments, annealed_evidence
from pymc_bsvm.inference.objective import Marginal, marginals_of
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.losses.base import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Difference", "Reweighted", "Verdict", "reweight", "verdict"]

_MODE = get_mode("FAST_COMPILE")
_ARRAY_STATS: Any = array_stats  # untyped
_FEW = 100  # effective particles
_SMALL_SHIFT, _SMALL_RATIO = 0.5, 1.25  # what the advice calls close
_LEAST_DRAWS = 25  # for a tail to which a Pareto distribution can be fitted
_HIGHEST_K = 0.7


# ---- at a point --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Laplace's Gaussian beside the exact posterior of latent values, row by row.

    All arrays have the shape (n,), or (n_new,) for predictions, and the units of f.
    """

    laplace_mean: Array = field(repr=False)
    laplace_sd: Array = field(repr=False)
    mean: Array = field(repr=False)
    """Exact means, up to `mean_error`."""
    sd: Array = field(repr=False)
    """Exact standard deviations."""
    mean_error: Array = field(repr=False)
    """Monte Carlo standard errors of the exact means."""

    @property
    def shift(self) -> Array:
        """Laplace's means less the exact ones, in exact standard deviations."""
        return _ratio(self.laplace_mean - self.mean, self.sd, 0.0)

    @property
    def sd_ratio(self) -> Array:
        """Laplace's standard deviations in units of the exact ones."""
        return _ratio(self.laplace_sd, self.sd, 1.0)

    @property
    def largest(self) -> float:
        """Largest size of a shift, in exact standard deviations."""
        return float(np.abs(self.shift).max())

    @property
    def rms(self) -> float:
        """Root mean square of the shifts, in exact standard deviations."""
        return float(np.sqrt((self.shift**2).mean()))

    @property
    def error(self) -> float:
        """Root mean square Monte Carlo error of the shifts, in exact standard deviations."""
        return float(np.sqrt((_ratio(self.mean_error, self.sd, 0.0) ** 2).mean()))

    @property
    def close(self) -> bool:
        """Whether no row is far off: half a standard deviation, or a quarter of one in width."""
        ratio = self.sd_ratio
        narrow, wide = ratio.min() < 1.0 / _SMALL_RATIO, ratio.max() > _SMALL_RATIO
        return self.largest <= _SMALL_SHIFT and not narrow and not wide


@dataclass(frozen=True)
class Verdict:
    """A Laplace model against an unbiased estimate of the exact one, at a point."""

    name: str
    """The variable whose evidence was examined."""
    curvature: Curvature
    """Which of the two Laplace evidences the model uses."""
    smooth: float
    """Laplace log evidence with the smooth curvature, in nats."""
    exact: float
    """Laplace log evidence with the exact curvature, in nats."""
    annealed: AnnealedEvidence = field(repr=False)
    """The unbiased estimate with its particles."""
    latent: Difference
    """The latent values at the data."""
    predictions: Difference | None
    """The latent values at Xnew, if it was given."""

    @property
    def log_evidence(self) -> float:
        """Unbiased estimate of the log evidence, in nats."""
        return self.annealed.log_evidence

    @property
    def standard_error(self) -> float:
        """Standard error of the estimate, and with it of the error, in nats."""
        return self.annealed.standard_error

    @property
    def laplace_error(self) -> float:
        """The model's Laplace log evidence less the unbiased one, in nats."""
        laplace = self.smooth if self.curvature == "smooth" else self.exact
        return laplace - self.log_evidence

    @property
    def sentence(self) -> str:
        """What this says, in words."""
        parts = [self._on_evidence(), _on_latent(self.latent, "f at the data")]
        if self.predictions is not None:
            parts.append(_on_latent(self.predictions, "f at Xnew"))
        return " ".join([*parts, self._advice()])

    def _on_evidence(self) -> str:
        size = _with_error(abs(self.laplace_error), self.standard_error)
        if abs(self.laplace_error) <= 2.0 * self.standard_error:
            return f"The error of the Laplace evidence is not visible here: {size} nats."
        side = "low" if self.laplace_error < 0.0 else "high"
        return f"The Laplace evidence is {size} nats too {side} here."

    def _advice(self) -> str:
        if self.annealed.ess < _FEW:
            return (
                f"This rests on {self.annealed.ess:.0f} effective particles only: raise "
                "temperatures before relying on it."
            )
        compared = [self.latent] + ([] if self.predictions is None else [self.predictions])
        if all(difference.close for difference in compared):
            return (
                "Laplace's method serves at these hyperparameters; reweight tells whether its "
                "error varies with them."
            )
        return (
            "Where f or predictions matter, sample the latent values as well; reweight tells "
            "whether the error of the evidence varies with the hyperparameters."
        )

    def to_dataframe(self) -> pd.DataFrame:
        """Return all numbers as a table.

        Returns
        -------
        DataFrame
            One row for each quantity, with its ``value``, its Monte Carlo ``error`` (NaN where it
            is not known) and its ``unit``.
        """
        import pandas as pd

        rows: dict[str, tuple[float, float, str]] = {
            "log evidence, unbiased": (self.log_evidence, self.standard_error, "nats"),
            "log evidence, Laplace smooth": (self.smooth, 0.0, "nats"),
            "log evidence, Laplace exact": (self.exact, 0.0, "nats"),
            "error of Laplace": (self.laplace_error, self.standard_error, "nats"),
            "effective particles": (self.annealed.ess, math.nan, ""),
        }
        for label, difference in (("f", self.latent), ("f at Xnew", self.predictions)):
            if difference is not None:
                ratio = difference.sd_ratio
                rows |= {
                    f"largest shift of the mean of {label}": (
                        difference.largest,
                        difference.error,
                        "sd",
                    ),
                    f"rms shift of the mean of {label}": (difference.rms, difference.error, "sd"),
                    f"smallest ratio of sd of {label}": (float(ratio.min()), math.nan, ""),
                    f"median ratio of sd of {label}": (float(np.median(ratio)), math.nan, ""),
                    f"largest ratio of sd of {label}": (float(ratio.max()), math.nan, ""),
                }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["value", "error", "unit"])

    def __str__(self) -> str:
        lines = [
            f"{self.name}: Laplace log evidence {self.smooth:.3f} (smooth), {self.exact:.3f} "
            f"(exact) nats; unbiased: {self.annealed}",
            self.sentence,
        ]
        return "\n".join(lines)


def verdict(
    model: Model | EvidenceFit | None = None,
    point: Mapping[str, Any] | EvidenceFit | None = None,
    *,
    name: str | None = None,
    Xnew: Any = None,
    particles: int = 500,
    temperatures: int = 100,
    replicates: int = 4,
    random_seed: Any = None,
    progressbar: bool = True,
) -> Verdict:
    """Say how far Laplace's method is from the exact posterior of the latent values, at a point.

    Parameters
    ----------
    model : pymc.Model or EvidenceFit, optional
        The model; by default that of the context. A fit stands for its model and its point.
    point : mapping or EvidenceFit, optional
        Values of the free variables, such as ``fit.point``.
    name : str, optional
        Name of the Laplace variable, if the model has several.
    Xnew : array_like of shape (n_new, d), optional
        New inputs, to compare predictions of the latent values too.
    particles, temperatures, replicates, random_seed, progressbar
        As for `annealed_evidence`.

    Returns
    -------
    Verdict
        Evidences and their difference in nats, differences of the posteriors in units of the exact
        posterior standard deviation, and a sentence.

    Raises
    ------
    ValueError
        If there is no Laplace variable, if there are several and no name, or if the point lacks a
        value.

    Notes
    -----
    The posterior that is called exact here is that of the latent values at fixed hyperparameters.
    It is known up to the Monte Carlo errors that are reported with it.

    See Also
    --------
    reweight : the same over draws of the hyperparameters.
    """
    model, point = _model_and_point(model, point)
    marginal = _only(_marginals(model, name))
    evaluator = marginal.evaluator(model)
    state = evaluator.state(point, "exact")
    evidence = state.evidence
    smooth = evaluator.state(point, "smooth", evidence.solution.a, check_input=False).evidence
    new = None if Xnew is None else _new_rows(marginal, state, Xnew)
    annealed = _annealed(
        evidence,
        particles=particles,
        temperatures=temperatures,
        replicates=replicates,
        random_seed=random_seed,
        progressbar=progressbar,
    )
    posterior = evidence.posterior
    return Verdict(
        name=marginal.name,
        curvature="smooth" if marginal.smooth else "exact",
        smooth=smooth.log_evidence,
        exact=evidence.log_evidence,
        annealed=annealed,
        latent=_difference(posterior.mean, posterior.variance, annealed.moments),
        predictions=None if new is None else _predictions(evaluator, state, annealed, *new),
    )


def _annealed(evidence: LaplaceEvidence, **settings: Any) -> AnnealedEvidence:
    """Estimate the evidence of the model that a Laplace evidence is of."""
    posterior, solution = evidence.posterior, evidence.solution
    m = solution.f - posterior.K @ solution.a
    return annealed_evidence(posterior.K, posterior.y, posterior.loss, m, **settings)


def _predictions(
    evaluator: Evaluator,
    state: State,
    annealed: AnnealedEvidence,
    Xnew: Array,
    m: Array,
    cross: Array,
    prior: Array,
) -> Difference:
    """Compare latent values at new rows, of the given prior."""
    return _difference(*evaluator.moments(state, Xnew), annealed.predict(cross, prior, m))


def _difference(mean: Array, variance: Array, exact: LatentMoments) -> Difference:
    return Difference(mean, np.sqrt(variance), exact.mean, exact.sd, exact.mean_error)


def _new_rows(marginal: Marginal, state: State, Xnew: Any) -> tuple[Array, Array, Array, Array]:
    """Return new inputs, their prior mean, covariance with the training rows, and variance."""
    new = np.asarray(as_inputs("Xnew", Xnew).eval())
    if new.shape[1] != state.X.shape[1]:
        raise ValueError(
            f"Xnew has {new.shape[1]} columns, but X has {state.X.shape[1]}. Pass the same columns."
        )
    prior = marginal.rv.owner.op.specification.prior
    X, X_new = pt.dmatrix("X"), pt.dmatrix("X_new")
    parameters = [x.type() for x in prior.parameters]
    mean, cross, _, variance = prior.new(X, X_new, parameters)
    function = pytensor.function(
        [X, X_new, *parameters],
        [mean, cross, variance],
        mode=_MODE,
        on_unused_input="ignore",
        allow_input_downcast=True,
    )
    return new, *function(state.X, new, *state.parameters)


def _model_and_point(
    model: Model | EvidenceFit | None, point: Mapping[str, Any] | EvidenceFit | None
) -> tuple[Model, Mapping[str, Any] | None]:
    """Return the model and the point, either of which a fit may stand for."""
    if isinstance(point, EvidenceFit):
        return modelcontext(point.model if model is None else model), point.point
    if isinstance(model, EvidenceFit):
        return model.model, model.point if point is None else point
    return modelcontext(model), point


def _marginals(model: Model, name: str | None) -> list[Marginal]:
    """Return the Laplace variables of a model, or the one of this name."""
    marginals = marginals_of(model)
    if name is None:
        return marginals
    chosen = [marginal for marginal in marginals if marginal.name == name]
    if not chosen:
        raise ValueError(
            f"name must be that of a Laplace variable, but it is {name!r}. "
            f"Use one of {', '.join(marginal.name for marginal in marginals)}."
        )
    return chosen


def _only(marginals: list[Marginal]) -> Marginal:
    if len(marginals) > 1:
        raise ValueError(
            f"The model has {len(marginals)} Laplace variables: "
            f"{', '.join(marginal.name for marginal in marginals)}. Choose one with name=..."
        )
    return marginals[0]


def _on_latent(difference: Difference, label: str) -> str:
    ratio = difference.sd_ratio
    return (
        f"Posterior means of {label} agree within {difference.largest:.2f} sd (rms "
        f"{difference.rms:.2f}, Monte Carlo error {difference.error:.2f}), and Laplace's sds are "
        f"{ratio.min():.2f} to {ratio.max():.2f} times the exact ones."
    )


def _with_error(value: float, error: float) -> str:
    """Format a value with as many decimals as its error has to say, one to three."""
    decimals = 3 if error <= 0.0 else min(max(1 - math.floor(math.log10(error)), 1), 3)
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _ratio(numerator: Array, denominator: Array, otherwise: float) -> Array:
    """Divide, with another value where the denominator is zero: a row that is known a priori."""
    positive = denominator > 0.0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), otherwise)


# ---- over draws --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reweighted:
    """Draws of the Laplace posterior of the hyperparameters with weights for the exact one."""

    posterior: xr.Dataset = field(repr=False)
    """The draws that were used, with the dimensions ``chain`` and ``draw``."""
    log_ratios: Array = field(repr=False)
    """Unbiased less Laplace log evidence of each draw, of shape (chains, draws), in nats."""
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
            f"The error of the Laplace evidence is {error:+.2f} nats on average over "
            f"{self.weights.size} draws, with a standard deviation of {spread:.2f} (Monte Carlo "
            f"error {np.sqrt((self.errors**2).mean()):.2f}). The weights for the exact posterior "
            f"have Pareto k {self.pareto_k:.2f} and leave {self.ess:.0f} effective draws.{trust}"
        )


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
    """Carry draws of the hyperparameters from the Laplace posterior to the exact one.

    Parameters
    ----------
    idata : DataTree
        With a group ``posterior`` of draws under the Laplace evidence, such as `pm.sample` returns.
    model : pymc.Model, optional
        The model; by default that of the context.
    name : str, optional
        Name of the one Laplace variable to correct; all of them by default.
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
        If there are no draws, or if the model has no Laplace variable.

    Notes
    -----
    The log weight of a draw is the unbiased less the Laplace log evidence. As the estimates of p(y)
    have no bias, their noise adds to the spread of the weights but does not shift what they
    converge to. A constant error of the Laplace evidence drops out.

    See Also
    --------
    verdict : at one point, with the latent values.
    """
    model = modelcontext(model)
    marginals = _marginals(model, name)
    posterior = _thin(idata, max_draws)
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    rng = np.random.default_rng(random_seed)
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
    """The unbiased less the Laplace log evidence of one variable, with a warm start."""

    def __init__(self, marginal: Marginal, model: Model, settings: dict[str, int]) -> None:
        self._evaluator = marginal.evaluator(model)
        self._curvature: Curvature = "smooth" if marginal.smooth else "exact"
        self._settings = settings
        self._start: Array | None = None

    def __call__(self, point: Mapping[str, Any], rng: np.random.Generator) -> tuple[float, float]:
        """Return the difference at a point and its standard error, in nats."""
        evidence = self._evaluator.state(point, self._curvature, self._start).evidence
        self._start = evidence.solution.a
        annealed = _annealed(evidence, **self._settings, random_seed=rng, progressbar=False)
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
