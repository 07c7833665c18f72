"""On-line Gaussian process regression with the habits of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, positive
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import validated
from pymc_bsvm.estimators.likelihood import check_likelihood
from pymc_bsvm.estimators.named_loss import REGRESSION_LOSSES, regression_loss
from pymc_bsvm.estimators.online.base import OnlineEstimator
from pymc_bsvm.estimators.predictions import RegressionPredictions
from pymc_bsvm.estimators.svm.base import one_of
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["OnlineSVR"]


class OnlineSVR(RegressionPredictions, OnlineEstimator):
    """Gaussian process regression that learns from one row at a time, on few basis vectors.

    The posterior process is a Gaussian one at all times. A row changes its mean and its covariance
    as the moments of the row's tilted density ask for, (3.62)-(3.65) of [Chu03]_, for any loss that
    is a likelihood. A row that the basis vectors do not know becomes one of them, and where they
    are too many, the one that matters least goes: [CO02]_. The time for a row is that of a product
    of a matrix of the size of the basis with a vector, and rows are not kept.

    The result depends on the order of the rows, unless the noise is Gaussian and no basis vector
    has gone. With more sweeps rows are visited again, as expectation propagation does, until the
    order does not matter for the sites. The hyperparameters are given; `BayesianSVR` finds them.
    Nothing is standardised, as later rows would have another scale.

    Parameters
    ----------
    kernel : str, Kernel, pm.gp.cov.Covariance or callable, default "rbf"
        As for `BayesianSVR`, but not "precomputed".
    hyperparameters : dict, optional
        Hyperparameters of the kernel by name, such as ``{"eta": 2.0, "ls": 0.5}``, a number or one
        for each column, in units of the data. Those that are not named are where `BayesianSVR`
        starts: an amplitude is one, a length-scale the root of the number of columns.
    loss : str or RegressionLoss, default "silf"
        A name as for `SVMRegressor`: "silf", "epsilon_insensitive", "huber", "laplace" or
        "squared". Or a loss, which brings its own parameters.
    C : float, default 1.0
        Slope of a loss by name where it is linear, in nats per unit of the targets. For "squared"
        the inverse of the variance of the noise.
    epsilon : float, default 0.1
        Half width of the tube, in units of the targets; "laplace" and "squared" have none.
    beta : float, default 0.3
        Share of the tube over which "silf" bends, in (0, 1].
    offset : float, default 100.0
        Variance of a constant that is part of the function, in squared units of the targets. The
        constant needs no basis vector.
    max_basis : int or None, default 100
        Largest number of basis vectors; None for as many as it takes.
    novelty : float, default 1e-6
        Share of its prior variance, without that of the constant, that the basis vectors have to
        leave out of a row for it to become one of them, and all others of a basis vector for it to
        stay one. It is at least 1e-8, where rounding begins to decide.
    n_sweeps : int, default 1
        Largest number of times that `fit` visits each row. One is on-line learning. After the first
        sweep the basis vectors are fixed; there are features of each row then, as many numbers as
        basis vectors.
    tol : float, default 1e-6
        Residual at which the sweeps end; see `EPEvidence.residual`.

    Attributes
    ----------
    loss_ : RegressionLoss
        The loss with its parameters, whose noise is that of the predictions.
    basis_vectors_ : ndarray of shape (n_basis, n_features)
        The basis vectors.
    dual_coef_ : ndarray of shape (n_basis,)
        Coefficients of the kernel at the basis vectors in the mean of the function.
    intercept_ : float
        The constant in the mean of the function.
    log_evidence_ : float
        Log evidence of the targets, in nats. After one sweep it is `sequential_log_evidence_`;
        after several, that of expectation propagation, and of later batches their log probability
        after all rows before them.
    sequential_log_evidence_ : float
        Sum over the rows of the log density of each, given those before it: what a forecaster
        scores who learns from each target after its forecast.
    residual_ : float
        How far the sites are from matching all moments; not a number after one sweep.
    n_iter_ : int
        Number of sweeps of the last call.
    converged_ : bool
        Whether the residual is at most `tol`; after one sweep that is not known, and it is False.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    OnlineSVC : classification.
    BayesianSVR : hyperparameters by evidence; its `partial_fit` takes large batches.

    References
    ----------
    [Chu03]_, section 3.2.4; [CO02]_.

    Examples
    --------
    >>> from pymc_bsvm.datasets import sinc
    >>> from pymc_bsvm.estimators import OnlineSVR
    >>> X, y = sinc(200)
    >>> model = OnlineSVR(C=10.0, hyperparameters={"ls": 1.5}, max_basis=15)
    >>> for rows in (slice(0, 100), slice(100, 200)):
    ...     model = model.partial_fit(X[rows], y[rows])
    >>> model.basis_vectors_.shape
    (15, 1)
    >>> mean, std = model.predict(X[:3], return_std=True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        hyperparameters: Mapping[str, Any] | None = None,
        loss: str | RegressionLoss = "silf",
        C: float = 1.0,
        epsilon: float = 0.1,
        beta: float = 0.3,
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
        self.C = C
        self.epsilon = epsilon
        self.beta = beta

    @fitting
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget what was learned, and learn from rows in their order.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Targets.

        Returns
        -------
        OnlineSVR
            Itself.
        """
        inputs, targets = validated(self, X, y)
        self._begin(inputs.shape[1], 1)
        self._learn(inputs, [targets], int(self.n_sweeps))
        return self

    @fitting
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from further rows in their order, each of which is visited once.

        The parameters are those of the first call.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs.
        y : array_like of shape (n,)
            Targets.

        Returns
        -------
        OnlineSVR
            Itself.
        """
        first = not hasattr(self, "_machines")
        inputs, targets = validated(self, X, y, reset=first)
        if first:
            self._begin(inputs.shape[1], 1)
        self._learn(inputs, [targets], 1)
        return self

    def _loss(self) -> RegressionLoss:
        """Return the loss of a name with its parameters, or the one that was given."""
        if isinstance(self.loss, str):
            one_of("loss", self.loss, REGRESSION_LOSSES)
            C = as_parameter("C", self.C, positive)
            return regression_loss(self.loss, C, self.epsilon, self.beta)
        check_likelihood(self.loss, "regression", REGRESSION_LOSSES)
        return self.loss

    def _predictive(self, rows: Array) -> RegressionPredictive:
        """Return the predictive distribution of targets."""
        moments = self._machines[0].moments(rows)
        return RegressionPredictive(*moments, cast(RegressionLoss, self.loss_))
