"""The sum of noise and of a Gaussian: its density, its two tails and its quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from pymc_bsvm._typing import Array
from pymc_bsvm.losses.blurred import Blurred, of_argument
from pymc_bsvm.losses.inversion import roots_of_increasing
from pymc_bsvm.losses.piece import Piece, log_one_minus_exp, mills_ratio
from pymc_bsvm.losses.quadrature import log_integral
from pymc_bsvm.losses.tail import tail_of
from pymc_bsvm.losses.widths import over_widths

if TYPE_CHECKING:
    from pymc_bsvm.losses.base import RegressionLoss
    from pymc_bsvm.losses.noise import NoiseLoss

__all__ = ["Convolution", "GaussianConvolution", "PiecewiseConvolution", "one_side"]

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_STEP_WIDTH = 9.0  # Phi is 0 or 1 to 1e-19 beyond so many standard deviations
_NEGLIGIBLE = 1e-30  # ratio of two standard deviations below which their sum is the larger one
_SAME_PROBABILITY = 1e-13  # relative; the accuracy of the distribution function
_ROUNDING = 4.0 * np.finfo(float).eps  # of a closed form, relative to the sizes of its terms
_RAREST = -20.0  # log of the tails for which that has been tried
_SAME_SHARE = 14  # digits of the logarithm
_MANY = 100  # widths from which polynomials are cheaper than each for itself
_SAME_BETWEEN = 1e-11  # the same between nodes that are twice as far apart as those in the end


@dataclass(frozen=True)
class Convolution:
    """The sum of noise with density ``exp(-loss) / Z`` and of ``N(0, variance)``, by quadrature.

    All methods take and return arrays of shape (n,).
    """

    loss: RegressionLoss

    @property
    def symmetric(self) -> bool:
        """Whether the density is the same on both sides of zero."""
        return False

    @property
    def unit(self) -> float | None:
        """A width of the noise that all elements share, or None."""
        width = self.loss.variance()
        return math.sqrt(width) if np.ndim(width) == 0 else None

    def take(self, rows: Any) -> Convolution:
        """Return the convolution for some of the n elements: for an index or a mask."""
        return self.loss.take(rows).convolution()

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``."""
        log_density = -self.loss.value(d, 0.0) - self.loss.log_normalizer()
        blurred = variance > _NEGLIGIBLE**2 * self.loss.variance()
        if blurred.any():
            with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
                part = self.take(blurred)
                log_density[blurred] = part.log_blurred(d[blurred], variance[blurred])
        return log_density

    def log_blurred(self, d: Array, variance: Array) -> Array:
        """Return the log density where the variance is positive."""
        log_mass = Blurred.of(self.loss, d, variance).log_average(self.loss.knots)
        return np.asarray(log_mass - self.loss.log_normalizer())

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``: above it if ``d >= 0``, else below.

        It is the average of ``Phi(±(r - d) / sd)`` over the noise r.
        """
        scale = np.sqrt(np.broadcast_to(self.loss.variance(), d.shape))
        value, derivative = of_argument(type(self.loss))
        parameters = self.loss.by_row(d.size)
        side = np.where(d < 0.0, -1.0, 1.0)
        edge, blur = d / scale, np.maximum(np.sqrt(variance) / scale, _NEGLIGIBLE)

        def energy(x: Array, scale: Array, side: Array, edge: Array, blur: Array, *p: Any) -> Any:
            share = log_ndtr(side * ((x - edge) / blur))
            return value(scale * x, *p) - share

        def slope(x: Array, scale: Array, side: Array, edge: Array, blur: Array, *p: Any) -> Any:
            hazard = 1.0 / mills_ratio(-side * ((x - edge) / blur))
            return scale * derivative(scale * x, *p) - side * (hazard / blur)

        breaks = [knot / scale for knot in self.loss.knots]
        breaks += [edge - _STEP_WIDTH * blur, edge, edge + _STEP_WIDTH * blur]
        log_mass = log_integral(energy, slope, (scale, side, edge, blur, *parameters), breaks)
        return np.minimum(log_mass + np.log(scale) - self.loss.log_normalizer(), 0.0)

    def log_tail_and_density(self, d: Array, variance: Array) -> tuple[Array, Array]:
        """Return the log tail, and the log density to what steps of Newton's method ask."""
        return self.log_tail(d, variance), self.log_density(d, variance)

    def first_quantile(self, u: Array, variance: Array) -> Array:
        """Return where the search for a quantile starts: that of a Gaussian as wide."""
        return np.asarray(np.sqrt(variance + self.loss.variance()) * ndtri(u))

    def quantile(self, u: Array, variance: Array) -> Array:
        """Return the sums with a share ``0 < u < 1`` below them.

        Few shares of many widths are read off polynomials through some of the widths.
        """
        mirrored = self.symmetric & (u > 0.5)
        rare = np.where(mirrored, 1.0 - u, u)
        with np.errstate(divide="ignore"):  # of the side that is not taken
            depth = np.where(rare <= 0.5, np.log(rare), -np.log1p(-rare))
        _, first, which = np.unique(
            np.round(depth, _SAME_SHARE), return_index=True, return_inverse=True
        )
        shares = rare[first]  # 1 - 0.95 is not 0.05
        if self.unit is not None and u.size >= _MANY * shares.size:
            x, exact = self._interpolated(shares, which, variance, self.unit)
        else:
            x, exact = self.first_quantile(rare, variance), False
        if not exact:
            x, _ = self.solved(rare, variance, x)
        return np.where(mirrored, -x, x)

    def solved(self, u: Array, variance: Array, start: Array) -> tuple[Array, Array]:
        """Return quantiles by Newton's method, and by how much of a tail each start was off.

        The log probability of the tail in which the residual lies is concave, so that every step
        ends short of the solution and the next ones approach it from outside.
        """
        lower = u <= 0.5
        target = np.where(lower, np.log(u), np.log1p(-u))
        accuracy = _SAME_PROBABILITY + 4.0 * np.finfo(float).eps * np.abs(target)
        off: list[Array] = []

        def excess(d: Array, rows: Any) -> tuple[Array, Array]:
            log_tail, log_density = self.take(rows).log_tail_and_density(d, variance[rows])
            log_share = one_side(log_tail, d, lower[rows])
            over = np.where(lower[rows], 1.0, -1.0) * (log_share - target[rows])
            off.append(np.abs(over))
            with np.errstate(all="ignore"):
                return over, np.exp(log_density - log_share)

        return roots_of_increasing(excess, start, accuracy), off[0]

    def _interpolated(
        self, shares: Array, which: Any, variance: Array, unit: float
    ) -> tuple[Array, bool]:
        """Return quantiles, one of k shares for each variance, and whether they are accurate."""

        def over(v: Array) -> tuple[Array, Array, tuple[int, int]]:
            return np.repeat(shares, v.size), np.tile(v, shares.size), (shares.size, v.size)

        def exact(v: Array, start: Array) -> tuple[Array, Array]:
            u, v, shape = over(v)
            x, off = self.solved(u, v, start.ravel())
            return x.reshape(shape), off.reshape(shape)

        def first(v: Array) -> Array:
            u, v, shape = over(v)
            return self.first_quantile(u, v).reshape(shape)

        return over_widths(exact, first, variance, which, unit, _SAME_BETWEEN)


