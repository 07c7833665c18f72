"""The posterior of the hyperparameters by a rule: predictions, moments, and log p(y)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from arviz_base import from_dict, rcParams
from pymc import Model
from rich.progress import Progress
from scipy.special import logsumexp, ndtr

from pymc_bsvm._pickling import ByCloudpickle
from pymc_bsvm._pymc import coords_and_dims_for_inferencedata
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, as_parameter
from pymc_bsvm.evidence.mixture import RegressionMixture
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.gp.labelled import LabelledPredictive, Rows
from pymc_bsvm.inference.design import Design, DesignKind, design_of
from pymc_bsvm.inference.objective import LogPosterior, marginals_of, only
from pymc_bsvm.inference.progress import line, progress
from pymc_bsvm.inference.summary import labels_of
from pymc_bsvm.search.hessian import Hessian, nearest_gaussian

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HyperparameterMarginal", "Integral", "integrate"]

_LOGGER = logging.getLogger("pymc_bsvm")
_SUMMARISED = 4000  # draws behind the intervals of a summary
_NEGLIGIBLE = 1e-6  # weight of a point that predictions leave out
_SHARE = Interval(0.0, 1.0)
_BISECTIONS = 60


@dataclass(frozen=True)
class HyperparameterMarginal:
    """The marginal distribution of one coordinate of the unconstrained space.

    It is a mixture of normal kernels around the points, drawn together so that its mean and
    variance are those of the rule.
    """

    mean: float
    sd: float
    centres: Array
    """Of shape (number of points,)."""
    weights: Array
    kernel: float
    """Standard deviation of each kernel."""

    def pdf(self, x: Any) -> Array:
        """Return the density, of the shape of x."""
        z = (np.asarray(x, dtype=float)[..., None] - self.centres) / self.kernel
        return np.asarray(np.exp(-0.5 * z**2) @ self.weights / (self.kernel * np.sqrt(2 * np.pi)))

    def cdf(self, x: Any) -> Array:
        """Return the distribution function, of the shape of x."""
        z = (np.asarray(x, dtype=float)[..., None] - self.centres) / self.kernel
        return np.asarray(ndtr(z) @ self.weights)

    def interval(self, probability: float) -> tuple[float, float]:
        """Return the equal-tailed interval of a probability."""
        share = as_parameter("probability", probability, _SHARE)
        tails = np.array([0.5 - 0.5 * share, 0.5 + 0.5 * share])
        low = np.full(2, self.centres.min() - 10.0 * self.kernel)
        high = np.full(2, self.centres.max() + 10.0 * self.kernel)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < tails
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return float(low[0]), float(high[1])


@dataclass(frozen=True, eq=False)
class Integral(ByCloudpickle):
    """The hyperparameters integrated out, as `EvidenceFit.integrate` returns it.

    Its pickle contains a copy of the model, which cloudpickle writes.
    """

    log_evidence: float
    """Log of the evidence integrated over the prior of the hyperparameters, in nats: log p(y)."""
    points: list[dict[str, Array]]
    """All free and deterministic variables at each point, by name, on their own scale."""
    weights: Array
    """Posterior weight of each point, of shape (number of points,); they sum to one."""
    log_evidences: Array
    """Log evidence at each point, without the prior, in nats; -inf where it was not found."""
    x: Array = field(repr=False)
    """The points on the unconstrained space, of shape (number of points, k)."""
    gaussian: Hessian = field(repr=False)
    """The Gaussian that the design was laid over."""
    model: Model = field(repr=False)
    check_input: bool = field(repr=False)
    _bandwidth: float = field(repr=False)
    _objective: LogPosterior = field(repr=False)

    @cached_property
    def mean(self) -> Array:
        """Posterior mean on the unconstrained space, of shape (k,)."""
        return np.asarray(self.weights @ self.x)

    @cached_property
    def covariance(self) -> Array:
        """Posterior covariance on the unconstrained space, of shape (k, k)."""
        centred = self.x - self.mean
        return np.asarray((self.weights[:, None] * centred).T @ centred)

    @property
    def marginals(self) -> dict[str, HyperparameterMarginal]:
        """The marginal of each coordinate of the unconstrained space, such as ``ls_log__``."""
        sd, centres = np.sqrt(self.covariance.diagonal()), self._centres
        return {
            name: HyperparameterMarginal(
                float(self.mean[k]),
                float(sd[k]),
                centres[:, k],
                self.weights,
                float(self._bandwidth * sd[k]),
            )
            for k, name in enumerate(self.gaussian.names)
        }

    def predictive(self, Xnew: Any, name: str | None = None, labelled: bool = False) -> Any:
        """Return the distribution of new targets, averaged over the points.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs.
        name : str, optional
            The variable with an evidence, if the model has several.
        labelled : bool, default False
            Return labelled arrays of xarray, as `Conditioned.predictive` does.

        Returns
        -------
        RegressionMixture or LabelledPredictive
        """
        parts, weights = [], []
        for on, weight in self._conditioned(name):
            part = on.predictive(Xnew)
            if not isinstance(part, RegressionPredictive):
                raise ValueError(
                    "Labels have no distribution function, but predictive was called. "
                    "Use predict_proba for the probabilities of the labels."
                )
            parts.append(part)
            weights.append(weight)
        mixture = RegressionMixture(parts, np.array(weights) / sum(weights))
        return LabelledPredictive(mixture, Rows.of(Xnew)) if labelled else mixture

    def predict_proba(self, Xnew: Any, name: str | None = None, labelled: bool = False) -> Any:
        """Return the probability of label 1, averaged over the points, of shape (n_new,).

        Parameters
        ----------
        Xnew, name, labelled
            As for `predictive`.
        """
        kept = [(weight * on.predict_proba(Xnew), weight) for on, weight in self._conditioned(name)]
        total, weight = map(sum, zip(*kept, strict=True))
        p = np.asarray(total / weight)
        return Rows.of(Xnew).array("probability", p) if labelled else p

    def draws(self, draws: int = 1000, random_seed: Any = None) -> dict[str, Array]:
        """Draw hyperparameters: a point by its weight, with the kernel of the marginals around it.

        Parameters
        ----------
        draws : int
            Number of draws.
        random_seed : int or Generator, optional
            Seed.

        Returns
        -------
        dict
            Arrays of shape (draws, ...) by name, on the variables' own scale.
        """
        rng = np.random.default_rng(random_seed)
        rows = rng.choice(self.weights.size, draws, p=self.weights)
        noise = rng.multivariate_normal(np.zeros(self.mean.size), self.covariance, draws)
        x = self._centres[rows] + self._bandwidth * noise
        points = [self._objective.point(row) for row in x]
        return {name: np.array([point[name] for point in points]) for name in points[0]}

    def summary(self, ci_prob: float | None = None) -> pd.DataFrame:
        """Return mean, standard deviation and equal-tailed interval of each hyperparameter.

        They are on the variables' own scale: moments by the rule, intervals of 4000 draws of a
        fixed seed.

        Parameters
        ----------
        ci_prob : float, optional
            Probability of the interval; by default that of ArviZ, ``rcParams["stats.ci_prob"]``.
        """
        import pandas as pd

        default = rcParams["stats.ci_prob"]
        share = as_parameter("ci_prob", default if ci_prob is None else ci_prob, _SHARE)
        tails, drawn = [0.5 - share / 2.0, 0.5 + share / 2.0], self.draws(_SUMMARISED, 0)
        rows = {}
        for name, first in self.points[0].items():
            values = np.array([point[name] for point in self.points])
            for index, label in zip(
                np.ndindex(first.shape), labels_of(self.model, name, first), strict=True
            ):
                x = values[(slice(None), *index)]
                mean = float(self.weights @ x)
                sd = float(np.sqrt(self.weights @ (x - mean) ** 2))
                low, high = np.quantile(drawn[name][(slice(None), *index)], tails)
                ends = f"eti{100.0 * share:g}_lb", f"eti{100.0 * share:g}_ub"
                rows[label] = {"mean": mean, "sd": sd, ends[0]: low, ends[1]: high}
        return pd.DataFrame.from_dict(rows, orient="index")

    def to_datatree(self, draws: int = 1000, random_seed: Any = None) -> xr.DataTree:
        """Return the posterior as ArviZ and PyMC know it.

        Parameters
        ----------
        draws, random_seed
            As for `draws`.

        Returns
        -------
        DataTree
            Groups ``posterior``, of draws of equal weight, and ``design``, of the points, one a
            draw, with ``weight`` and ``log_evidence`` beside the variables.
        """
        coords, dims = coords_and_dims_for_inferencedata(self.model)
        at_points = {
            name: np.array([point[name] for point in self.points])[None] for name in self.points[0]
        }
        at_points |= {"weight": self.weights[None], "log_evidence": self.log_evidences[None]}
        drawn = {name: x[None] for name, x in self.draws(draws, random_seed).items()}
        attrs = {"inference_library": "pymc_bsvm", "inference_method": "evidence"}
        tree: xr.DataTree = from_dict(
            {"posterior": drawn, "design": at_points},
            coords=coords,
            dims=dims,
            attrs={"posterior": {**attrs, "log_evidence": self.log_evidence}},
        )
        return tree

    @property
    def _centres(self) -> Array:
        """The points, drawn together to make room for the kernels."""
        shrinkage = np.sqrt(1.0 - self._bandwidth**2)
        return np.asarray(self.mean + shrinkage * (self.x - self.mean))

    def _conditioned(self, name: str | None) -> list[tuple[Conditioned, float]]:
        """Return the model at each point that counts, with its weight."""
        evaluator = only(marginals_of(self.model, name)).evaluator(self.model)
        kept, start = [], None
        for point, weight in zip(self.points, self.weights, strict=True):
            if weight > _NEGLIGIBLE:
                on = evaluator.at(point, start=start, check_input=self.check_input)
                start = on.evidence.start
                kept.append((on, float(weight)))
        return kept

    def __str__(self) -> str:
        effective = 1.0 / float((self.weights**2).sum())
        return (
            f"log p(y) {self.log_evidence:.2f} by {self.weights.size} points, "
            f"of which {effective:.1f} count"
        )


def integrate(
    objective: LogPosterior,
    end: Array,
    gaussian: Hessian | None,
    design: DesignKind,
    check_input: bool,
    progressbar: bool,
) -> Integral:
    """Return the integral over the hyperparameters; see `EvidenceFit.integrate`."""
    rule = design_of(design, end.size)
    with progress(progressbar) as bar, objective.function.announced(partial(line, bar)):
        return _integrate(objective, end, gaussian, rule, check_input, bar)


def _integrate(
    objective: LogPosterior,
    end: Array,
    gaussian: Hessian | None,
    rule: Design,
    check_input: bool,
    bar: Progress,
) -> Integral:
    if gaussian is None:
        gaussian = nearest_gaussian(objective.density, end, objective.names())
    if gaussian is None:
        raise ValueError(
            "There is no Gaussian near the mode to lay a design over. Sample with pm.sample."
        )
    root = np.linalg.cholesky(gaussian.covariance)
    x = gaussian.mean + rule.nodes @ root.T
    heights, log_evidences = np.full(len(x), -np.inf), np.full(len(x), -np.inf)
    # from the centre outwards, so that each evaluation starts near another
    order = np.argsort((rule.nodes**2).sum(axis=1), kind="stable")
    objective.function.expect(len(x))
    for k in bar.track(order, description="Integrating"):
        heights[k], _ = objective.density(x[k])
        if np.isfinite(heights[k]):
            log_evidences[k] = objective.log_evidence
    failed = int(np.isneginf(heights).sum())
    if failed == len(x):
        raise ValueError("The density is zero at all points. Fit again, or sample with pm.sample.")
    if failed:
        _LOGGER.warning("integrate: there is no evidence at %d of %d points.", failed, len(x))
    logs = rule.log_weights + heights + np.log(root.diagonal()).sum()
    total = float(logsumexp(logs))
    return Integral(
        log_evidence=total,
        points=[objective.point(row) for row in x],
        weights=np.exp(logs - total),
        log_evidences=log_evidences,
        x=x,
        gaussian=gaussian,
        model=objective.model,
        check_input=check_input,
        _bandwidth=rule.bandwidth,
        _objective=objective,
    )
