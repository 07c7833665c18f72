"""The words in which losses are written, for PyTensor graphs.

See `pymc_bsvm.losses.numpy_language` for the idea: with this module as the array language,
``losses.formulas(SILF, symbolic)`` gives SILF as PyTensor expressions that differentiate.
"""

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
    """Make a formula callable from other formulas; PyTensor needs nothing for that."""
    return formula
