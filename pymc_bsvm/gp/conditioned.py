"""A Gaussian process model at a point of its hyperparameters, conditioned on its data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_bsvm._pickling import ByCloudpickle
from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm._validation import Interval, as_parameter, names_arguments
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.evidence.approximation import Evidence
from pymc_bsvm.evidence.noise import LeaveOneOut, Noise, NoiseKind, fit_noise
from pymc_bsvm.evidence.prediction import ClassPredictive, RegressionPredictive, predictive
from pymc_bsvm.gp.data import as_numbers
from pymc_bsvm.gp.labelled import LabelledPredictive, Rows
from pymc_bsvm.gp.support_vectors import SupportVectors
from pymc_bsvm.losses import RegressionLoss

if TYPE_CHECKING:
    from pymc_bsvm.gp.evaluator import Evaluator

__all__ = ["Conditioned"]

_NONNEGATIVE = Interval(low=0.0, includes_low=True)


@dataclass(frozen=True, eq=False)
class Conditioned(ByCloudpickle):
    """A model at a point, as ``gp.at(point)`` returns it: nothing here is solved twice.

    Its pickle contains a copy of the model, which cloudpickle writes.
    """

    X: Array = field(repr=False)
    """Training inputs, of shape (n, d)."""
    evidence: Evidence
    """The evidence in its terms, with the posterior and what certifies it."""
    of_loss: list[Array] = field(repr=False)
    """What the loss depends on, in the order of `RowLoss.parameters`."""
    parameters: list[Array] = field(repr=False)
    """What the prior depends on, in the order of `Prior.parameters`."""
    _evaluator: Evaluator = field(repr=False)

    @property
    def mean(self) -> Array:
        """Mean of the latent values at the training inputs, of shape (n,)."""
        return self.evidence.posterior.mean

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the latent values at the training inputs, of shape (n, n)."""
        return self.evidence.posterior.covariance

    @property
    def log_predictive(self) -> Array:
        """Log density of each observation given all the others, of shape (n,), in nats."""
        return self.evidence.log_predictive

    @cached_property
    def support_vectors(self) -> SupportVectors:
        """The support vectors of the MAP estimate."""
        return SupportVectors.of(self.evidence)

    def moments(self, Xnew: Any) -> tuple[Array, Array]:
        """Return means and variances of the latent values at new inputs, each of shape (n_new,)."""
        return self._evaluator.moments(self, self.rows(Xnew))

    @names_arguments
    def predict(
        self,
        Xnew: Any,
        diag: bool = False,
        pred_noise: bool = False,
        jitter: float = 0.0,
        labelled: bool = False,
    ) -> tuple[Any, Any]:
        """Return mean and covariance of the latent values at new inputs.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs. With ``diag=True`` any number: they are treated in blocks.
        diag : bool, default False
            Return variances instead of the covariance matrix.
        pred_noise : bool, default False
            Add the mean and the variance of the noise; regression only. A parameter that varies by
            row must be a function of the inputs, so that it is known at the new rows.
        jitter : float, default 0
            Added to the diagonal of the covariance matrix that is returned.
        labelled : bool, default False
            Return labelled arrays of xarray, with the rows of Xnew: the index of a data frame, the
            coordinates of a labelled array. Without it, arrays of NumPy whatever comes in.

        Returns
        -------
        mean : ndarray of shape (n_new,)
            Means, (4.46) and (5.41) of [Chu03]_.
        covariance : ndarray of shape (n_new, n_new) or (n_new,)
            Covariance matrix, or variances.
        """
        jitter = as_parameter("jitter", jitter, _NONNEGATIVE)
        if labelled:
            mean, covariance = self.predict(Xnew, diag, pred_noise, jitter)
            rows = Rows.of(Xnew)
            second = rows.array("variance", covariance) if diag else None
            second = rows.covariance("covariance", covariance) if second is None else second
            return rows.array("mean", mean), second
        new = self.rows(Xnew)
        shift: Parameter = 0.0
        noise: Parameter = 0.0
        if pred_noise:
            loss = self._evaluator.loss(self.of_loss, new)
            if not isinstance(loss, RegressionLoss):
                raise ValueError(
                    f"Labels have no noise variance, but pred_noise is {pred_noise!r}. "
                    "Use predict_proba for the probabilities of the labels."
                )
            shift, noise = loss.mean(), loss.variance()
        if diag:
            mean, variance = self._evaluator.moments(self, new)
            return mean + shift, variance + noise
        mean, covariance = self._evaluator.joint_moments(self, new)
        return mean + shift, covariance + (noise + jitter) * np.eye(mean.size)

    @names_arguments
    def predictive(
        self, Xnew: Any, noise: NoiseKind | Noise | None = None, labelled: bool = False
    ) -> Any:
        """Return the exact distribution of new targets given the Gaussian of the latent values.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs.
        noise : {"auto", "loss", "student", "contaminated", "model"} or noise, optional
            Noise of the new targets, for regression: that of the "model" unless told. Other names
            have it fitted to what the training rows say of each other; see `fitted_noise`. Or a
            loss, a `StudentNoise` or a `ContaminatedNoise` of `pymc_bsvm.evidence`.
        labelled : bool, default False
            As for `predict`.

        Returns
        -------
        RegressionPredictive, ClassPredictive or LabelledPredictive
            Densities, distribution functions, quantiles and draws; or probabilities of labels.
        """
        if labelled:
            return LabelledPredictive(self.predictive(Xnew, noise), Rows.of(Xnew))
        new = self.rows(Xnew)
        moments = self._evaluator.moments(self, new)
        if noise is None or noise == "model":
            return predictive(self._evaluator.loss(self.of_loss, new), *moments)
        return RegressionPredictive(
            *moments, self.fitted_noise(noise) if isinstance(noise, str) else noise
        )

    def fitted_noise(self, kind: NoiseKind = "auto") -> Noise:
        """Return the noise under which the targets are most probable, each given all the others.

        Parameters
        ----------
        kind : {"auto", "loss", "student", "contaminated", "model"}
            The family of the loss, Student's t, Gaussian noise that is wider in a share of the
            rows, the best of the three, or what the model has.

        Returns
        -------
        RegressionLoss, StudentNoise or ContaminatedNoise
        """
        problem = self.evidence.problem
        if not isinstance(problem.loss, RegressionLoss):
            raise ValueError(
                f"Labels have no noise, but noise is {kind!r}. Leave out noise, or use "
                "predict_proba for the probabilities of the labels."
            )
        cavities = [self.evidence.cavity]
        others = LeaveOneOut(problem.y, cavities, problem.sample_weight)
        return fit_noise(others, problem.loss, kind)

    @names_arguments
    def predict_proba(self, Xnew: Any, labelled: bool = False) -> Any:
        """Return the probability of label 1 at new inputs, (5.42) of [Chu03]_.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs.
        labelled : bool, default False
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_new,), or DataArray
            Probabilities.
        """
        distribution = self.predictive(Xnew)
        if not isinstance(distribution, ClassPredictive):
            raise ValueError(
                f"{self._evaluator.specification.label} has no classes: its loss is for "
                "regression. Use predictive for the distribution of new targets."
            )
        p = distribution.probability(1)
        return Rows.of(Xnew).array("probability", p) if labelled else p

    def rows(self, Xnew: Any) -> Array:
        """Return new inputs as a matrix of numbers with the columns of the training inputs.

        Columns with names are matched by name.
        """
        columns = self._evaluator.specification.columns
        return as_numbers("Xnew", Xnew, self.X.shape[1], columns)

    def prior_of(self, Xnew: Any) -> tuple[Array, Array, Array]:
        """Return the prior mean of new rows, their covariance with all training rows, and variance.

        Parameters
        ----------
        Xnew : array_like of shape (n_new, d)
            New inputs.

        Returns
        -------
        tuple of ndarray
            Of the shapes (n_new,), (n, n_new) and (n_new,).
        """
        mean, cross, variance = self._evaluator.new_rows(self.X, self.rows(Xnew), self.parameters)
        K = self.evidence.problem.K
        return mean, K.A @ cross if isinstance(K, Inducing) else cross, variance
