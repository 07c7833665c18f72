"""The words in which losses are written, for JAX; see `pymc_bsvm.losses.numpy_language`."""

from operator import sub as difference

from jax.numpy import (
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
from jax.scipy.special import erf, erfc

__all__ = [
    "abs",
    "arctan",
    "clip",
    "difference",
    "erf",
    "erfc",
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
    """Make a formula callable from other formulas; JAX needs nothing for that."""
    return formula
