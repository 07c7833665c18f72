"""Batches of rows one after the other.

The first batch fixes the scale, the hyperparameters, the noise and the inducing points. The
posterior after one batch is the prior of the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.base import BayesianMachine
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.induced import InducedMachine, tolerance
from pymc_bsvm.estimators.inputs import validated, weights_of
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.trained import Trained
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.recursion import updated
from pymc_bsvm.streamed.rows import ArrayRows
from pymc_bsvm.streamed.scaled import OneAgainstRest

__all__ = ["RecursiveClassifier", "RecursiveRegressor"]


def _has_points(estimator: BayesianMachine) -> bool:
    """Raise ``AttributeError`` unless there are inducing points."""
    if estimator.inducing is None:
        raise AttributeError(
            "Batches need inducing points, but inducing is None. "
            "Set inducing to a number, such as 500."
        )
    return True


class RecursiveRegressor(BayesianMachine):
    """A regressor that learns from batches."""

    _trained: Trained
    _target: Scale

    @available_if(_has_points)
    @fitting
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, after those before.

        The first batch is fitted, and all attributes are its own; it should be large enough to tell
        of the hyperparameters and of the region of the inputs. Later batches change the
        predictions. There have to be inducing points, and the approximation is Laplace's.
        Predictions are those of all rows at once if the noise is Gaussian;
        ``benchmarks/partial.md`` says how near they are for other losses.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Targets.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        BayesianSVR
            Itself.
        """
        if not hasattr(self, "_trained"):
            _check_laplace(self.approximation)
            fitted: Self = self.fit(X, y, sample_weight)
            return fitted
        X, y = validated(self, X, y, reset=False)
        rows, [y], weight = _counted(X, [self._target(y)], sample_weight)
        self._trained = _updated(self._trained, self._scale(rows), y, weight, self.n_jobs)
        return self


class RecursiveClassifier(BayesianMachine):
    """A classifier that learns from batches."""

    _trained: list[Trained]
    classes_: NDArray[Any]

    @available_if(_has_points)
    @fitting
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, after those before.

        As `BayesianSVR.partial_fit`. All classes have to be in the first batch.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Labels.
        classes : array_like, optional
            All labels there are; by default those of the first batch.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        BayesianSVC
            Itself.
        """
        if not hasattr(self, "_trained"):
            _check_laplace(self.approximation)
            _check_known(np.unique(y), [] if classes is None else classes, "the first batch")
            fitted: Self = self.fit(X, y, sample_weight)
            return fitted
        X, y = validated(self, X, y, labels=True, reset=False)
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight is 'balanced', but a batch does not know how often classes occur in "
                "all others. Pass a dict of weights."
            )
        _check_known(self.classes_, y, "the classes of the first batch")
        labels = self.classes_[1:] if self.classes_.size == 2 else self.classes_
        targets = [OneAgainstRest(label)(y) for label in labels]
        rows, targets, weight = _counted(X, targets, self._weights(y, sample_weight))
        inputs = self._scale(rows)
        self._trained = [
            _updated(each, inputs, target, weight, self.n_jobs)
            for each, target in zip(self._trained, targets, strict=True)
        ]
        return self


def _check_laplace(approximation: str | Approximation) -> None:
    """Raise for expectation propagation, whose sites later batches would not have."""
    if getattr(approximation, "name", approximation) == "ep":
        raise ValueError(
            "Later batches are learned by Laplace's method, but approximation is 'ep'. "
            "Set approximation='laplace', or fit all rows at once."
        )


def _check_known(known: Any, labels: Any, where: str) -> None:
    """Raise for labels that are not among those that are known."""
    other = np.setdiff1d(labels, known)
    if other.size:
        raise ValueError(
            f"The label {str(other[0])!r} is not among {where}. "
            "Let the first batch have rows of all classes."
        )


def _counted(
    X: Array, targets: list[Array], sample_weight: Any
) -> tuple[Array, list[Array], Array | None]:
    """Return rows, several targets of theirs, and weights, without rows of weight zero."""
    if sample_weight is None:
        return X, targets, None
    weight = weights_of(sample_weight, X)
    kept = weight > 0.0
    return X[kept], [y[kept] for y in targets], weight[kept]


def _updated(
    trained: Trained, X: Array, y: Array, weight: Array | None, n_jobs: int | None
) -> Trained:
    """Return a machine after further rows in its units."""
    machine = trained.machine
    if not isinstance(machine, InducedMachine):
        raise ValueError(
            "Batches need inducing points, but the first one was fitted without. "
            "Set inducing to a number, such as 500."
        )
    _check_laplace(machine.blueprint.approximation)
    passes = Passes(ArrayRows(X, y, weight), n_jobs)
    posterior = updated(machine.posterior, passes, machine.loss, tolerance(len(X)))
    return replace(trained, machine=replace(machine, posterior=posterior), objective=None)
