"""Coordinates of latent values that end in front of a wall of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.linalg import cholesky, solve_triangular

from pymc_bsvm._pytensor import CheckAndRaise
from pymc_bsvm._typing import Array

__all__ = ["Bend", "rows_before"]

_in_front = CheckAndRaise(
    ValueError,
    "A draw of the latent values from the prior lies behind a wall of the likelihood, where the "
    "coordinates of the posterior do not reach. Draw from latent_model(model) without around.",
)

_NEAR = 4.0  # standard deviations from the wall
_MOST = 24  # rows


def rows_before(distance: Array, covariance: Array) -> Array:
    """Return the rows whose latent values tell of nearly all walls, the nearest first.

    Parameters
    ----------
    distance : ndarray of shape (n,)
        Of the posterior mean from the wall.
    covariance : ndarray of shape (n, n)
        Of the latent values a posteriori.

    Returns
    -------
    ndarray of shape (k,)
        Each is the one nearest to its wall in standard deviations given those before.
    """
    rows: list[int] = []
    rest, open_rows = covariance.copy(), np.isfinite(distance)
    while len(rows) < min(_MOST, open_rows.size):
        sd = np.sqrt(np.where(open_rows, np.maximum(np.diag(rest), 0.0), 0.0))
        far = np.where(sd > 0.0, distance / np.where(sd > 0.0, sd, 1.0), np.inf)
        i = int(np.argmin(far))
        if far[i] > _NEAR:
            break
        rows.append(i)
        rest -= np.outer(rest[:, i], rest[i] / rest[i, i])
        open_rows[i] = False
    return np.array(rows, dtype=int)


@dataclass(frozen=True)
class Bend:
    r"""A map of coordinates after which the distances from some walls are positive.

    The distances ``t = c + B z`` of k rows are linear in z. With ``BB' = C``, of diagonal
    :math:`\sigma_i^2`, the map

    .. math::

        z = u + B'C^{-1} (s(t) - t), \qquad t = c + B u, \qquad
        s_i(t) = \sigma_i \log(1 + e^{t_i / \sigma_i}),

    changes u where it changes t only, so that the distances at z are :math:`s(t) > 0`. Its
    determinant is the product of :math:`s_i'(t)`.
    """

    level: Any
    """Distances c at zero, of shape (k,)."""
    slopes: Any
    """Their derivatives B, of shape (k, n)."""

    def __call__(self, u: Any) -> Any:
        """Return z."""
        t, sd = self._distances(u)
        return u + self._along(sd * pt.softplus(-t / sd))

    def log_det(self, u: Any) -> Any:
        """Return the logarithm of the determinant."""
        t, sd = self._distances(u)
        return -pt.softplus(-t / sd).sum()

    def back(self, z: Any) -> Any:
        """Return u; the graph raises where z is behind a wall."""
        s, sd = self._distances(z)
        s = _in_front(s, pt.all(s > 0.0))
        return z + self._along(sd * pt.log(-pt.expm1(-s / sd)))

    def _distances(self, z: Any) -> tuple[Any, Any]:
        return self.level + self.slopes @ z, pt.sqrt((self.slopes**2).sum(axis=1))

    def _along(self, change: Any) -> Any:
        """Return the smallest change of z that changes the distances so."""
        B = self.slopes
        factor = cholesky(B @ B.T)
        half = solve_triangular(factor, change, lower=True)
        return B.T @ solve_triangular(factor.T, half, lower=False)
