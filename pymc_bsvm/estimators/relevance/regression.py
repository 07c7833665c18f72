"""Columns for targets with Gaussian noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from pymc_bsvm.estimators.relevance.search import Chosen, indefinite
from pymc_bsvm.estimators.relevance.steps import best_addition, renewed, settled

__all__ = ["Regression"]

_START = 0.01  # variance of the noise, as a share of the targets' mean square
_LEAST = 1e-8
_HELD = 10  # rounds
_NEW = 1e-9  # of a column's square: what the chosen columns must leave of it
_SWEEPS = 10


class Weights(NamedTuple):
    """The posterior of the weights at one precision of the noise."""

    half: Array
    """``L⁻¹`` with ``L L' = A + beta Phi'Phi``."""
    mean: Array
    log_evidence: float


class Regression:
    """Targets ``t = Phi w + noise`` with ``w_i ~ N(0, 1 / alpha_i)``.

    All that is kept of the n rows are the inner products of the chosen columns with all others,
    so that re-estimation does not touch the rows.

    Parameters
    ----------
    dictionary : Dictionary
        The columns.
    t : ndarray of shape (n,)
        Targets.

    References
    ----------
    [PRML]_, (7.81)-(7.91) and (7.102)-(7.107); [Chu03]_, (3.38)-(3.40).
    """

    def __init__(self, dictionary: Dictionary, t: Array) -> None:
        self.dictionary, self.n = dictionary, t.size
        self.energy = float(t @ t)
        self.power = self.energy / self.n or 1.0
        self.beta = 1.0 / (_START * self.power)
        self.projections = dictionary.products(t)
        self.places: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.alpha: Array = np.zeros(0)
        self._products: Array = np.empty((32, dictionary.size))
        self._rounds = 0

    @property
    def log_evidence(self) -> float:
        """``log N(t; 0, I / beta + Phi A⁻¹ Phi')``."""
        return self._weights.log_evidence

    def renew(self, still: bool) -> float:
        """Factorise afresh, and re-estimate the noise; return what that gained.

        (7.88) need not raise the evidence; where it does not, a step of the EM algorithm does.
        In the first rounds the noise is left as it is unless nothing else moves, so that it does
        not take the place of columns that are still to come; the gain is then infinite.
        """
        self._rounds += 1
        held = not still and self._rounds <= _HELD
        half, mean, value, self.beta, gain, definite = renewed(
            self._products,
            self.projections,
            self.places,
            self.alpha,
            self.beta,
            self.energy,
            self.n,
            _LEAST * self.power,
            held,
        )
        if not definite:
            raise indefinite(mean.size)
        self._weights = Weights(half, mean, value)
        return math.inf if held else gain

    def candidate(self) -> tuple[float, int]:
        """Return what the best of all other columns gains, and its place.

        Columns that the chosen ones make up but for a share of 1e-9 are left out: rounding would
        decide what they gain.
        """
        half, mean, _ = self._weights
        place, self._s, self._ratio = best_addition(
            self._products, self.projections, self.places, half, mean, self.beta, _NEW
        )
        above = self._ratio - 1.0
        return (0.5 * (above - math.log1p(above)) if above > 0.0 else 0.0), place

    def settle(self, least: float) -> float:
        """Re-estimate and delete chosen columns while that gains more."""
        half, mean, _ = self._weights
        gain, count = settled(half, mean, self.alpha, least, _SWEEPS * self.places.size)
        if count < self.places.size:
            kept = np.isfinite(self.alpha)
            self._products[:count] = self._products[: kept.size][kept]
            self.places, self.alpha = self.places[kept], self.alpha[kept]
        return float(gain)

    def add(self, place: int) -> None:
        """Add a column at the precision ``s² / (q² - s)``."""
        count = self.places.size
        if count == len(self._products):
            self._products = np.vstack([self._products] * 2)
        self._products[count] = self.dictionary.products(self.dictionary.column(place))
        self.places = np.concatenate([self.places, [place]])
        self.alpha = np.concatenate([self.alpha, [self._s / (self._ratio - 1.0)]])

    def chosen(self, path: Array, converged: bool) -> Chosen:
        """Return what was chosen, with weights of columns of their own lengths."""
        lengths, half = self.dictionary.lengths[self.places], self._weights.half
        covariance = half.T @ half / np.outer(lengths, lengths)
        return Chosen(
            self.places,
            self.alpha * lengths**2,
            self._weights.mean / lengths,
            covariance,
            1.0 / self.beta,
            path,
            converged,
        )