@dataclass(frozen=True)
class PiecewiseConvolution(Convolution):
    """The same for symmetric noise of parabolas and lines: sums of closed forms.

    Those of the density keep their digits everywhere. Those of the distribution function are
    differences, which lose them far out in the tails; there the quadrature stays.
    """

    loss: NoiseLoss
    symmetric = True

    pieces: tuple[Piece, ...]
    """The pieces at nonnegative residuals."""

    def log_blurred(self, d: Array, variance: Array) -> Array:
        """Return the log density where the variance is positive; five pieces for SILF."""
        near = np.abs(d)
        terms = [p.log_integral(side, variance) for p in self.pieces for side in (near, -near)]
        return np.asarray(reduce(np.logaddexp, terms) - self.loss.log_normalizer())

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``, the same on both sides."""
        return self.log_tail_and_density(d, variance)[0]

    def log_tail_and_density(self, d: Array, variance: Array) -> tuple[Array, Array]:
        """Return the log tail, and the log density to what steps of Newton's method ask."""
        near, unit = np.abs(d), np.sqrt(self.loss.variance())
        log_total = self.loss.log_normalizer()
        with np.errstate(all="ignore"):
            sd = np.maximum(np.sqrt(variance), _NEGLIGIBLE * unit)
            tails = [tail_of(piece, near, sd) for piece in self.pieces]
            mass, density, size = (np.sum(parts, axis=0) for parts in zip(*tails, strict=True))
            log_tail = np.minimum(np.log(mass) - log_total, -math.log(2.0))
            known = (_ROUNDING * size <= _SAME_PROBABILITY * mass) & (log_tail > _RAREST)
            log_density = np.log(np.maximum(density, 0.0)) - log_total
        if not known.all():
            part = self.take(~known)
            log_tail[~known] = Convolution(part.loss).log_tail(near[~known], variance[~known])
            log_density[~known] = part.log_density(near[~known], variance[~known])
        return log_tail, log_density

    def first_quantile(self, u: Array, variance: Array) -> Array:
        """Return where the search for a quantile starts, exact without one of the two parts."""
        alone = self.loss.quantile(u)
        both = np.hypot(alone, np.sqrt(variance) * ndtri(u))
        return np.asarray(np.where(u < 0.5, -both, both))


@dataclass(frozen=True)
class GaussianConvolution(Convolution):
    """The same for Gaussian noise: variances add."""

    symmetric = True

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``, (2.25) of [RW06]_ for one target."""
        sd = np.sqrt(variance + self.loss.variance())
        return -0.5 * (d / sd) ** 2 - np.log(sd) - _LOG_ROOT_2PI

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``."""
        return np.asarray(log_ndtr(-np.abs(d) / np.sqrt(variance + self.loss.variance())))

    def quantile(self, u: Array, variance: Array) -> Array:
        """Return the sums with a share ``0 < u < 1`` below them."""
        rare = np.minimum(u, 1.0 - u)
        return np.where(u > 0.5, -1.0, 1.0) * self.first_quantile(rare, variance)


def one_side(log_tail: Array, d: Array, below: NDArray[np.bool_] | bool) -> Array:
    """Return the log probability of a sum below d, or else above it, from that of its tail."""
    return np.where((d < 0.0) == below, log_tail, log_one_minus_exp(log_tail))
