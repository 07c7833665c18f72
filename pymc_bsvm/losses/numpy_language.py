"""The words in which losses are written, for NumPy arrays.

A loss states its formulas once, as functions of an array language ``xp``: this module,
`pymc_bsvm.losses.numba_language`, `pymc_bsvm.symbolic` or `pymc_bsvm.jax_language`. The four share
names and meaning; only this one and the symbolic one have ``erfcinv``, which quantiles need.
``difference`` is a minus sign that compilers leave where it stands.
"""

from operator import sub as difference
from typing import Any

from numpy import (
    abs,
    arctan,
    exp,
    log,
    log1p,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    tan,
    where,
)
from scipy.special import erf, erfc, erfcinv

__all__ = [
    "abs",
    "arctan",
    "clip",
    "difference",
    "erf",
    "erfc",
    "erfcinv",
    "exp",
    "function",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "sign",
    "sin",
    "sqrt",
    "tan",
    "where",
]


def clip(x: Any, low: Any, high: Any) -> Any:
    """Return the values in [low, high] nearest to x; `numpy.clip` checks more, and takes longer."""
    return minimum(maximum(x, low), high)


def function[F](formula: F) -> F:
    """Make a formula callable from other formulas; NumPy needs nothing for that."""
    return formula
