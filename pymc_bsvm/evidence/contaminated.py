"""Noise of which a share is several times as wide, for predictions: gross errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm._validation import Interval, as_parameter
from pymc_bsvm.losses.base import RegressionLoss
from pymc_bsvm.losses.convolution import Convolution

__all__ = ["ContaminatedNoise"]

_SHARE, _FACTOR = Interval(0.0, 1.0), Interval(low=1.0)


@dataclass(frozen=True)
class ContaminatedNoise:
    """Noise of a loss, which is several times as wide in a share of the rows.

    Its density is ``(1 - share) p(r) + share p(r / factor) / factor`` with that of the core, p.

    Parameters
    ----------
    core : RegressionLoss
        The noise of most rows: a loss that states its units.
    share : float
        Share of the rows whose noise is wider, in (0, 1).
    factor : float
        How many times as wide it is there; above 1.
    """

    core: RegressionLoss
    share: float
    factor: float

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not isinstance(self.core, RegressionLoss):
            raise TypeError(
                f"core must be a loss of regression, but it is {self.core!r}. "
                "Pass one of pymc_bsvm.losses, such as Gaussian(sigma=0.1)."
            )
        for name, domain in (("share", _SHARE), ("factor", _FACTOR)):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name), domain))

    @property
    def wide(self) -> RegressionLoss:
        """The noise of the other rows."""
        return self.core.scaled(self.factor)

    def mean(self) -> Parameter:
        """Return the mean of the noise: a float, or one by row."""
        return (1.0 + self.share * (self.factor - 1.0)) * self.core.mean()

    def variance(self) -> Parameter:
        """Return the variance of the noise: a float, or one by row."""
        square = self.core.variance() + self.core.mean() ** 2
        return (1.0 + self.share * (self.factor**2 - 1.0)) * square - self.mean() ** 2

    def scaled(self, unit: float) -> Self:
        """Return the noise in units that are ``unit`` times as small."""
        return replace(self, core=self.core.scaled(unit))

    def spread(self, shape: tuple[int, ...]) -> Self:
        """Return the noise of each element of a raveled array, whose last axis are the rows."""
        return replace(self, core=self.core.spread(shape))

    def take(self, rows: Any) -> Self:
        """Return the noise of some rows."""
        return replace(self, core=self.core.take(rows))

    def shape_with(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of rows and of the parameters together."""
        return self.core.shape_with(*shapes)

    def convolution(self) -> ContaminatedConvolution:
        """Return the distribution of the noise plus a Gaussian."""
        return ContaminatedConvolution(self)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw noise; parameters of the core are for the last axis."""
        width = np.where(rng.random(shape) < self.share, self.factor, 1.0)
        return width * self.core.draw(rng, shape)


@dataclass(frozen=True)
class ContaminatedConvolution(Convolution):
    """The sum of such noise and of ``N(0, variance)``: what its two parts have, averaged."""

    loss: ContaminatedNoise  # type: ignore[assignment]

    @property
    def symmetric(self) -> bool:
        """Whether the density is the same on both sides of zero."""
        return self.loss.core.convolution().symmetric

    @property
    def unit(self) -> float | None:
        """The width of the core, if all elements share it."""
        return self.loss.core.convolution().unit

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``."""
        return self._average(*(part.log_density(d, variance) for part in self._parts))

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``: above it if ``d >= 0``, else below."""
        return self._average(*(part.log_tail(d, variance) for part in self._parts))

    def log_tail_and_density(self, d: Array, variance: Array) -> tuple[Array, Array]:
        """Return the log tail, and the log density to what steps of Newton's method ask."""
        core, wide = (part.log_tail_and_density(d, variance) for part in self._parts)
        return self._average(core[0], wide[0]), self._average(core[1], wide[1])

    def first_quantile(self, u: Array, variance: Array) -> Array:
        """Return where the search for a quantile starts: the farther one of the two parts.

        Each part alone has at most the probability of the tail, so that none is too far.
        """
        core, wide = self._parts
        rare = np.minimum(np.minimum(u, 1.0 - u) / self.loss.share, 0.5)
        starts = (
            core.first_quantile(u, variance),
            wide.first_quantile(np.where(u < 0.5, rare, 1.0 - rare), variance),
        )
        return np.where(u < 0.5, np.minimum(*starts), np.maximum(*starts))

    @property
    def _parts(self) -> tuple[Convolution, Convolution]:
        """The sums with the core and with the wide noise."""
        return self.loss.core.convolution(), self.loss.wide.convolution()

    def _average(self, core: Array, wide: Array) -> Array:
        """Return the log of the average of what has these logarithms."""
        share = self.loss.share
        return np.asarray(np.logaddexp(np.log1p(-share) + core, np.log(share) + wide))
