"""Covariance functions that are stated once for NumPy and PyTensor."""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "MOST",
    "arcsine",
    "bspline",
    "check_order",
    "check_p",
    "dirichlet",
    "height",
    "truncated",
]

MOST = 10  # rounding grows with the order of a spline: the values are good to 12 digits here


def bspline(xp: Any, u: Any, p: int) -> Any:
    """Return ``B(u) / B(0)`` for the B-spline B of order ``2p + 1``, (3.47) of [Chu03]_.

    ``B(u) = sum_m (-1)^m binom(2p + 2, m) (p + 1 - m - |u|)_+^(2p + 1) / (2p + 1)!``. Seen from the
    nearer end of the support only the terms ``m <= p`` count, and they cancel little.
    """
    return truncated(xp, u, p, 2 * p + 1) / height(p)


def truncated(xp: Any, u: Any, p: int, power: int) -> Any:
    """Return ``sum_m (-1)^m binom(2p + 2, m) (p + 1 - m - |u|)_+^power``."""
    distance = abs(u)
    terms = (
        _sign(m, p) * _power(xp.maximum(p + 1.0 - m - distance, 0.0), power) for m in range(p + 1)
    )
    return sum(terms, start=0.0)


def height(p: int) -> float:
    """Return ``(2p + 1)! B(0)``, an integer."""
    return float(sum(_sign(m, p) * (p + 1 - m) ** (2 * p + 1) for m in range(p + 1)))


def check_p(p: Any) -> None:
    """Raise ``ValueError`` unless there is a B-spline of order ``2p + 1``."""
    if isinstance(p, bool) or not isinstance(p, int) or not 1 <= p <= MOST:
        raise ValueError(
            f"p must be an integer from 1 to {MOST}, but it is {p!r}. "
            "Pass 1 for the cubic B-spline."
        )


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


def dirichlet(xp: Any, u: Any, order: int) -> Any:
    """Return ``D(u) / D(0)`` from the cosines of (3.50) of [Chu03]_, without a pole at zero."""
    cosines = sum((xp.cos(j * u) for j in range(1, order + 1)), start=0.0)
    return (1.0 + 2.0 * cosines) / (2 * order + 1)


def check_order(order: Any) -> None:
    """Raise ``ValueError`` unless there are trigonometric polynomials of this order."""
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"order must be a positive integer, but it is {order!r}. Pass 3, say.")


def arcsine(xp: Any, product: Any, left: Any, right: Any) -> Any:
    """Return ``(2 / pi) arcsin(2 p / sqrt((1 + 2 l) (1 + 2 r)))``, (4.29) of [RW06]_.

    Parameters
    ----------
    xp : module
        The array language.
    product : array
        Inner products p of rows, with what belongs to the constant.
    left, right : array
        Those of the rows with themselves; they broadcast against p.
    """
    cosine = 2.0 * product / xp.sqrt((1.0 + 2.0 * left) * (1.0 + 2.0 * right))
    return 2.0 / math.pi * xp.arcsin(xp.clip(cosine, -1.0, 1.0))
