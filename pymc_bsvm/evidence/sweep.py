"""One look at all rows of expectation propagation: from the sites to those that match the moments.

Each row's likelihood is replaced by a site ``exp(b g - tau g² / 2)`` of ``g = f - m``; a row that
counts w times has w equal ones. With ``T = w tau`` the Gaussian of all sites has the dual and the
variances

    a = w b - R K w b,    R = T½ (I + T½ K T½)⁻¹ T½,    q = diag((K⁻¹ + T)⁻¹),

and one copy of a row is left out by ``v = q / (1 - tau q)`` and ``c = f - v a / w``, with
``1 - tau q = (I + T½ K T½)⁻¹_ii`` for ``w = 1``. The site of precision ``nu / (1 - v nu)`` gives
the row the moments of the tilted density, its likelihood times ``N(c, v)``: section 3.6 of [RW06]_.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.conditioned import Conditioned
from pymc_bsvm.covariance.dense_conditioned import DenseConditioned
from pymc_bsvm.covariance.product import exact_product
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.evidence.posterior import Cavity, condition_on
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.losses import Tilted

__all__ = ["LEAST_VARIANCE", "MOST_REFINEMENTS", "ROUNDING", "Sweep", "in_units"]

LEAST_VARIANCE = 1e-16  # of a cavity, in units of the largest: narrower ones are lost in rounding
MOST_REFINEMENTS, ROUNDING = 4, 1e-9  # of the dual, in units of one over a standard deviation


@dataclass(frozen=True, eq=False)
class Sweep:
    """What follows from the sites; it reads the likelihoods of all rows once."""

    problem: Problem
    sites: Sites
    conditioned: Conditioned | DenseConditioned = field(repr=False)
    """The prior covariance conditioned on all copies."""
    a: Array
    """Dual of the mean, of all copies."""
    mean: Array
    """``m + K a``."""
    cavity: Cavity
    """The latent values without one copy of their own observation."""
    log_shrinkage: Array
    """``log(1 - tau q)``."""
    tilted: Tilted

    @classmethod
    def of(cls, problem: Problem, sites: Sites) -> Sweep:
        """Look at all rows.

        Raises
        ------
        ValueError
            If a cavity is not proper, or a number is not finite.
        """
        weight = problem.weights
        conditioned = condition_on(problem.K, weight * sites.precision)
        a, g = _solve(problem.K, conditioned, weight * sites.precision, weight * sites.shift)
        q = conditioned.variance
        left = np.ones(weight.size)  # 1 - T q
        left[conditioned.factor.index] = conditioned.inverse_diagonal
        several = (weight != 1.0) & (weight > 0.0)
        left[several] = 1.0 - (1.0 - left[several]) / weight[several]
        if not left.min() > 0.0:
            raise ValueError("A cavity is not proper.")
        one = np.divide(a, weight, out=np.zeros(a.size), where=weight > 0.0)
        v = np.maximum(q / left, LEAST_VARIANCE * max(float(q.max()), 1e-200))
        mean = problem.m + g
        cavity = Cavity(mean - v * one, v)
        tilted = problem.loss.tilted(problem.y, cavity.mean, v)
        return cls(problem, sites, conditioned, a, mean, cavity, np.log(left), tilted)

    @property
    def precision(self) -> Array:
        """Precisions of all copies, of shape (n,)."""
        return self.problem.weights * self.sites.precision

    @property
    def variance(self) -> Array:
        """Variances of the latent values, of shape (n,)."""
        return self.conditioned.variance

    @cached_property
    def matched(self) -> Sites:
        """The sites that give each row the moments of its tilted density."""
        v, (_, alpha, nu, variance) = self.cavity.variance, self.tilted
        precision = nu * (v / variance)
        shift = precision * (self.cavity.mean + v * alpha - self.problem.m) + alpha
        counts = self.problem.weights > 0.0
        return Sites(np.where(counts, precision, 0.0), np.where(counts, shift, 0.0))

    @cached_property
    def error(self) -> float:
        """How far the moments are from those of the tilted densities.

        The largest over the rows of the change of precision in units of the marginal one, and of
        the change of the dual in units of one over the standard deviation.
        """
        weight = self.problem.weights
        counts = weight > 0.0
        q = self.variance[counts]
        of_precision = (self.matched.precision - self.sites.precision)[counts] * q
        of_dual = (self.tilted.alpha[counts] - self.a[counts] / weight[counts]) * np.sqrt(q)
        errors = np.abs([of_precision, of_dual])
        return float(errors.max(initial=0.0)) if np.isfinite(errors).all() else np.inf

    def in_units(self, steps: Array) -> Array:
        """Return steps of (precision, shift) around the mean, in units of the marginals.

        A row that counts w times has sqrt(w) of its step, so that sums of squares are those of w
        rows.

        Parameters
        ----------
        steps : ndarray of shape (k, 2 n)
            Changes of the precisions, then those of the shifts.
        """
        marginals = self.variance, self.mean - self.problem.m
        return np.tile(np.sqrt(self.problem.weights), 2) * in_units(*marginals, steps)

    @cached_property
    def terms(self) -> dict[str, float]:
        """The signed terms of the log evidence; none of them divides by a precision."""
        weight, one = self.problem.weights, self.a
        one = np.divide(one, weight, out=np.zeros(one.size), where=weight > 0.0)
        gain = 0.5 * self.cavity.variance * one * one
        return {
            "fit": float(weight @ (self.tilted.log_z + gain)),
            "penalty": -0.5 * float(self.a @ (self.mean - self.problem.m)),
            "overlap": -0.5 * float(weight @ self.log_shrinkage),
            "log_det": -0.5 * self.conditioned.log_det,
        }


def in_units(q: Array, g: Array, steps: Array) -> Array:
    """Return steps of sites in units of marginals ``N(g, q)``."""
    n = q.size
    of_precision, of_shift = steps[:, :n], steps[:, n:]
    return np.hstack((q * of_precision, np.sqrt(q) * (of_shift - g * of_precision)))


def _solve(
    K: Array | LowRank, conditioned: Conditioned | DenseConditioned, T: Array, shift: Array
) -> tuple[Array, Array]:
    """Return ``a = (I + T K)⁻¹ shift`` and ``K a``.

    The residuals are computed in twice the working precision. Where a row knows more than the
    prior, ``K a`` is ``(shift - a) / T``, whose rounding is that of the shift and not that of a.
    """
    a = conditioned.shrink(shift)
    sd = np.sqrt(conditioned.variance)
    for _ in range(MOST_REFINEMENTS):
        correction = conditioned.shrink((shift - a) - T * exact_product(K, a))
        a = a + correction
        if not np.abs(correction * sd).max() > ROUNDING:
            break
    g, known = exact_product(K, a), T * K.diagonal() > 1.0
    g[known] = (shift - a)[known] / T[known]
    return a, g
