"""Relevance vector regression with the habits of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import validated
from pymc_bsvm.estimators.predictions import RegressionPredictions
from pymc_bsvm.estimators.relevance.base import RelevanceVectorMachine
from pymc_bsvm.estimators.relevance.machine import RelevanceMachine, Variance
from pymc_bsvm.estimators.relevance.regression import Regression
from pymc_bsvm.estimators.relevance.search import choose
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses import Gaussian

__all__ = ["RelevanceVectorRegressor"]


class RelevanceVectorRegressor(RegressionPredictions, RelevanceVectorMachine):
    """Relevance vector regression: few kernel functions, Gaussian noise, error bars.

    The function is a sum of kernel functions at rows of the data with a prior precision for each
    weight. Most of the precisions that maximise the evidence are infinite, and their weights zero.
    Kernel functions are added, re-estimated and deleted one at a time, and the variance of the
    noise is re-estimated beside them. The kernel's own hyperparameters stay as they are: choose
    them with `GridSearchCV`.

    Parameters
    ----------
    kernel : str, Kernel, pm.gp.cov.Covariance or callable, default "rbf"
        As for `BayesianSVR`. Its amplitude has no effect.
    hyperparameters : dict, optional
        Hyperparameters of the kernel by name, such as ``{"ls": 0.5}``, a number or one for each
        column; in standard deviations of the columns, unless ``standardize=False``. Those that are
        not named are where `BayesianSVR` starts: a length-scale is the root of the number of
        columns.
    bias : bool, default True
        Whether a constant is among the functions to choose from.
    variance : {"relevance", "full"}, default "relevance"
        The variance of the function. That of the weights of the relevance vectors vanishes far from
        them; "full" adds what they leave of the variance of a Gaussian process with this kernel.
    standardize : bool, default True
        Whether columns and targets are brought to mean zero and variance one inside. What is
        reported is in the units of the data.
    tol : float, default 0.001
        Gain in nats below which the search stops.
    max_iter : int, default 10000
        Largest number of rounds of the search.

    Attributes
    ----------
    relevance_ : ndarray of shape (n_relevance,)
        Rows of the relevance vectors, in order.
    relevance_vectors_ : ndarray of shape (n_relevance, n_features)
        Their inputs.
    dual_coef_ : ndarray of shape (n_relevance,)
        Means of their weights.
    intercept_ : float
        The constant of the function.
    noise_ : Gaussian
        The noise, in the units of the data.
    log_evidence_ : float
        Log evidence of the targets, in nats, given their mean if they are standardised.
    evidence_path_ : ndarray of shape (n_iter + 1,)
        The log evidence at the start of each round, and at the end.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether nothing gains more than `tol`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    RelevanceVectorClassifier : classification.
    BayesianSVR : a Gaussian process, whose hyperparameters are learned, too.

    References
    ----------
    [Chu03]_, section 3.1.3.2; [PRML]_, section 7.2; [TF03]_.

    Examples
    --------
    >>> from pymc_bsvm.datasets import sinc
    >>> from pymc_bsvm.estimators import RelevanceVectorRegressor
    >>> X, y = sinc(100, noise="gaussian", sigma=0.1)
    >>> model = RelevanceVectorRegressor(hyperparameters={"ls": 0.35}).fit(X, y)
    >>> model.relevance_.size < 15
    True
    >>> mean, std = model.predict(X[:3], return_std=True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
        bias: bool = True,
        variance: Variance = "relevance",
        standardize: bool = True,
        tol: float = 0.001,
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
        """Choose the relevance vectors.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs, or the Gram matrix for ``kernel="precomputed"``.
        y : array_like of shape (n,)
            Targets.

        Returns
        -------
        RelevanceVectorRegressor
            Itself.
        """
        inputs, targets = validated(self, X, y)
        t = targets[:, None]
        dictionary = self._dictionary(inputs)
        self._target = Scale.of_targets(t, None) if self.standardize else Scale.none(1)
        chosen = choose(
            Regression(dictionary, self._target(t)[:, 0]), float(self.tol), int(self.max_iter)
        )
        self._machine = machine = RelevanceMachine.of(dictionary, chosen)
        centre, unit = float(self._target.centre[0]), float(self._target.spread[0])
        m = machine.rows.size
        self.relevance_ = machine.rows
        self.relevance_vectors_ = inputs[machine.rows]
        self.dual_coef_ = unit * machine.weights[:m]
        self.intercept_ = centre + unit * float(machine.weights[m:].sum())
        self.noise_ = Gaussian(unit * float(np.sqrt(chosen.variance)))
        self.evidence_path_ = chosen.path - len(t) * np.log(unit)
        self.log_evidence_ = float(self.evidence_path_[-1])
        self.n_iter_ = chosen.path.size - 1
        self.converged_ = chosen.converged
        self._warn()
        return self

    def _means(self, rows: Array) -> Array:
        """Return the means of the targets."""
        centre, unit = float(self._target.centre[0]), float(self._target.spread[0])
        return centre + unit * self._machine.mean(rows)

    def _predictive(self, rows: Array) -> RegressionPredictive:
        """Return the predictive distribution in the units of the targets."""
        centre, unit = float(self._target.centre[0]), float(self._target.spread[0])
        mean, variance = self._machine.moments(rows, self._kind)
        return RegressionPredictive(centre + unit * mean, unit**2 * variance, self.noise_)
