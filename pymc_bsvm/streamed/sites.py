"""Sites of rows in expectation propagation on inducing points, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.sweep import LEAST_VARIANCE
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.posterior import InducingPosterior

__all__ = [
    "Account",
    "Cavity",
    "Matched",
    "Seen",
    "Sites",
    "account_of",
    "cavity_beside",
    "in_parts",
    "matched",
]

_CACHED = 1024  # rows whose averages are taken at a time; with 8192 they take twice as long
_STEPS = 1000  # of which few are needed where a row has a small share in what is known of it
_CLOSE = 1e-7  # steps that are shorter, in standard deviations, are the last


@dataclass(frozen=True, eq=False)
class Sites:
    """One copy of the site ``exp(b f - tau f² / 2)`` of each row, and the sums over all copies.

    The sums are linear in the sites, so that mixtures of sites need no pass over the rows.
    """

    vector: Array = field(repr=False)
    """All numbers, one behind the other."""
    n: int
    """Number of rows."""
    size: int
    """Number of features."""

    @classmethod
    def of(cls, precision: Array, shift: Array, gram: Array, pull: Array) -> Self:
        """Return sites from their parts."""
        vector = np.concatenate([precision, shift, gram.ravel(), pull])
        return cls(vector, precision.size, pull.size)

    @property
    def precision(self) -> Array:
        """tau, of shape (n,), not negative."""
        return self.vector[: self.n]

    @property
    def shift(self) -> Array:
        """b, of shape (n,)."""
        return self.vector[self.n : 2 * self.n]

    @property
    def gram(self) -> Array:
        """``sum_i w_i tau_i phi_i phi_i'`` for rows that count w times, of shape (r, r)."""
        return self.vector[2 * self.n : -self.size].reshape(self.size, self.size)

    @property
    def pull(self) -> Array:
        """``sum_i w_i b_i phi_i``, of shape (r,)."""
        return self.vector[-self.size :]

    def at(self, vector: Array) -> Self:
        """Return other sites of the same rows."""
        return replace(self, vector=vector)

    def posterior(self, features: Features) -> InducingPosterior:
        """Return the posterior of the weights.

        Raises
        ------
        LinAlgError, ValueError
            If it is not proper.
        """
        factor = cholesky(self.gram + np.eye(self.size), lower=True)
        return InducingPosterior(features, cho_solve((factor, True), self.pull), factor)


class Seen(Protocol):
    """Rows as a posterior sees them, each of shape (b,)."""

    @property
    def mean(self) -> Array:
        """Means of the latent values."""

    @property
    def known(self) -> Array:
        """Variances of what the inducing points carry."""

    @property
    def left(self) -> Array:
        """Variances of what they leave out."""


class Cavity(NamedTuple):
    """Rows without one copy of their own observation, each of shape (b,)."""

    mean: Array
    """c"""
    known: Array
    """v, of what the inducing points carry."""
    left: Array
    """d, of what else the rows have."""
    dual: Array
    """``b - tau f``, of one copy."""
    kept: Array
    """``1 - tau q``."""

    @classmethod
    def of(cls, look: Seen, precision: Array, shift: Array) -> Self:
        """Take one copy of each site out; what is not proper then is not a number."""
        with np.errstate(all="ignore"):
            kept = 1.0 - precision * look.known
            kept = np.where(kept > 0.0, kept, np.nan)
            dual, known = shift - precision * look.mean, look.known / kept
            known = np.maximum(known, LEAST_VARIANCE * max(float(look.known.max()), 1e-200))
            return cls(look.mean - known * dual, known, look.left, dual, kept)

    @property
    def variance(self) -> Array:
        """Of the latent values."""
        return self.known + self.left


class Matched(NamedTuple):
    """What the tilted densities of rows say, each of shape (b,)."""

    precision: Array
    """Of the sites that give what the inducing points carry the moments of these densities."""
    shift: Array
    """Of the same."""
    log_z: Array
    """Log density of the observation given all others, in nats."""
    alpha: Array
    """Its first derivative in the mean; zero for a row of no weight."""
    nu: Array
    """Minus its second derivative; the same."""


