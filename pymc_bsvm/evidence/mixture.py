"""Predictive distributions averaged over hyperparameters: draws, points with weights, or one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses.convolution import one_side
from pymc_bsvm.losses.inversion import roots_of_increasing

__all__ = ["RegressionMixture"]

_SAME_PROBABILITY = 1e-13  # relative, of the smaller tail
_TOGETHER = 2**20  # quantiles of parts at a time


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
        return self._log_average([part.logpdf(t) for part in self.parts])

    def cdf(self, t: ArrayLike) -> Array:
        """Return the probability of targets up to t, of shape (n,)."""
        return self._average([part.cdf(t) for part in self.parts])

    def logcdf(self, t: ArrayLike) -> Array:
        """Return the log probability of targets up to t, of shape (n,)."""
        return self._log_average([part.logcdf(t) for part in self.parts])

    def logsf(self, t: ArrayLike) -> Array:
        """Return the log probability of targets above t, of shape (n,)."""
        return self._log_average([part.logsf(t) for part in self.parts])

    def quantile(self, u: ArrayLike) -> Array:
        """Return the quantiles of probabilities that broadcast against the n rows.

        They lie between the least and the greatest quantile of the parts.
        """
        each = self._quantiles_of_parts(u)
        if len(self.parts) == 1:
            return np.asarray(each[0])
        low, high, t = each.min(axis=0), each.max(axis=0), self._average(list(each))
        start = self._farther(t, each)
        u, parts = np.broadcast_to(u, t.shape), [_spread(part, t.shape) for part in self.parts]
        for half in ((low < high) & (u <= 0.5), (low < high) & (u > 0.5)):
            if half.any():
                rows = RegressionMixture([_take(p, half.ravel()) for p in parts], self.weights)
                t[half] = rows._between(u[half], start[half], (low[half], high[half]))
        return t

    def _quantiles_of_parts(self, u: ArrayLike) -> Array:
        """Return the quantiles of each part; those with the same noise are found together."""
        first, *others = self.parts
        if any(part.loss != first.loss for part in others):
            return np.array([part.quantile(u) for part in self.parts])
        shape = np.broadcast_shapes(np.shape(u), first.shape)
        count = max(_TOGETHER // max(math.prod(shape), 1), 1)
        blocks = [self.parts[k : k + count] for k in range(0, len(self.parts), count)]
        return np.concatenate([_stacked(block, shape).quantile(u) for block in blocks])

    def _farther(self, t: Array, each: Array) -> Array:
        """Return means of quantiles, moved outwards as the parts differ: exact to second order.

        That is, where parts and mixture are Gaussian; a mixture has more variance than its parts.
        """
        with np.errstate(invalid="ignore"):
            between = self._average(list((each - t) ** 2))
            within = self._average([part.variance for part in self.parts])
            moved = t + 0.5 * (t - self.mean) * between / within
        return np.where(np.isfinite(moved), moved, t)

    def _between(self, u: Array, start: Array, ends: tuple[Array, Array]) -> Array:
        """Return the quantiles between two ends, of probabilities that are all in one half."""
        below = bool(u[0] <= 0.5)
        sign, target = (1.0, np.log(u)) if below else (-1.0, np.log1p(-u))

        def excess(t: Array, rows: Any) -> tuple[Array, Array]:
            parts = [_take(part, rows) for part in self.parts]
            sides = [_side_and_density(part, t, below) for part in parts]
            log_share, log_density = map(self._log_average, zip(*sides, strict=True))
            with np.errstate(all="ignore"):
                return sign * (log_share - target[rows]), np.exp(log_density - log_share)

        accuracy = _SAME_PROBABILITY + 4.0 * np.finfo(float).eps * np.abs(target)
        return roots_of_increasing(excess, start, accuracy, ends)

    @property
    def _shares(self) -> Array:
        count = len(self.parts)
        return np.full(count, 1.0 / count) if self.weights is None else self.weights

    def _average(self, values: Sequence[Array]) -> Array:
        return np.asarray(np.tensordot(self._shares, np.array(values), axes=1))

    def _log_average(self, logs: Sequence[Array]) -> Array:
        each = np.array(logs)
        shares = self._shares.reshape(-1, *[1] * (each.ndim - 1))
        return np.asarray(logsumexp(each, axis=0, b=shares))


def _stacked(parts: Sequence[RegressionPredictive], shape: tuple[int, ...]) -> RegressionPredictive:
    """Return parts with the same noise as one, the parts along the first axis."""
    mean, variance = (
        np.array([np.broadcast_to(getattr(part, name), shape) for part in parts])
        for name in ("latent_mean", "latent_variance")
    )
    return RegressionPredictive(mean, variance, parts[0].loss)


def _spread(part: RegressionPredictive, shape: tuple[int, ...]) -> RegressionPredictive:
    """Return the distributions of the elements of a raveled array of a shape."""
    mean, variance = (
        np.broadcast_to(x, shape).ravel() for x in (part.latent_mean, part.latent_variance)
    )
    return RegressionPredictive(mean, variance, part.loss.spread(shape))


def _take(part: RegressionPredictive, rows: Any) -> RegressionPredictive:
    """Return the distributions of some rows."""
    return RegressionPredictive(
        part.latent_mean[rows], part.latent_variance[rows], part.loss.take(rows)
    )


def _side_and_density(part: RegressionPredictive, t: Array, below: bool) -> tuple[Array, Array]:
    """Return the log probability below finite targets, or above them, and the log density."""
    d = t - part.latent_mean
    noise = part.loss.convolution()
    log_tail, log_density = noise.log_tail_and_density(d, part.latent_variance)
    return one_side(log_tail, d, below), log_density
