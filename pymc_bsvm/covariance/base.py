"""What the solver needs of a covariance K: the functions through which it reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Covariance"]


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
