"""Columns for labels, by Laplace's method."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from pymc_bsvm.estimators.relevance.modes import changes, laplace_mode, qualities
from pymc_bsvm.estimators.relevance.search import Chosen, indefinite

__all__ = ["Classification", "Mode"]

_SWEEPS = 10
_TRIALS = 6


class Mode(NamedTuple):
    """The most probable weights, and Laplace's evidence about them."""

    weights: Array
    half: Array
    """``L⁻¹`` with ``L L' = A + Phi'B Phi``."""
    log_evidence: float
    slope: Array
    """Of the log likelihood in the latent values ``Phi w``."""
    curvature: Array
    """Minus that of the log likelihood, the diagonal of B."""

    @classmethod
    def of(cls, rows: Array, alpha: Array, signs: Array, start: Array) -> Self:
        """Find the mode from a start; the rows are the chosen columns, of shape (m, n)."""
        w, half, value, slope, curvature, definite = laplace_mode(rows, alpha, signs, start)
        if not definite:
            raise indefinite(w.size)
        return cls(w, half, value, slope, curvature)


class Classification:
    """Labels of ``eta = Phi w`` through the logistic link, with ``w_i ~ N(0, 1 / alpha_i)``.

    A step changes the precision of one weight and finds the mode again. It is aimed at the maximum
    for the curvature of now, (7.101), and taken if Laplace's evidence rises, or else shortened.
    That the curvature depends on the mode is left out of the aim: with it the search ends where
    weights are larger, at a somewhat higher evidence, and predicts worse.

    Parameters
    ----------
    dictionary : Dictionary
        The columns.
    signs : ndarray of shape (n,)
        Labels, -1 and +1.

    References
    ----------
    [PRML]_, (7.108)-(7.118).
    """

    def __init__(self, dictionary: Dictionary, signs: Array) -> None:
        self.dictionary, self.signs = dictionary, signs
        self.places: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self.alpha: Array = np.zeros(0)
        self.rows: Array = np.zeros((0, signs.size))  # the chosen columns
        self._mode = Mode.of(self.rows, self.alpha, signs, np.zeros(0))
        self._vain: set[int] = set()  # columns whose addition gained nothing

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation of the log probability of the labels."""
        return self._mode.log_evidence

    def renew(self, still: bool) -> float:
        """Do nothing: there is no noise, and each mode is found afresh."""
        return 0.0

    def candidate(self) -> tuple[float, int]:
        """Return what the best of all other columns gains, and its place."""
        mode = self._mode
        s, q = np.empty(self.dictionary.size), np.empty(self.dictionary.size)
        for places, block in self.dictionary.blocks():
            s[places], q[places] = qualities(
                np.ascontiguousarray(block), self.rows, mode.half, mode.slope, mode.curvature
            )
        self._s = np.maximum(s, 1e-14)
        self._ratio = q * q / self._s
        self._ratio[self.places] = 0.0
        self._ratio[list(self._vain)] = 0.0
        place = int(np.argmax(self._ratio))
        ratio = float(self._ratio[place])
        return (0.5 * (ratio - 1.0 - math.log(ratio)) if ratio > 1.0 else 0.0), place

    def settle(self, least: float) -> float:
        """Re-estimate and delete chosen columns while that gains more."""
        start, vain = self.log_evidence, np.zeros(self.dictionary.size, dtype=bool)
        for _ in range(_SWEEPS * self.places.size):
            gain, target = changes(self._mode.half, self._mode.weights, self.alpha)
            gain[vain[self.places]] = 0.0
            k = int(np.argmax(gain)) if gain.size else 0
            if not gain.size or gain[k] <= least:
                break
            place = self.places[k]
            if not self._move(k, float(target[k])):
                vain[place] = True
        return self.log_evidence - start

    def add(self, place: int) -> None:
        """Add a column at the precision ``s² / (q² - s)`` or a larger one, if that gains."""
        places = np.append(self.places, place)
        rows = np.vstack([self.rows, self.dictionary.column(place)])
        start = np.append(self._mode.weights, 0.0)
        precision = self._s[place] / (self._ratio[place] - 1.0)
        for _ in range(_TRIALS):
            if self._try(places, rows, np.append(self.alpha, precision), start):
                return
            precision *= 4.0
        self._vain.add(place)

    def chosen(self, path: Array, converged: bool) -> Chosen:
        """Return what was chosen, with weights of columns of their own lengths."""
        lengths, half = self.dictionary.lengths[self.places], self._mode.half
        covariance = half.T @ half / np.outer(lengths, lengths)
        weights = self._mode.weights / lengths
        alpha = self.alpha * lengths**2
        return Chosen(self.places, alpha, weights, covariance, math.nan, path, converged)

    def _move(self, k: int, target: float) -> bool:
        """Delete a column, or go towards a precision as far as the evidence rises."""
        w, alpha = self._mode.weights, self.alpha
        if target == np.inf:
            rest = np.arange(w.size) != k
            if self._try(self.places[rest], self.rows[rest], alpha[rest], w[rest]):
                return True
            target = alpha[k] * 10.0
        way = math.log(target / alpha[k])
        for _ in range(_TRIALS):
            new = alpha.copy()
            new[k] *= math.exp(way)
            if self._try(self.places, self.rows, new, w):
                return True
            way *= 0.5
        return False

    def _try(self, places: NDArray[np.intp], rows: Array, alpha: Array, start: Array) -> bool:
        """Take a step if the evidence rises."""
        mode = Mode.of(rows, alpha, self.signs, start)
        if mode.log_evidence <= self.log_evidence:
            return False
        self.places, self.rows, self.alpha, self._mode = places, rows, alpha, mode
        self._vain.clear()
        return True
