"""The covariance function that is a B-spline of odd order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.distance import length_scales
from pymc_bsvm.estimators.kernels.product import Product, blocks
from pymc_bsvm.search import Hyperparameter

__all__ = ["BSpline"]

_MOST = 10  # rounding grows with the order: the values are good to 12 digits here


@dataclass(frozen=True)
class BSpline(Product):
    """The B-spline kernel, ``eta² prod_k B(u_k) / B(0)`` with ``u = (x - z) / ls``.

    B is the B-spline of order ``2 p + 1``, the convolution of ``2 p + 2`` indicators of
    ``[-1/2, 1/2]``. Its Fourier transform is an even power of a real function, hence it is positive
    definite. Rows further apart than ``(p + 1) ls`` in any column are independent.

    Parameters
    ----------
    p : int
        Half the order, rounded down, from 1 (the cubic spline) to 10.
    ard : bool
        Whether each column has a length-scale of its own.

    References
    ----------
    [Chu03]_, (3.47), as a product over columns.
    """

    p: int = 1
    ard: bool = False

    def __post_init__(self) -> None:
        """Check the order."""
        if isinstance(self.p, bool) or not isinstance(self.p, int) or not 1 <= self.p <= _MOST:
            raise ValueError(
                f"p must be an integer from 1 to {_MOST}, but it is {self.p!r}. "
                "Pass 1 for the cubic B-spline."
            )

    def scales(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the length-scales; at their start, B is as wide as the Gaussian kernel.

        As a density it has variance ``(p + 1) / 6``.
        """
        wider = math.sqrt(6.0 / (self.p + 1))
        return tuple(h._replace(start=wider * h.start) for h in length_scales(d, self.ard))

    def formula(self, xp: Any, u: Any) -> Any:
        """Return ``B(u) / B(0)`` as a sum of truncated powers.

        ``B(u) = sum_m (-1)^m binom(2p + 2, m) (p + 1 - m - |u|)_+^(2p + 1) / (2p + 1)!``. Seen from
        the nearer end of the support only the terms ``m <= p`` count, and they cancel little.
        """
        return _truncated(xp, u, self.p, 2 * self.p + 1) / self._height

    def factor(self, x: Array, z: Array | None = None) -> Array:
        """Return the spline at all differences."""
        z = x if z is None else z
        K = np.empty((len(x), len(z)))
        for rows in blocks(len(x), 32 * len(z)):
            K[rows] = self.formula(np, x[rows, None] - z)
        return K

    def descent(self, x: Array, z: Array, weights: Array) -> float:
        """Contract; ``-u B'(u) = (2p + 1) |u|`` times the sum with one power less."""
        u = np.abs(x[:, None] - z)
        order = 2 * self.p + 1
        slope = u * _truncated(np, u, self.p, order - 1)
        return float(np.vdot(weights, slope)) * order / self._height

    @property
    def _height(self) -> float:
        """``(2p + 1)! B(0)``, an integer."""
        p = self.p
        return float(sum(_sign(m, p) * (p + 1 - m) ** (2 * p + 1) for m in range(p + 1)))


def _truncated(xp: Any, u: Any, p: int, power: int) -> Any:
    """Return ``sum_m (-1)^m binom(2p + 2, m) (p + 1 - m - |u|)_+^power``."""
    distance = abs(u)
    terms = (
        _sign(m, p) * _power(xp.maximum(p + 1.0 - m - distance, 0.0), power) for m in range(p + 1)
    )
    return sum(terms, start=0.0)


def _sign(m: int, p: int) -> int:
    """Return ``(-1)^m binom(2p + 2, m)``."""
    return int((-1) ** m * math.comb(2 * p + 2, m))


def _power(base: Any, power: int) -> Any:
    """Return a power by products, which are much faster than powers of arrays."""
    square = base * base
    result = base if power % 2 else square
    for _ in range((power - 1) // 2):
        result = result * square
    return result
