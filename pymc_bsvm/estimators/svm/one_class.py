"""The one-class support vector machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter
from pymc_bsvm.estimators.fitting import fitting
from pymc_bsvm.estimators.inputs import validated_inputs
from pymc_bsvm.estimators.svm.base import ClassicalMachine
from pymc_bsvm.estimators.svm.nu import Margin, share

__all__ = ["SVMOneClass"]

_ROUNDING = 1e-10  # relative; that of the level and of the function


class SVMOneClass(OutlierMixin, ClassicalMachine):
    r"""One-class support vector machine for novelties, certified by its duality gap.

    Separates the rows from the origin by a function f without an offset, and a level
    :math:`\rho` that a share nu of the rows may miss:

    .. math::

        -\rho\, \nu \sum_i w_i + \sum_i w_i \max(\rho - f(x_i), 0) + \tfrac12 \lVert f \rVert^2

    Parameters
    ----------
    kernel, gamma, tol, max_iter
        As for `SVMRegressor`.
    nu : float, default 0.5
        Share in (0, 1]: at most so many rows are outliers, and at least so many are support
        vectors.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Rows of the support vectors.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Their inputs; for "precomputed" their Gram matrix.
    dual_coef_ : ndarray of shape (n_support,)
        Their duals, between zero and their weights; they sum to nu times the sum of the weights.
    offset_ : float
        The level, which `decision_function` has subtracted; lowered by rounding, so that support
        vectors at the level are no outliers.
    intercept_ : float
        Minus the level.
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
    SVMClassifier : two classes and more.

    References
    ----------
    [SPST01]_; [PRML]_, section 7.1.3.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_bsvm.estimators import SVMOneClass
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = SVMOneClass(gamma=0.1, nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist()
    [1, -1]
    """

    _other = "BayesianSVC"

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        nu: float = 0.5,
        tol: float = 1e-8,
        max_iter: int = 1000,
    ) -> None:
        super().__init__(kernel, gamma=gamma, tol=tol, max_iter=max_iter)
        self.nu = nu

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the support vectors.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Inputs, or the Gram matrix for ``kernel="precomputed"``.
        y : None
            Not used.
        sample_weight : array_like of shape (n,), optional
            How often each row counts; zero leaves it out.

        Returns
        -------
        Self
        """
        rows = self._rows(X, y, sample_weight)
        margin = Margin(rows.K, np.ones(rows.kept.size), rows.weight, self.nu)
        machine, level = margin.solve(self.tol, self.max_iter)
        self.dual_coef_ = self._keep(rows, [machine])[0]
        self.offset_ = -level * (1.0 - _ROUNDING)
        self.intercept_ = -self.offset_
        self.objective_ = machine.objective
        return self

    def score_samples(self, X: ArrayLike) -> Array:
        """Return the function at new rows, of shape (n,).

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        decision = self.decision_function(X)
        return decision + self.offset_

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the function minus the level, of shape (n,); negative for outliers.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        return self._decisions(X)[:, 0]

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return 1 for rows that are like those of the fit and -1 for outliers, of shape (n,).

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def _check(self) -> None:
        """Check the parameters."""
        super()._check()
        as_parameter("nu", self.nu, share)

    def _validated(self, X: Any, y: Any) -> tuple[Array, NDArray[Any]]:
        """Return inputs as an array, and no targets."""
        X = validated_inputs(self, X, reset=True)
        return X, np.zeros(X.shape[0])
