"""Predictive distributions averaged over machines: draws of the hyperparameters, or one."""

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
    """The equal mixture of predictive distributions of the same rows."""

    parts: Sequence[RegressionPredictive]

    @property
    def mean(self) -> Array:
        """Means of the targets, of shape (n,)."""
        return np.asarray(np.mean([part.mean for part in self.parts], axis=0))

    @property
    def variance(self) -> Array:
        """Variances of the targets, by the law of total variance, of shape (n,)."""
        within = np.mean([part.variance for part in self.parts], axis=0)
        return np.asarray(within + np.var([part.mean for part in self.parts], axis=0))

    def logpdf(self, t: ArrayLike) -> Array:
        """Return the log density of targets, of shape (n,), in nats."""
        logs = [part.logpdf(t) for part in self.parts]
        return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))

    def cdf(self, t: ArrayLike) -> Array:
        """Return the probability of targets up to t, of shape (n,)."""
        return np.asarray(np.mean([part.cdf(t) for part in self.parts], axis=0))

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
