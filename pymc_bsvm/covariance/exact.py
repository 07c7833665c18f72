"""Sums and products that carry their rounding errors along.

Ogita, Rump and Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).
"""

import numba

__all__ = ["exact_sum", "two_product", "two_sum"]

_SPLITTER = 134217729.0  # 2^27 + 1


@numba.njit(cache=True, fastmath=False, nogil=True)
def two_sum(x, y):
    """Return the rounded sum of numbers or arrays, and its rounding error."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


@numba.njit(cache=True, fastmath=False, nogil=True)
def two_product(x, y):
    """Return the rounded product of two numbers, and its rounding error."""
    x_high = _SPLITTER * x - (_SPLITTER * x - x)
    x_low = x - x_high
    y_high = _SPLITTER * y - (_SPLITTER * y - y)
    y_low = y - y_high
    product = x * y
    return product, x_low * y_low - (
        ((product - x_high * y_high) - x_low * y_high) - x_high * y_low
    )


@numba.njit(cache=True, fastmath=False, nogil=True)
def exact_sum(x):
    """Return the sum as if computed in twice the working precision."""
    high, low = 0.0, 0.0
    for term in x:
        high, rest = two_sum(high, term)
        low += rest
    return high + low
