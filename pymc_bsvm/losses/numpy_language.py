"""The words in which losses are written, for NumPy arrays.

A loss states its formulas once, as functions of an array language ``xp``: this module,
`pymc_bsvm.losses.numba_language`, `pymc_bsvm.symbolic` or `pymc_bsvm.jax_language`. The four share
names and meaning; only this one and the symbolic one have ``erfcinv``, which quantiles need.
"""

from numpy import (
    abs,
    arctan,
    clip,
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


def function[F](formula: F) -> F:
    """Make a formula callable from other formulas; NumPy needs nothing for that."""
    return formula
