"""How far an approximation is from the exact posterior of the latent values, at a point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pymc import Model

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import names_arguments
from pymc_bsvm.approximations import EP, Approximation, Evidence, Laplace
from pymc_bsvm.diagnosis.annealing import AnnealedEvidence, anneal_problem
from pymc_bsvm.diagnosis.difference import Difference
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.gp.place import model_at
from pymc_bsvm.inference.objective import marginals_of, only
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers import DualSolveError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Verdict", "verdict"]

_FEW = 100  # effective particles
_SAME = 1.05  # ratio of standard deviations


@dataclass(frozen=True)
class Verdict:
    """An approximate model against an unbiased estimate of the exact one, at a point."""

    name: str
    """The variable whose evidence was examined."""
    approximation: str
    """The approximation that the model uses."""
    log_evidences: Mapping[str, float]
    """Approximate log evidences, in nats: that of the model, those of its variants and of other
    approximations."""
    annealed: AnnealedEvidence = field(repr=False)
    """The unbiased estimate with its particles."""
    latent: Difference
    """The latent values at the data."""
    predictions: Difference | None
    """The latent values at Xnew, if it was given."""
    others: Mapping[str, Difference] = field(default_factory=dict)
    """The latent values at the data by other approximations, by name."""

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
        return self.errors[self.approximation]

    @property
    def errors(self) -> Mapping[str, float]:
        """All approximate log evidences less the unbiased one, in nats."""
        return {k: value - self.log_evidence for k, value in self.log_evidences.items()}

    @property
    def sentence(self) -> str:
        """What this says, in words."""
        parts = [self._on_evidence(), self.latent.describe("f at the data")]
        if self.predictions is not None:
            parts.append(self.predictions.describe("f at Xnew"))
        parts += [self._beside(label) for label in self.others]
        return " ".join([*parts, self._advice()])

    def _on_evidence(self) -> str:
        size = _with_error(abs(self.error), self.standard_error)
        if abs(self.error) <= 2.0 * self.standard_error:
            of = f"The error of the {self.approximation} evidence"
            return f"{of} is not visible here: {size} nats."
        side = "low" if self.error < 0.0 else "high"
        return f"The {self.approximation} evidence is {size} nats too {side} here."

    def _beside(self, label: str) -> str:
        """Set another approximation beside the model's own."""
        pair = [(self.approximation, self.latent), (label, self.others[label])]
        if label.startswith(Laplace.name):  # the ratio is that of Laplace's method to the other
            pair.reverse()
        (first, one), (second, two) = pair
        ratio = one.sd_over(two)
        middle = float(np.median(ratio))
        known = first.startswith(Laplace.name) and second == EP.name
        return (
            f"The error of the {label} evidence is {self.errors[label]:+.2f} nats. The sds of "
            f"{first} at the data are {ratio.min():.2f} to {ratio.max():.2f} times those of "
            f"{second}, {middle:.2f} in the median{_reason(middle) if known else ''}."
        )

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
        close = [label.split()[0] for label, other in self.others.items() if other.close]
        use = "".join(f"use approximation={x!r}, which is close here, or " for x in close[-1:])
        return (
            f"Where f or predictions matter, {use}sample the latent values as well; reweight tells "
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
            **{
                f"error of {label}": (value, self.standard_error, "nats")
                for label, value in self.errors.items()
            },
            "effective particles": (self.annealed.ess, math.nan, ""),
        }
        by_others = [(f"f by {label}", other) for label, other in self.others.items()]
        for label, difference in (
            ("f", self.latent),
            ("f at Xnew", self.predictions),
            *by_others,
        ):
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


@names_arguments
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
    pymc_bsvm.reweight : the same over draws of the hyperparameters.
    """
    model, point = _model_and_point(model, point)
    marginal = only(marginals_of(model, name))
    evaluator, used = marginal.evaluator(model), marginal.approximation
    on = evaluator.at(point)
    variants = {
        str(variant): evaluator.at(point, variant, on.evidence.start).evidence.log_evidence
        for variant in used.variants()
    }
    others = {}
    for other in _others(used, on.evidence.problem.loss):
        with suppress(DualSolveError):
            others[str(other)] = evaluator.at(point, other).evidence
    new = None if Xnew is None else on.rows(Xnew)
    annealed = anneal_problem(
        on.evidence.problem,
        particles=particles,
        temperatures=temperatures,
        replicates=replicates,
        random_seed=random_seed,
        progressbar=progressbar,
    )
    return Verdict(
        name=marginal.name,
        approximation=str(used),
        log_evidences=variants | {label: found.log_evidence for label, found in others.items()},
        annealed=annealed,
        latent=_at_the_data(on.evidence, annealed),
        predictions=None if new is None else _predictions(on, annealed, new),
        others={label: _at_the_data(found, annealed) for label, found in others.items()},
    )


def _others(used: Approximation, loss: Loss) -> Iterator[Approximation]:
    """Return Laplace's approximation and EP, where they are defined and not used already."""
    for other in (Laplace(), EP()):
        if other.name != used.name and all(need.met(loss) for need in other.needs):
            yield other


def _at_the_data(evidence: Evidence, annealed: AnnealedEvidence) -> Difference:
    posterior = evidence.posterior
    return Difference.between(posterior.mean, posterior.variance, annealed.moments)


def _predictions(on: Conditioned, annealed: AnnealedEvidence, Xnew: Array) -> Difference:
    """Compare latent values at new rows."""
    m, cross, prior = on.prior_of(Xnew)
    return Difference.between(*on.moments(Xnew), annealed.predict(cross, prior, m))


def _model_and_point(
    model: Model | EvidenceFit | None, point: Mapping[str, Any] | EvidenceFit | None
) -> tuple[Model, Mapping[str, Any] | None]:
    """Return the model and the point, either of which a fit may stand for."""
    if isinstance(point, EvidenceFit):
        return model_at(point.model if model is None else model), point.point
    if isinstance(model, EvidenceFit):
        return model.model, model.point if point is None else point
    return model_at(model), point


def _reason(ratio: float) -> str:
    """Say where the sds of Laplace's method come from, which are this ratio of those of EP."""
    if ratio < 1.0 / _SAME:
        return ": the loss is more curved at the mode than on average over the posterior"
    if ratio > _SAME:
        return ": the loss is straighter at the mode than on average over the posterior"
    return ": the curvature at the mode is that of the whole posterior"


def _with_error(value: float, error: float) -> str:
    """Format a value with as many decimals as its error has to say, one to three."""
    decimals = 3 if error <= 0.0 else min(max(1 - math.floor(math.log10(error)), 1), 3)
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"
