"""Classical support vector regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.named_loss import REGRESSION_LOSSES, regression_loss
from pymc_bsvm.estimators.svm.base import Rows
from pymc_bsvm.estimators.svm.machine import Machine, solve_machine
from pymc_bsvm.estimators.svm.nu import Tube
from pymc_bsvm.estimators.svm.supervised import SupervisedMachine
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["SVMRegressor"]


class SVMRegressor(RegressorMixin, SupervisedMachine):
    r"""Classical support vector regression, certified by its duality gap.

    Minimises (B.1) of [Chu03]_, over functions with an offset that is not penalised:

    .. math::

        \sum_i w_i\, \ell(y_i, f(x_i)) + \tfrac12 \lVert f - b \rVert^2

    The parameters are fixed, which is what a grid search or a path needs. `BayesianSVR` learns them
    instead.

    Parameters
    ----------
    kernel : str, Kernel, pm.gp.cov.Covariance or callable, default "rbf"
        A name or an object as for `BayesianSVR`, of amplitude one; C is what scales it. Or
        "precomputed", for Gram matrices.
    gamma : float, "scale" or "auto", default "scale"
        As in scikit-learn: ``exp(-gamma |x - z|²)``, for other kernels with length-scales
        ``ls = (2 gamma)^-½``, and ``(1 + gamma x·z)^degree`` for polynomials. "scale" is one
        divided by the number of columns and the variance of the inputs, "auto" by the former alone.
        Functions from elsewhere, "linear" and "precomputed" have none.
    loss : str, default "epsilon_insensitive"
        The loss of a residual r: "epsilon_insensitive", ``C max(|r| - epsilon, 0)``; "silf", which
        bends over a share `beta` of the tube (B.19); "huber", that with ``beta=1``; "laplace",
        ``C |r|``; "squared", ``C r² / 2``.
    C : float, default 1.0
        Slope of the loss where it is linear.
    epsilon : float, default 0.1
        Half width of the tube, in units of the targets; "laplace" and "squared" have none.
    beta : float, default 0.3
        Share of the tube over which "silf" bends, in (0, 1].
    nu : float, optional
        Share in (0, 1] that sets the width of the tube in the place of `epsilon`, for
        "epsilon_insensitive": at most so many rows are outside the tube, and at least so many are
        support vectors. The objective has ``nu epsilon C sum(w)`` more.
    tol : float, default 1e-8
        Largest duality gap, relative to the objective.
    max_iter : int, default 1000
        Largest number of Newton steps of one solve; with `nu` there is one for each width that is
        tried.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Rows of the support vectors.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their inputs; for "precomputed" their Gram matrix.
    dual_coef_ : ndarray of shape (n_support,)
        Their signed duals, whose sum is zero.
    intercept_ : float
        The offset.
    epsilon_ : float
        Half width of the tube, given or found; for losses without a tube, `epsilon` as it is.
    objective_ : float
        The minimum that was found.
    duality_gap_ : float
        How far the objective may be above its minimum.
    converged_ : bool
        Whether the gap is below its tolerance.
    n_iter_ : int
        Number of Newton steps.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    SVMClassifier : classification.
    BayesianSVR : the same with hyperparameters by evidence, and error bars.

    References
    ----------
    [Chu03]_, appendix B.2; [PRML]_, section 7.1.4; [SSWB00]_ for nu.

    Examples
    --------
    >>> from pymc_bsvm.datasets import sinc
    >>> from pymc_bsvm.estimators import SVMRegressor
    >>> X, y = sinc(100, random_state=0)
    >>> model = SVMRegressor(C=10.0, gamma=0.5, epsilon=0.1).fit(X, y)
    >>> model.duality_gap_ < 1e-8 * model.objective_
    True
    """

    _other = "BayesianSVR"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        loss: str = "epsilon_insensitive",
        C: float = 1.0,
        epsilon: float = 0.1,
        beta: float = 0.3,
        nu: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            loss=loss,
            C=C,
            epsilon=epsilon,
            nu=nu,
            tol=tol,
            max_iter=max_iter,
        )
        self.beta = beta

    def predict(self, X: ArrayLike) -> Array:
        """Return the function at new rows.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._decisions(X)[:, 0]

    def _check(self) -> None:
        """Check the parameters; those of the loss when it is made."""
        super()._check()
        self._check_loss(REGRESSION_LOSSES)

    def _loss(self, C: Any) -> RegressionLoss:
        """Return the loss with its parameters; C may be one for each row."""
        return regression_loss(self.loss, C, self.epsilon, self.beta)

    def _train(self, rows: Rows, starts: Sequence[Array] | None = None) -> list[Machine]:
        """Solve, and set what was found."""
        y, C = np.asarray(rows.y, dtype=float), self.C * rows.weight
        self.epsilon_ = self.epsilon
        if self.nu is None:
            machine = solve_machine(
                *(rows.K, y, self._loss(C)),
                start=None if starts is None else starts[0],
                tol=self.tol,
                max_iter=self.max_iter,
            )
        else:
            tube = Tube(rows.K, y, C, self.nu)
            machine, self.epsilon_ = tube.solve(self.tol, self.max_iter)
        self.dual_coef_ = self._keep(rows, [machine])[0]
        self.intercept_ = machine.offset
        self.objective_ = machine.objective
        return [machine]
