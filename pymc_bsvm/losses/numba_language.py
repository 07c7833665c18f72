"""The words in which losses are written, for scalars in compiled code.

See `pymc_bsvm.losses.numpy_language` for the idea. ``where`` computes both of its values, exactly
as in the other languages; a division by zero gives an infinity, as NumPy's does.
"""

from math import erf, erfc

import numba
from numpy import abs, arctan, exp, log, log1p, maximum, minimum, sign, sin, sqrt, tan

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

# fastmath is off by name: a caller that allows it would otherwise pass it on
COMPILED = {"error_model": "numpy", "fastmath": False, "nogil": True}
function = numba.njit(**COMPILED)
inlined = numba.njit(inline="always", **COMPILED)


@function
def where(condition: bool, x: float, y: float) -> float:
    """Return x if the condition holds, else y."""
    return x if condition else y


@function
def clip(x: float, low: float, high: float) -> float:
    """Return the value in [low, high] nearest to x."""
    return min(max(x, low), high)


@function
def difference(x: float, y: float) -> float:
    """Return ``x - y``."""
    return x - y
