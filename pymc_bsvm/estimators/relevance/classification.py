"""Columns for labels, by Laplace's method."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from pymc_bsvm.estimators.relevance.regression import inverse_factor
from pymc_bsvm.estimators.relevance.search import Chosen

__all__ = ["Classification", "Mode"]

_SWEEPS = 10
_NEWTON = 100  # steps, of which a few are needed
_SETTLED = 1e-16  # nats that the next step would gain; the determinant is off by the root of it
_HALVINGS = 30
_TRIALS = 6


class Mode(NamedTuple):
    """The most probable weights, and Laplace's evidence about them."""

    weights: Array
    eta: Array
    """Latent values, ``Phi w``."""
    half: Array
    """``L⁻¹`` with ``L L' = A + Phi'B Phi``."""
    log_evidence: float

    @classmethod
    def of(cls, columns: Array, alpha: Array, signs: Array, start: Array) -> Self:
        """Iterate reweighted least squares, with steps halved where they go too far."""
        w, eta = start, columns @ start
        value = _log_posterior(w, eta, alpha, signs)
        for _ in range(_NEWTON):
            slope = columns.T @ (signs * expit(-signs * eta)) - alpha * w
            curvature = expit(eta) * expit(-eta)
            H = (columns.T * curvature) @ columns
            H.reshape(-1)[:: len(H) + 1] += alpha
            half = inverse_factor(H)
            step = half.T @ (half @ slope)
            if step @ slope < _SETTLED:
                break
            move = columns @ step
            for _ in range(_HALVINGS):
                new = _log_posterior(w + step, eta + move, alpha, signs)
                if new >= value:
                    break
                step, move = 0.5 * step, 0.5 * move
            else:  # only rounding is left
                break
            w, eta, value = w + step, eta + move, new
        log_det = np.log(alpha).sum() + 2.0 * np.log(np.diagonal(half)).sum()
        return cls(w, eta, half, value + 0.5 * float(log_det))


def _log_posterior(w: Array, eta: Array, alpha: Array, signs: Array) -> float:
    return float(log_expit(signs * eta).sum() - 0.5 * w @ (alpha * w))


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
        self.columns: Array = np.zeros((signs.size, 0))
        self._mode = Mode.of(self.columns, self.alpha, signs, np.zeros(0))
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
        mode, columns = self._mode, self.columns
        B = expit(mode.eta) * expit(-mode.eta)
        g = self.signs * expit(-self.signs * mode.eta)
        weighted = mode.half @ (columns.T * B)
        s, q = np.empty(self.dictionary.size), np.empty(self.dictionary.size)
        for places, block in self.dictionary.blocks():
            shared = weighted @ block
            s[places] = B @ (block * block) - np.einsum("ij,ij->j", shared, shared)
            q[places] = g @ block
        self._s = np.maximum(s, 1e-14)
        self._ratio = q * q / self._s
        self._ratio[self.places] = 0.0
        self._ratio[list(self._vain)] = 0.0
        place = int(np.argmax(self._ratio))
        ratio = float(self._ratio[place])
        return (0.5 * (ratio - 1.0 - math.log(ratio)) if ratio > 1.0 else 0.0), place

    def settle(self, least: float) -> float:
        """Re-estimate and delete chosen columns while that gains more."""
        start, vain = self.log_evidence, np.zeros(0, dtype=np.intp)
        for _ in range(_SWEEPS * self.places.size):
            gain, target = self._targets()
            gain[np.isin(self.places, vain)] = 0.0
            k = int(np.argmax(gain)) if gain.size else 0
            if not gain.size or gain[k] <= least:
                break
            place = self.places[k]
            if not self._move(k, float(target[k])):
                vain = np.append(vain, place)
        return self.log_evidence - start

    def add(self, place: int) -> None:
        """Add a column at the precision ``s² / (q² - s)`` or a larger one, if that gains."""
        places = np.append(self.places, place)
        columns = np.column_stack([self.columns, self.dictionary.column(place)])
        start = np.append(self._mode.weights, 0.0)
        precision = self._s[place] / (self._ratio[place] - 1.0)
        for _ in range(_TRIALS):
            if self._try(places, columns, np.append(self.alpha, precision), start):
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

    def _targets(self) -> tuple[Array, Array]:
        """Return what the steps to the best precisions of chosen columns gain, and these."""
        half = self._mode.half
        width = np.einsum("ij,ij->j", half, half)
        s = np.maximum(1.0 / width - self.alpha, 1e-16 / width)
        ratio = (self._mode.weights / width) ** 2 / s
        inside = ratio > 1.0
        above = np.where(inside, ratio, 2.0) - 1.0
        total = self.alpha + s
        now = np.log(self.alpha / total) + ratio * s / total
        then = np.where(inside, above - np.log1p(above), 0.0)
        return 0.5 * (then - now), np.where(inside, s / above, np.inf)

    def _move(self, k: int, target: float) -> bool:
        """Delete a column, or go towards a precision as far as the evidence rises."""
        w, alpha = self._mode.weights, self.alpha
        if target == np.inf:
            rest = np.arange(w.size) != k
            if self._try(self.places[rest], self.columns[:, rest], alpha[rest], w[rest]):
                return True
            target = alpha[k] * 10.0
        way = math.log(target / alpha[k])
        for _ in range(_TRIALS):
            new = alpha.copy()
            new[k] *= math.exp(way)
            if self._try(self.places, self.columns, new, w):
                return True
            way *= 0.5
        return False

    def _try(self, places: NDArray[np.intp], columns: Array, alpha: Array, start: Array) -> bool:
        """Take a step if the evidence rises."""
        mode = Mode.of(columns, alpha, self.signs, start)
        if mode.log_evidence <= self.log_evidence:
            return False
        self.places, self.columns, self.alpha, self._mode = places, columns, alpha, mode
        self._vain.clear()
        return True
