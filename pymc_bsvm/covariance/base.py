"""What the solver needs of a covariance K: the functions through which it reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Covariance", "Pursuit"]


class Pursuit(NamedTuple):
    """Functions that improve the dual of a piecewise linear loss by steps on one row or two.

    Such a loss is its ``kinks``, of shape (k, n), and its ``levels``, of shape (k + 1, n): the
    duals between the kinks.
    """

    balance: Callable[..., Any]
    """``(kinks, levels, a, g)``: let the duals sum to zero, in place; whether they can."""
    offset: Callable[..., Any]
    """``(kinks, levels, a, g)``: the offset that suits ``g = m + K a`` best."""
    gap: Callable[..., Any]
    """``(kinks, levels, a, f)``: the duality gap of all rows."""
    advance: Callable[..., Any]
    """``(K, g, kinks, levels, a, variances, offset, steps, most)``: improve a and g in place by so
    many steps on one row or two, and at most so many on all rows between two levels; the lengths
    of the latter, and the numbers of those rows."""


class Covariance(NamedTuple):
    """Functions of K, whatever K is made of.

    They can be called from compiled code, except for `depth` and `no_factor`, which are Python for
    the solver to compile if it is compiled itself.

    The factor is one of ``B = I + W½ K W½`` on the free rows, those with a curvature W > 0. Only
    `factorize` and `solve` know what it consists of.
    """

    diagonal: Callable[..., Any]
    """``K -> vector``."""
    latent: Callable[..., Any]
    """``(K, m, a, b)``: the vector ``m + K a + b``."""
    add_product: Callable[..., Any]
    """``(K, rows, weights, out)``: add ``K[:, rows] @ weights[rows]`` to ``out``."""
    add_product_exactly: Callable[..., Any]
    """``(K, rows, weights, high, low)``: the same for the unevaluated sum ``high + low``, as if
    computed in twice the working precision."""
    depth: Callable[..., Any]
    """``(K, count)``: to how many additions in a row the roundings of `add_product` and of
    `add_product_exactly` amount, for ``count`` rows."""
    factorize: Callable[..., Any]
    """``(K, free, root)``: the factor, and whether it exists; ``root`` is W½ of all rows."""
    solve: Callable[..., Any]
    """``(factor, x)``: replace the right-hand sides, one in each row, by the solutions."""
    no_factor: Callable[..., Any]
    """``()``: the factor of no rows."""
    kind: Any
    """Numba's type of K."""
    pursuit: Pursuit | None = None
    """Steps on single duals of a piecewise linear loss; None where they do not pay."""
