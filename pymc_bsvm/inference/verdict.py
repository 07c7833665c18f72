"""How far Laplace's method is from the exact posterior of the latent values, at a point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.model.core import Model, modelcontext
from pytensor.compile.mode import get_mode

from pymc_bsvm.evidence.laplace import Curvature
from pymc_bsvm.gp.data import as_inputs
from pymc_bsvm.gp.evaluator import Evaluator, State
from pymc_bsvm.inference.annealing import AnnealedEvidence, anneal_laplace
from pymc_bsvm.inference.difference import Difference
from pymc_bsvm.inference.objective import Marginal, marginals_of
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.losses.base import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdict", "verdict"]

_MODE = get_mode("FAST_COMPILE")
_FEW = 100  # effective particles


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
        parts = [self._on_evidence(), self.latent.describe("f at the data")]
        if self.predictions is not None:
            parts.append(self.predictions.describe("f at Xnew"))
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
    pymc_bsvm.inference.reweight : the same over draws of the hyperparameters.
    """
    model, point = _model_and_point(model, point)
    marginal = _only(marginals_of(model, name))
    evaluator = marginal.evaluator(model)
    state = evaluator.state(point, "exact")
    evidence = state.evidence
    smooth = evaluator.state(point, "smooth", evidence.solution.a, check_input=False).evidence
    new = None if Xnew is None else _new_rows(marginal, state, Xnew)
    annealed = anneal_laplace(
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
        latent=Difference.between(posterior.mean, posterior.variance, annealed.moments),
        predictions=None if new is None else _predictions(evaluator, state, annealed, *new),
    )


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
    return Difference.between(*evaluator.moments(state, Xnew), annealed.predict(cross, prior, m))


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


def _only(marginals: list[Marginal]) -> Marginal:
    if len(marginals) > 1:
        raise ValueError(
            f"The model has {len(marginals)} Laplace variables: "
            f"{', '.join(marginal.name for marginal in marginals)}. Choose one with name=..."
        )
    return marginals[0]


def _with_error(value: float, error: float) -> str:
    """Format a value with as many decimals as its error has to say, one to three."""
    decimals = 3 if error <= 0.0 else min(max(1 - math.floor(math.log10(error)), 1), 3)
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"
