"""Predictive distributions averaged over hyperparameters: draws, points with weights, or one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.prediction import RegressionPredictive

__all__ = ["RegressionMixture"]

_BISECTIONS = 60


@dataclass(frozen=True)
class RegressionMixture:
    """A mixture of predictive distributions of the same rows."""

    parts: Sequence[RegressionPredictive]
    weights: Array | None = None
    """Shares of the parts, which sum to one; equal by default."""

    @property
    def mean(self) -> Array:
        """Means of the targets, of shape (n,)."""
        return self._average([part.mean for part in self.parts])

    @property
    def variance(self) -> Array:
        """Variances of the targets, by the law of total variance, of shape (n,)."""
        within = [part.variance for part in self.parts]
        between = [(part.mean - self.mean) ** 2 for part in self.parts]
        return self._average(within) + self._average(between)

    def logpdf(self, t: ArrayLike) -> Array:
        """Return the log density of targets, of shape (n,), in nats."""
        logs = np.array([part.logpdf(t) for part in self.parts])
        shares = self._shares.reshape(-1, *[1] * (logs.ndim - 1))
        return np.asarray(logsumexp(logs, axis=0, b=shares))

    def cdf(self, t: ArrayLike) -> Array:
        """Return the probability of targets up to t, of shape (n,)."""
        return self._average([part.cdf(t) for part in self.parts])

    def quantile(self, u: float) -> Array:
        """Return the quantiles of one probability, of shape (n,).

        They lie between the least and the greatest quantile of the parts.
        """
        each = np.array([part.quantile(u) for part in self.parts])
        low, high = each.min(axis=0), each.max(axis=0)
        if len(self.parts) == 1 or not 0.0 < u < 1.0:
            return low
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            above = self.cdf(middle) < u
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray(0.5 * (low + high))

    @property
    def _shares(self) -> Array:
        count = len(self.parts)
        return np.full(count, 1.0 / count) if self.weights is None else self.weights

    def _average(self, values: Sequence[Array]) -> Array:
        return np.asarray(np.tensordot(self._shares, np.array(values), axes=1))