def matched(loss: Loss, block: Block, cavity: Cavity) -> Matched:
    """Return the sites of rows that match the moments of their tilted densities.

    Those of rows of no weight say nothing.
    """
    variance, counts = cavity.variance, block.weight > 0.0
    with np.errstate(all="ignore"):
        log_z, alpha, nu, narrowed = in_parts(loss.tilted, block.y, cavity.mean, variance)
        alpha, nu = np.where(counts, alpha, 0.0), np.where(counts, nu, 0.0)
        kept = narrowed / variance + cavity.left * nu  # 1 - v nu, in which nothing cancels
        precision = np.where(counts, nu / kept, 0.0)
        mean = cavity.mean + cavity.known * alpha
        shift = np.where(counts, precision * mean + alpha, 0.0)
    return Matched(precision, shift, log_z, alpha, nu)


class Account(NamedTuple):
    """What rows add to the evidence, and how far their moments are from matching."""

    residuals: Array
    """Changes of the precisions in units of the marginal ones, and of the duals in units of one
    over the standard deviations, of shape (2, b)."""
    fit: float
    """``sum_i w_i (log Z_i + v_i a_i² / 2)`` with the dual ``a_i = b_i - tau_i f_i`` of a copy."""
    overlap: float
    """``sum_i w_i log(1 + tau_i v_i) / 2``."""


def account_of(
    look: Seen, precision: Array, cavity: Cavity, new: Matched, weight: Array
) -> Account:
    """Compare the sites of rows with those that match the moments of their tilted densities."""
    counts = weight > 0.0
    of_precision = (new.precision - precision) * look.known
    of_dual = np.where(counts, new.alpha - cavity.dual, 0.0) * np.sqrt(look.known)
    gain = 0.5 * cavity.known * cavity.dual**2
    fit = weight @ np.where(counts, new.log_z + gain, 0.0)
    overlap = -0.5 * (weight @ np.log(cavity.kept))
    return Account(np.stack([of_precision, of_dual]), float(fit), float(overlap))


def in_parts(function: Callable[..., Any], *of_rows: Array) -> list[Array]:
    """Return the arrays that a function of rows does, made in parts that a cache holds."""
    starts = range(0, of_rows[0].size, _CACHED)
    parts = [function(*(each[k : k + _CACHED] for each in of_rows)) for k in starts]
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def cavity_beside(loss: Loss, block: Block, look: Seen) -> tuple[Cavity, NDArray[np.bool_]]:
    """Return rows of a fit without one copy of their own observation, whose sites are not at hand.

    With the posterior of all rows, ``q = v (1 - v nu)`` and ``f = c + v alpha``. These are iterated
    to a fixed point, which a row that counts less than once may not have.

    Returns
    -------
    cavity : Cavity
        The rows; those that did not settle are where the last proper step led.
    settled : ndarray of bool, of shape (b,)
        Whether each row is at its fixed point.
    """
    least = LEAST_VARIANCE * max(float(look.known.max(initial=0.0)), 1e-200)
    q, nothing = np.maximum(look.known, least), np.zeros(look.mean.shape)
    cavity = Cavity(look.mean.copy(), q.copy(), look.left, nothing, nothing)
    settled, rows = np.zeros(q.shape, bool), np.arange(q.size)
    for _ in range(_STEPS):
        if not rows.size:
            break
        at = Cavity(*(each[rows] for each in cavity))
        new = matched(loss, Block(*(each[rows] for each in block)), at)
        with np.errstate(all="ignore"):
            wider = q[rows] * (1.0 + at.known * new.precision)
            off = (look.mean[rows] - at.known * new.alpha - at.mean) * wider / q[rows]
            change = np.maximum(np.abs(off) / np.sqrt(wider), np.abs(wider / at.known - 1.0))
        proper = np.isfinite(change)
        rows, change = rows[proper], change[proper]
        cavity.mean[rows] += off[proper]
        cavity.known[rows] = wider[proper]
        settled[rows] = change < _CLOSE
        rows = rows[change >= _CLOSE]
    return cavity, settled
