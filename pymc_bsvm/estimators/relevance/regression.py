"""Columns for targets with Gaussian noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from pymc_bsvm.estimators.relevance.search import Chosen
from pymc_bsvm.estimators.relevance.steps import settle

__all__ = ["Regression", "inverse_factor"]

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
        self._products: Array = np.empty((dictionary.size, 32), order="F")
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
        self._gram = self._products[self.places, : self.places.size]
        self._weights = self._at(self.beta)
        before = self.log_evidence
        self._rounds += 1
        if not still and self._rounds <= _HELD:
            return math.inf
        b, m = self.projections[self.places], self._weights.mean
        residual = max(self.energy - float(2.0 * m @ b - m @ self._gram @ m), 0.0)
        determined = self.places.size - float(self.alpha @ (self._weights.half**2).sum(axis=0))
        by_em = (residual + determined / self.beta) / self.n
        for share in (residual / (self.n - determined), by_em):
            beta = 1.0 / max(share, _LEAST * self.power)
            new = self._at(beta)
            if new.log_evidence > self.log_evidence:
                self.beta, self._weights = beta, new
                break
        return self.log_evidence - before

    def candidate(self) -> tuple[float, int]:
        """Return what the best of all other columns gains, and its place.

        Columns that the chosen ones make up but for a share of 1e-9 are left out: rounding would
        decide what they gain.
        """
        products, beta = self._products[:, : self.places.size], self.beta
        half = self._weights.half @ products.T
        s = beta - beta**2 * np.einsum("ij,ij->j", half, half)
        q = beta * (self.projections - products @ self._weights.mean)
        self._s = np.where(s > _NEW * beta, s, np.inf)
        self._ratio = q * q / self._s
        self._ratio[self.places] = 0.0
        place = int(np.argmax(self._ratio))
        ratio = float(self._ratio[place])
        return (0.5 * (ratio - 1.0 - math.log(ratio)) if ratio > 1.0 else 0.0), place

    def settle(self, least: float) -> float:
        """Re-estimate and delete chosen columns while that gains more."""
        half = self._weights.half
        covariance, mean = half.T @ half, self._weights.mean.copy()
        gain: float = settle(covariance, mean, self.alpha, least, _SWEEPS * self.places.size)
        kept = np.isfinite(self.alpha)
        if not kept.all():
            count = np.count_nonzero(kept)
            self._products[:, :count] = self._products[:, : kept.size][:, kept]
            self.places, self.alpha = self.places[kept], self.alpha[kept]
        return gain

    def add(self, place: int) -> None:
        """Add a column at the precision ``s² / (q² - s)``."""
        count = self.places.size
        if count == self._products.shape[1]:
            self._products = np.asfortranarray(np.hstack([self._products] * 2))
        self._products[:, count] = self.dictionary.products(self.dictionary.column(place))
        self.places = np.append(self.places, place)
        self.alpha = np.append(self.alpha, self._s[place] / (self._ratio[place] - 1.0))

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

    def _at(self, beta: float) -> Weights:
        H = beta * self._gram
        H.reshape(-1)[:: len(H) + 1] += self.alpha
        half = inverse_factor(H)
        u = beta * (half @ self.projections[self.places])
        log_det = np.log(self.alpha * half.diagonal() ** 2).sum()
        rest = self.n * math.log(beta / (2.0 * math.pi)) - beta * self.energy
        return Weights(half, half.T @ u, 0.5 * float(log_det + rest + u @ u))


def inverse_factor(H: Array) -> Array:
    """Return ``L⁻¹`` with ``L L' = H`` for a positive definite matrix."""
    if not H.size:
        return H
    factor, info = dpotrf(H, lower=1, clean=1)
    if info:
        raise np.linalg.LinAlgError(
            f"The precision of {len(H)} weights is not positive definite. "
            "Check the kernel, and whether rows are nearly equal."
        )
    half: Array = dtrtri(factor, lower=1)[0]
    return half
