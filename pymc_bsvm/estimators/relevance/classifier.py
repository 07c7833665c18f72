"""Relevance vector classification with the habits of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm.estimators.base import one_or_all
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import explained, validated
from pymc_bsvm.estimators.kernels.precomputed import UnknownVariance
from pymc_bsvm.estimators.probabilities import ClassPredictions
from pymc_bsvm.estimators.relevance.base import RelevanceVectorMachine
from pymc_bsvm.estimators.relevance.classification import Classification
from pymc_bsvm.estimators.relevance.machine import RelevanceMachine, Variance
from pymc_bsvm.estimators.relevance.search import choose
from pymc_bsvm.evidence.prediction import ClassPredictive
from pymc_bsvm.losses import Logistic

__all__ = ["RelevanceVectorClassifier"]


class RelevanceVectorClassifier(ClassPredictions, RelevanceVectorMachine):
    """Relevance vector classification: few kernel functions, and probabilities.

    The model of `RelevanceVectorRegressor` with the logistic link in the place of noise, by
    Laplace's method. Probabilities are averages over the posterior of the weights. More than two
    classes are told apart one against the rest, each by relevance vectors of its own.

    Parameters
    ----------
    kernel, hyperparameters, bias, variance, standardize, max_iter
        As for `RelevanceVectorRegressor`.
    tol : float, default 0.01
        Gain in nats below which the search stops.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    relevance_ : ndarray of shape (n_relevance,)
        Rows of the relevance vectors of all machines, in order.
    relevance_vectors_ : ndarray of shape (n_relevance, n_features)
        Their inputs.
    dual_coef_ : ndarray of shape (n_machines, n_relevance)
        Most probable weights; zero where a machine has another's relevance vector.
    intercept_ : ndarray of shape (n_machines,)
        The constants of the functions.
    log_evidence_ : float, or a list for several classes
        Laplace's approximation of the log probability of the labels, in nats.
    evidence_path_ : ndarray, or a list for several classes
        The log evidence at the start of each round, and at the end.
    n_iter_ : int
        Number of rounds, of the machine with the most.
    converged_ : bool
        Whether nothing gains more than `tol`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    BayesianSVC : a Gaussian process, whose hyperparameters are learned, too.

    References
    ----------
    [PRML]_, section 7.2.3; [TF03]_.

    Examples
    --------
    >>> from pymc_bsvm.datasets import two_gaussians
    >>> from pymc_bsvm.estimators import RelevanceVectorClassifier
    >>> X, y = two_gaussians(200, dim=2)
    >>> model = RelevanceVectorClassifier().fit(X, y)
    >>> model.relevance_.size < 15
    True
    >>> probabilities = model.predict_proba(X[:3])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
        bias: bool = True,
        variance: Variance = "relevance",
        standardize: bool = True,
        tol: float = 0.01,
        max_iter: int = 10_000,
    ) -> None:
        super().__init__(
            kernel,
            hyperparameters=hyperparameters,
            bias=bias,
            variance=variance,
            standardize=standardize,
            tol=tol,
            max_iter=max_iter,
        )

    @fitting
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the relevance vectors of each machine.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs, or the Gram matrix for ``kernel="precomputed"``.
        y : array_like of shape (n,)
            Labels of any kind, of two classes at least.

        Returns
        -------
        RelevanceVectorClassifier
            Itself.
        """
        inputs, labels = validated(self, X, y, labels=True)
        with explained():
            check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        count = self.classes_.size
        if count < 2:
            raise ValueError(
                f"y must have two classes at least, but it has 1 class: "
                f"{self.classes_.tolist()[0]!r}. Provide rows of another."
            )
        dictionary = self._dictionary(inputs)
        chosen = [
            choose(
                Classification(dictionary, np.where(labels == label, 1.0, -1.0)),
                float(self.tol),
                int(self.max_iter),
            )
            for label in (self.classes_[1:] if count == 2 else self.classes_)
        ]
        self._machines = machines = [RelevanceMachine.of(dictionary, each) for each in chosen]
        self.relevance_ = np.unique(np.concatenate([machine.rows for machine in machines]))
        self.relevance_vectors_ = inputs[self.relevance_]
        self.dual_coef_ = np.zeros((len(machines), self.relevance_.size))
        self.intercept_ = np.zeros(len(machines))
        for k, machine in enumerate(machines):
            m = machine.rows.size
            self.dual_coef_[k, np.searchsorted(self.relevance_, machine.rows)] = machine.weights[:m]
            self.intercept_[k] = machine.weights[m:].sum()
        self.evidence_path_ = one_or_all([each.path for each in chosen])
        self.log_evidence_ = one_or_all([float(each.path[-1]) for each in chosen])
        self.n_iter_ = max(each.path.size for each in chosen) - 1
        self.converged_ = all(each.converged for each in chosen)
        self._warn()
        return self

    def _predictives(self, X: ArrayLike) -> list[ClassPredictive]:
        rows = self._rows(X)
        return [
            ClassPredictive(*machine.moments(rows, self._kind), Logistic())
            for machine in self._machines
        ]

    def predict(self, X: ArrayLike) -> Any:
        """Return the most probable labels.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,)
            For several classes from a Gram matrix that does not hold the variances of new rows,
            where ``variance="full"`` needs them, the classes of the highest latent means.
        """
        check_is_fitted(self)
        if len(self._machines) == 1:
            positive = self._machines[0].mean(self._rows(X)) > 0.0  # needs no variance
            return self.classes_[positive.astype(int)]
        try:
            decision = self.decision_function(X)
        except UnknownVariance:
            rows = self._rows(X)
            decision = np.stack([machine.mean(rows) for machine in self._machines], axis=1)
        return self.classes_[decision.argmax(axis=1)]
