"""Expectation propagation: the Gaussian from which annealing starts, section 3.6 of [RW06]_."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.diagnosis.white_prior import WhitePrior
from pymc_bsvm.losses import Loss

__all__ = ["SiteGaussian", "propagated"]

_LOGGER = logging.getLogger("pymc_bsvm")
_SWEEPS, _DAMPING = 60, 0.5
_SETTLED = 1e-2  # standard deviations by which the last sweep may move the base
_LEAST_SHARE = 1e-9  # of the marginal precision, for a cavity


@dataclass(frozen=True)
class SiteGaussian:
    """The prior of ``g = f - m`` times the sites ``exp(shift g - precision g² / 2)``, normalised.

    It is that of ``g = mean + root e`` with ``e ~ N(0, I)``.
    """

    precision: Array
    shift: Array
    mean: Array
    root: Array
    log_normalizer: float
    """Log of the prior expectation of the sites."""
    _lower: Array
    _place: Array

    @classmethod
    def of(cls, prior: WhitePrior, precision: Array, shift: Array) -> SiteGaussian:
        """Return the Gaussian with these sites, whose precisions must not be negative."""
        inner = prior.root.T @ (precision[:, None] * prior.root)
        inner[np.diag_indices_from(inner)] += 1.0
        lower = cholesky(inner, lower=True)
        root = solve_triangular(lower, prior.root.T, lower=True).T
        mean = root @ (root.T @ shift)
        place = solve_triangular(lower, root.T @ shift, lower=True, trans="T")
        log_normalizer = 0.5 * float(shift @ mean) - float(np.log(np.diag(lower)).sum())
        return cls(precision, shift, mean, root, log_normalizer, lower, place)

    @property
    def variance(self) -> Array:
        """Variances of g, of shape (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.root, self.root))

    def log_sites(self, g: Array) -> Array:
        """Return the log of the product of the sites, one value for each row of g."""
        return np.asarray(g @ self.shift - 0.5 * (g * g) @ self.precision)

    def coordinates(self, e: Array) -> Array:
        """Return the prior's whitened coordinates of particles, of shape (particles, rank)."""
        return np.asarray(self._place + solve_triangular(self._lower, e.T, lower=True, trans="T").T)


def propagated(prior: WhitePrior, y: Array, loss: Loss) -> SiteGaussian | None:
    """Return the Gaussian of expectation propagation, section 3.6 of [RW06]_; None if it fails.

    All sites are updated at once, with damping. The sweeps need not converge: the base decides
    about the efficiency of the sampler alone.
    """
    known = np.einsum("ij,ij->i", prior.root, prior.root) > 0.0
    precision, shift = np.zeros(y.size), np.zeros(y.size)
    try:
        with np.errstate(all="ignore"):
            base = SiteGaussian.of(prior, precision, shift)
            for _ in range(_SWEEPS):
                new_precision, new_shift = _sites(base, known, y, prior.m, loss)
                precision = precision + _DAMPING * (new_precision - precision)
                shift = shift + _DAMPING * (new_shift - shift)
                before, base = base, SiteGaussian.of(prior, precision, shift)
                if _near(base, before, known):
                    break
    except (LinAlgError, ValueError):  # not finite
        _LOGGER.warning(
            "annealed_evidence: expectation propagation failed; the particles start from the "
            "prior. Look at the effective number of particles, and raise temperatures."
        )
        return None
    return base


def _near(one: SiteGaussian, other: SiteGaussian, rows: NDArray[np.bool_]) -> bool:
    """Return whether two Gaussians are the same for the purpose of sampling."""
    sd, before = np.sqrt(one.variance[rows]), np.sqrt(other.variance[rows])
    moved = np.abs(one.mean - other.mean)[rows] / sd
    return bool(max(moved.max(initial=0.0), np.abs(sd / before - 1.0).max(initial=0.0)) < _SETTLED)


def _sites(
    base: SiteGaussian, rows: NDArray[np.bool_], y: Array, m: Array, loss: Loss
) -> tuple[Array, Array]:
    """Return the sites that match the moments of each row's likelihood times its cavity."""
    variance = base.variance[rows]
    left = np.maximum(1.0 / variance - base.precision[rows], _LEAST_SHARE / variance)
    centre = (base.mean[rows] / variance - base.shift[rows]) / left
    tilted = loss.take(rows).tilted(y[rows], m[rows] + centre, 1.0 / left)
    precision, shift = np.zeros(y.size), np.zeros(y.size)
    left_over = np.maximum(left - tilted.nu, np.finfo(float).eps * left)
    precision[rows] = left * tilted.nu / left_over
    shift[rows] = tilted.alpha + precision[rows] * (centre + tilted.alpha / left)
    return precision, shift
