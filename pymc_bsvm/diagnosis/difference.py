"""An approximate posterior of latent values beside the exact one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.diagnosis.annealing import LatentMoments

__all__ = ["Difference"]

_SMALL_SHIFT, _SMALL_RATIO = 0.5, 1.25  # what is called close


@dataclass(frozen=True)
class Difference:
    """An approximate Gaussian beside the exact posterior of latent values, row by row.

    All arrays have the shape (n,), or (n_new,) for predictions, and the units of f.
    """

    laplace_mean: Array = field(repr=False)
    laplace_sd: Array = field(repr=False)
    mean: Array = field(repr=False)
    """Exact means, up to `mean_error`."""
    sd: Array = field(repr=False)
    """Exact standard deviations."""
    mean_error: Array = field(repr=False)
    """Monte Carlo standard errors of the exact means."""

    @property
    def shift(self) -> Array:
        """Approximate means less the exact ones, in exact standard deviations."""
        return _ratio(self.laplace_mean - self.mean, self.sd, 0.0)

    @property
    def sd_ratio(self) -> Array:
        """Approximate standard deviations in units of the exact ones."""
        return _ratio(self.laplace_sd, self.sd, 1.0)

    @property
    def largest(self) -> float:
        """Largest size of a shift, in exact standard deviations."""
        return float(np.abs(self.shift).max())

    @property
    def rms(self) -> float:
        """Root mean square of the shifts, in exact standard deviations."""
        return float(np.sqrt((self.shift**2).mean()))

    @property
    def error(self) -> float:
        """Root mean square Monte Carlo error of the shifts, in exact standard deviations."""
        return float(np.sqrt((_ratio(self.mean_error, self.sd, 0.0) ** 2).mean()))

    @property
    def close(self) -> bool:
        """Whether no row is far off: half a standard deviation, or a quarter of one in width."""
        ratio = self.sd_ratio
        narrow, wide = ratio.min() < 1.0 / _SMALL_RATIO, ratio.max() > _SMALL_RATIO
        return self.largest <= _SMALL_SHIFT and not narrow and not wide

    @classmethod
    def between(cls, mean: Array, variance: Array, exact: LatentMoments) -> Difference:
        """Compare approximate means and variances with exact moments."""
        return cls(mean, np.sqrt(variance), exact.mean, exact.sd, exact.mean_error)

    def sd_over(self, other: Difference) -> Array:
        """Return the approximate standard deviations in units of those of another one."""
        return _ratio(self.laplace_sd, other.laplace_sd, 1.0)

    def describe(self, label: str) -> str:
        """Say in a sentence how close the two are."""
        ratio = self.sd_ratio
        return (
            f"Posterior means of {label} agree within {self.largest:.2f} sd (rms "
            f"{self.rms:.2f}, Monte Carlo error {self.error:.2f}), and the approximate sds are "
            f"{ratio.min():.2f} to {ratio.max():.2f} times the exact ones."
        )


def _ratio(numerator: Array, denominator: Array, otherwise: float) -> Array:
    """Divide, with another value where the denominator is zero: a row that is known a priori."""
    positive = denominator > 0.0
    return np.where(positive, numerator / np.where(positive, denominator, 1.0), otherwise)
