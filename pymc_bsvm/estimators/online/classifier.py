"""On-line Gaussian process classification with the habits of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import explained, validated
from pymc_bsvm.estimators.likelihood import classification_likelihood
from pymc_bsvm.estimators.online.base import OnlineEstimator
from pymc_bsvm.estimators.probabilities import ClassPredictions
from pymc_bsvm.evidence.prediction import ClassPredictive
from pymc_bsvm.losses.base import ClassificationLoss
from pymc_bsvm.streamed.scaled import OneAgainstRest

__all__ = ["OnlineSVC"]


class OnlineSVC(ClassPredictions, OnlineEstimator):
    """Gaussian process classification that learns from one row at a time, on few basis vectors.

    The process of `OnlineSVR` with a link in the place of noise. More than two classes are told
    apart one against the rest, each with basis vectors of its own.

    Parameters
    ----------
    kernel, hyperparameters, max_basis, novelty, n_sweeps, tol
        As for `OnlineSVR`. The amplitude "eta" is in margins of the loss.
    loss : {"trigonometric", "logistic", "probit"} or loss object, default "trigonometric"
        As for `BayesianSVC`.
    offset : float, default 100.0
        Variance of a constant that is part of the function.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    loss_ : ClassificationLoss
        The loss with its parameters.
    basis_vectors_ : ndarray of shape (n_basis, n_features), or list of ndarray
        The basis vectors; a list with one element for each class if there are more than two. So
        are the following.
    dual_coef_ : ndarray of shape (n_basis,), or list of ndarray
        Coefficients of the kernel at the basis vectors in the mean of the function.
    intercept_ : float, or list of float
        The constant in the mean of the function.
    log_evidence_, sequential_log_evidence_ : float, or list of float
        As for `OnlineSVR`, of the labels.
    residual_ : float
        As for `OnlineSVR`, the largest of all machines.
    n_iter_ : int
        Number of sweeps of the last call, the largest of all machines.
    converged_ : bool
        Whether all residuals are at most `tol`; False after one sweep.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    OnlineSVR : regression.
    BayesianSVC : hyperparameters by evidence; its `partial_fit` takes large batches.

    References
    ----------
    [Chu03]_, section 3.2.4; [CO02]_.

    Examples
    --------
    >>> from pymc_bsvm.datasets import two_gaussians
    >>> from pymc_bsvm.estimators import OnlineSVC
    >>> X, y = two_gaussians(200, dim=2)
    >>> model = OnlineSVC(hyperparameters={"eta": 2.0}, max_basis=20)
    >>> for rows in (slice(0, 100), slice(100, 200)):
    ...     model = model.partial_fit(X[rows], y[rows], classes=[0, 1])
    >>> bool(model.score(X, y) > 0.8)
    True
    >>> probabilities = model.predict_proba(X[:3])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
        loss: str | ClassificationLoss = "trigonometric",
        offset: float = 100.0,
        max_basis: int | None = 100,
        novelty: float = 1e-6,
        n_sweeps: int = 1,
        tol: float = 1e-6,
    ) -> None:
        super().__init__(
            kernel,
            hyperparameters=hyperparameters,
            offset=offset,
            max_basis=max_basis,
            novelty=novelty,
            n_sweeps=n_sweeps,
            tol=tol,
        )
        self.loss = loss

    classes_: NDArray[Any]

    @fitting
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget what was learned, and learn from rows in their order.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Labels of any kind, of two classes at least.

        Returns
        -------
        OnlineSVC
            Itself.
        """
        inputs, labels = validated(self, X, y, labels=True)
        with explained():
            check_classification_targets(labels)
        self._begin_with(np.unique(labels), inputs.shape[1])
        self._learn(inputs, self._targets(labels), int(self.n_sweeps))
        return self

    @fitting
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from further rows in their order, each of which is visited once.

        The parameters are those of the first call.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Labels.
        classes : array_like, optional
            All labels there are; by default those that the first call has.

        Returns
        -------
        OnlineSVC
            Itself.
        """
        first = not hasattr(self, "_machines")
        inputs, labels = validated(self, X, y, labels=True, reset=first)
        with explained():
            check_classification_targets(labels)
        if first:
            named = np.unique(labels if classes is None else classes)
            _check_named(labels, named)
            self._begin_with(named, inputs.shape[1])
        else:
            _check_among(labels, self.classes_, "y")
            if classes is not None:
                _check_among(classes, self.classes_, "classes")
        self._learn(inputs, self._targets(labels), 1)
        return self

    def predict(self, X: ArrayLike) -> Any:
        """Return the most probable labels.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,)
        """
        decision = self.decision_function(X)
        several = decision.ndim == 2
        which = decision.argmax(axis=1) if several else (decision > 0.0).astype(int)
        return self.classes_[which]

    def _begin_with(self, classes: NDArray[Any], d: int) -> None:
        """Start with machines for these classes."""
        if classes.size < 2:
            raise ValueError(
                "There must be two classes at least, but there is 1 class: "
                f"{classes.tolist()[0]!r}. "
                "Provide rows of another, or pass all classes to partial_fit."
            )
        self._begin(d, 1 if classes.size == 2 else classes.size)
        self.classes_ = classes

    def _loss(self) -> ClassificationLoss:
        """Return the loss of a name, or the one that was given."""
        return cast(ClassificationLoss, classification_likelihood(self.loss).loss(()))

    def _targets(self, y: NDArray[Any]) -> list[Array]:
        """Return the labels -1 and +1 of each machine."""
        labels = self.classes_[1:] if self.classes_.size == 2 else self.classes_
        return [OneAgainstRest(label)(y) for label in labels]

    def _predictives(self, X: ArrayLike) -> list[ClassPredictive]:
        rows = self._rows(X)
        loss = cast(ClassificationLoss, self.loss_)
        return [ClassPredictive(*each.moments(rows), loss) for each in self._machines]


def _check_named(labels: Any, classes: NDArray[Any]) -> None:
    """Raise for labels that are not among the given classes."""
    other = np.setdiff1d(labels, classes)
    if other.size:
        raise ValueError(
            f"y holds {other.tolist()[0]!r}, which is not among classes = {classes.tolist()}. "
            "Add it to classes."
        )


def _check_among(labels: Any, known: NDArray[Any], what: str) -> None:
    """Raise for labels that the first call did not name."""
    other = np.setdiff1d(labels, known)
    if other.size:
        raise ValueError(
            f"{what} must hold labels of the first call only, but it holds {other.tolist()[0]!r}. "
            "Pass all labels as classes when partial_fit is called first."
        )
