"""How far an approximation is from the exact posterior of the latent values, at a point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pymc import Model, modelcontext

from pymc_bsvm._typing import Array
from pymc_bsvm.diagnosis.annealing import AnnealedEvidence, anneal_problem
from pymc_bsvm.diagnosis.difference import Difference
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.inference.objective import marginals_of, only
from pymc_bsvm.inference.result import EvidenceFit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdict", "verdict"]

_FEW = 100  # effective particles


@dataclass(frozen=True)
class Verdict:
    """An approximate model against an unbiased estimate of the exact one, at a point."""

    name: str
    """The variable whose evidence was examined."""
    approximation: str
    """The approximation that the model uses."""
    log_evidences: Mapping[str, float]
    """Approximate log evidences, in nats: that of the model and those of its variants."""
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
    def error(self) -> float:
        """The model's log evidence less the unbiased one, in nats."""
        return self.log_evidences[self.approximation] - self.log_evidence

    @property
    def sentence(self) -> str:
        """What this says, in words."""
        parts = [self._on_evidence(), self.latent.describe("f at the data")]
        if self.predictions is not None:
            parts.append(self.predictions.describe("f at Xnew"))
        return " ".join([*parts, self._advice()])

    def _on_evidence(self) -> str:
        size = _with_error(abs(self.error), self.standard_error)
        if abs(self.error) <= 2.0 * self.standard_error:
            of = f"The error of the {self.approximation} evidence"
            return f"{of} is not visible here: {size} nats."
        side = "low" if self.error < 0.0 else "high"
        return f"The {self.approximation} evidence is {size} nats too {side} here."

    def _advice(self) -> str:
        if self.annealed.ess < _FEW:
            return (
                f"This rests on {self.annealed.ess:.0f} effective particles only: raise "
                "temperatures before relying on it."
            )
        compared = [self.latent] + ([] if self.predictions is None else [self.predictions])
        if all(difference.close for difference in compared):
            return (
                "The approximation serves at these hyperparameters; reweight tells whether its "
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
            **{
                f"log evidence, {label}": (value, 0.0, "nats")
                for label, value in self.log_evidences.items()
            },
            f"error of {self.approximation}": (self.error, self.standard_error, "nats"),
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
        found = ", ".join(f"{label} {value:.3f}" for label, value in self.log_evidences.items())
        lines = [f"{self.name}: log evidence {found}; unbiased: {self.annealed}", self.sentence]
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
    """Say how far an approximation is from the exact posterior of the latent values, at a point.

    Parameters
    ----------
    model : pymc.Model or EvidenceFit, optional
        The model; by default that of the context. A fit stands for its model and its point.
    point : mapping or EvidenceFit, optional
        Values of the free variables, such as ``fit.point``.
    name : str, optional
        Name of the variable with an evidence, if the model has several.
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
        If there is no variable with an evidence, if there are several and no name, or if the
        point lacks a value.

    Notes
    -----
    The posterior that is called exact here is that of the latent values at fixed hyperparameters.
    It is known up to the Monte Carlo errors that are reported with it.

    See Also
    --------
    pymc_bsvm.inference.reweight : the same over draws of the hyperparameters.
    """
    model, point = _model_and_point(model, point)
    marginal = only(marginals_of(model, name))
    evaluator, used = marginal.evaluator(model), marginal.approximation
    on = evaluator.at(point)
    others = {
        str(variant): evaluator.at(point, variant, on.evidence.start).evidence.log_evidence
        for variant in used.variants()
    }
    new = None if Xnew is None else on.rows(Xnew)
    annealed = anneal_problem(
        on.evidence.problem,
        particles=particles,
        temperatures=temperatures,
        replicates=replicates,
        random_seed=random_seed,
        progressbar=progressbar,
    )
    posterior = on.evidence.posterior
    return Verdict(
        name=marginal.name,
        approximation=str(used),
        log_evidences=others,
        annealed=annealed,
        latent=Difference.between(posterior.mean, posterior.variance, annealed.moments),
        predictions=None if new is None else _predictions(on, annealed, new),
    )


def _predictions(on: Conditioned, annealed: AnnealedEvidence, Xnew: Array) -> Difference:
    """Compare latent values at new rows."""
    m, cross, prior = on.prior_of(Xnew)
    return Difference.between(*on.moments(Xnew), annealed.predict(cross, prior, m))


def _model_and_point(
    model: Model | EvidenceFit | None, point: Mapping[str, Any] | EvidenceFit | None
) -> tuple[Model, Mapping[str, Any] | None]:
    """Return the model and the point, either of which a fit may stand for."""
    if isinstance(point, EvidenceFit):
        return modelcontext(point.model if model is None else model), point.point
    if isinstance(model, EvidenceFit):
        return model.model, model.point if point is None else point
    return modelcontext(model), point


def _with_error(value: float, error: float) -> str:
    """Format a value with as many decimals as its error has to say, one to three."""
    decimals = 3 if error <= 0.0 else min(max(1 - math.floor(math.log10(error)), 1), 3)
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"
