"""The words in which losses are written, for PyTensor graphs.

See `pymc_bsvm.losses.numpy_language` for the idea: with this module as the array language,
``losses.formulas(SILF, symbolic)`` gives SILF as PyTensor expressions that differentiate.
"""

from typing import Any

from pytensor.tensor import (
    abs,
    arctan,
    clip,
    erf,
    erfc,
    erfcinv,
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

_LEAST = -1e38  # in any floating point type


def function[F](formula: F) -> F:
    """Make a formula callable from other formulas; PyTensor needs nothing for that."""
    return formula


def difference(x: Any, y: Any) -> Any:
    """Return ``x - y``, which no rewrite merges with the terms around it.

    The maximum changes nothing, but rewrites and compilers do not know that: no residual is so far.
    """
    return maximum(x - y, _LEAST)
