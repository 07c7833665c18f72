"""What a regressor says about new rows, whatever its predictive distribution comes from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, flag
from pymc_bsvm.estimators.inputs import validated

__all__ = ["Predictive", "RegressionPredictions"]

_SHARE = Interval(0.0, 1.0)


class Predictive(Protocol):
    """A distribution of the targets of some rows."""

    @property
    def mean(self) -> Array:
        """Means, of shape (n,)."""

    @property
    def variance(self) -> Array:
        """Variances, of shape (n,)."""

    def logpdf(self, t: ArrayLike) -> Array:
        """Return the log density of targets, of shape (n,)."""

    def quantile(self, u: ArrayLike) -> Array:
        """Return the quantiles of probabilities that broadcast against the n rows."""


class RegressionPredictions(RegressorMixin):
    """Predictions of a regressor that has `_rows` and `_predictive`."""

    _rows: Callable[[Any], Array]
    """Check new rows and bring them into the units of the fit; a method of the other base."""

    @abstractmethod
    def _predictive(self, rows: Array) -> Predictive:
        """Return the predictive distribution, in the units of the targets."""

    def _means(self, rows: Array) -> Array:
        """Return the means, which may be cheaper than the distribution."""
        return self._predictive(rows).mean

    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the means of the targets, and on request their standard deviations.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        return_std : bool, default False
            Whether to return standard deviations, with the noise, too.

        Returns
        -------
        ndarray of shape (n,), or two of them
        """
        rows = self._rows(X)
        if not flag("return_std", return_std):
            return self._means(rows)
        distribution = self._predictive(rows)
        return distribution.mean, np.sqrt(distribution.variance)

    def predict_quantiles(self, X: ArrayLike, q: ArrayLike) -> Array:
        """Return quantiles of the targets.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        q : float or array_like of shape (k,)
            Probabilities, strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (n,) for one probability, (n, k) for several
        """
        shares = _shares("q", q)
        return self._predictive(self._rows(X)).quantile(shares[..., None]).T

    def predict_interval(self, X: ArrayLike, coverage: ArrayLike = 0.9) -> tuple[Array, Array]:
        """Return the ends of central intervals of the targets.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        coverage : float or array_like of shape (k,), default 0.9
            Probabilities of the intervals, strictly between 0 and 1. Several in one call cost
            little more than one.

        Returns
        -------
        low, high : ndarray of shape (n,) for one probability, (n, k) for several
        """
        tail = 0.5 * (1.0 - _shares("coverage", coverage))
        tails = np.stack([tail, 1.0 - tail])
        low, high = self._predictive(self._rows(X)).quantile(tails[..., None])
        return low.T, high.T

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> Array:
        """Return the log predictive density of targets, in nats per unit of the target.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        y : array_like of shape (n,)
            Their targets.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        _, targets = validated(self, X, y, reset=False)
        return self._predictive(self._rows(X)).logpdf(targets)


def _shares(name: str, given: ArrayLike) -> Array:
    """Return one probability or several; raise unless they are strictly between 0 and 1."""
    try:
        shares = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        shares = np.zeros((0, 0))
    if shares.ndim > 1 or shares.size == 0:
        raise ValueError(
            f"{name} must be a number or a list of them, but it is {given!r}. "
            "Pass, for example, 0.5."
        )
    _SHARE.check(name, shares)
    return shares
