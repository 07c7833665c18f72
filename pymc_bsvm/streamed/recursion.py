"""The posterior of some rows as the prior of the next.

With the prior ``w ~ N(w₀, B₀⁻¹)`` and ``B₀ = L₀ L₀'`` the coordinates ``v = L₀'(w - w₀)`` are
N(0, I), and ``phi'w = phi'w₀ + (L₀⁻¹ phi)'v``: other features and a mean, for the same Newton's
method. For Gaussian noise the posterior is that of all rows at once. For other losses the rows of
earlier batches keep the curvature that they had when they were seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.newton import TOLERANCE, find_mode
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import InducingPosterior

__all__ = ["Recalled", "updated"]


@dataclass(frozen=True, eq=False)
class Recalled(Features):
    """Features in whose weights v an earlier posterior is N(0, I)."""

    centre: Array = field(repr=False)
    """The mode w₀ of the earlier posterior, of shape (r,)."""
    factor: Array = field(repr=False)
    """Its L₀, lower."""

    @classmethod
    def of(cls, posterior: InducingPosterior) -> Self:
        """Return the features of a posterior."""
        return cls(**vars(posterior.features), centre=posterior.w, factor=posterior.cholesky)

    def weights(self, v: Array) -> Array:
        """Return the weights w of the features that the posterior has."""
        step: Array = solve_triangular(self.factor, v, lower=True, trans="T")
        return self.centre + step

    def coefficients(self, w: Array) -> Array:
        """Return the coefficients of covariances with the inducing points, and of a constant."""
        return super().coefficients(self.weights(w))

    def whitened(self, sums: Array) -> Array:
        """Return a sum over rows of the features, each times a number."""
        own: Array = solve_triangular(self.factor, super().whitened(sums), lower=True)
        return own

    def gram(self, K: Array, W: Array) -> Array:
        """Return ``sum_i W_i phi_i phi_i'`` for rows of `cross`, which are overwritten."""
        half = solve_triangular(self.factor, super().gram(K, W), lower=True)
        whole: Array = solve_triangular(self.factor, half.T, lower=True)
        return whole


def updated(
    posterior: InducingPosterior, passes: Passes, loss: Loss, tol: float = TOLERANCE
) -> InducingPosterior:
    """Return the posterior after further rows.

    Parameters
    ----------
    posterior : InducingPosterior
        After the rows before.
    passes : Passes
        Over the further rows.
    loss : Loss
        Their loss.
    tol : float
        Largest duality gap of the mode, in nats.

    Raises
    ------
    ModeError
        If the mode is not found to the tolerance.
    """
    features = Recalled.of(posterior)
    nothing = -features.factor.T @ features.centre  # where the function is zero, and no loss a wall
    mode = find_mode(passes, features, loss, nothing, tol=tol)
    factor = features.factor @ mode.cholesky
    return InducingPosterior(posterior.features, features.weights(mode.w), factor)
