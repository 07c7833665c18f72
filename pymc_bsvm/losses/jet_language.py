"""The words in which losses are written, for numbers that carry their derivatives along.

See `pymc_bsvm.losses.numpy_language` for the idea: with this module as the array language, the
formulas of a loss evaluate to `Jet`, which hold values and first derivatives, exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import sub as difference
from typing import Any, ClassVar

import numpy as np
from scipy import special

__all__ = [
    "Jet",
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
    "slopes",
    "sqrt",
    "tan",
    "variables",
    "where",
]


class Jet:
    """An array with its derivatives with respect to some variables."""

    __array_ufunc__: ClassVar[None] = None  # arrays leave arithmetic with jets to them

    def __init__(self, value: Any, slopes: Sequence[Any]) -> None:
        self.value = value
        self.slopes = tuple(slopes)

    def __add__(self, other: Any) -> Jet:
        x, y = _pair(self, other)
        pairs = zip(x.slopes, y.slopes, strict=True)
        return Jet(x.value + y.value, [_sum(p, q) for p, q in pairs])

    def __mul__(self, other: Any) -> Jet:
        x, y = _pair(self, other)
        pairs = zip(x.slopes, y.slopes, strict=True)
        products = [_sum(_scaled(p, y.value), _scaled(q, x.value)) for p, q in pairs]
        return Jet(x.value * y.value, products)

    def __truediv__(self, other: Any) -> Jet:
        x, y = _pair(self, other)
        ratio = np.divide(x.value, y.value)
        pairs = zip(x.slopes, y.slopes, strict=True)
        tops = (_sum(p, _scaled(q, -ratio)) for p, q in pairs)
        return Jet(ratio, [0.0 if _is_zero(top) else np.divide(top, y.value) for top in tops])

    def __pow__(self, power: float) -> Jet:
        return _apply(self, self.value**power, power * self.value ** (power - 1.0))

    def __neg__(self) -> Jet:
        return Jet(-self.value, [-p for p in self.slopes])

    def __sub__(self, other: Any) -> Jet:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Jet:
        return (-self).__add__(other)

    def __rtruediv__(self, other: Any) -> Jet:
        return _constant(other, self) / self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> Any:
        return self.value < _value(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= _value(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > _value(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= _value(other)


def variables(values: Sequence[Any]) -> list[Jet]:
    """Return the values as independent variables."""
    return [
        Jet(value, [1.0 if k == j else 0.0 for j in range(len(values))])
        for k, value in enumerate(values)
    ]


def slopes(result: Any, count: int) -> list[Any]:
    """Return the derivatives of a result that may be a constant."""
    return list(result.slopes) if isinstance(result, Jet) else [0.0] * count


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Jet) else x


def _constant(x: Any, like: Jet) -> Jet:
    return x if isinstance(x, Jet) else Jet(x, [0.0] * len(like.slopes))


def _pair(x: Any, y: Any) -> tuple[Jet, Jet]:
    like = x if isinstance(x, Jet) else y
    return _constant(x, like), _constant(y, like)


def _apply(x: Jet, value: Any, slope: Any) -> Jet:
    """Return a function of x, by the chain rule."""
    return Jet(value, [_scaled(p, slope) for p in x.slopes])


def _is_zero(slope: Any) -> bool:
    return isinstance(slope, float) and slope == 0.0


def _scaled(slope: Any, factor: Any) -> Any:
    """Return the product; zero stays a number, so that what does not vary costs nothing."""
    return 0.0 if _is_zero(slope) else slope * factor


def _sum(p: Any, q: Any) -> Any:
    """Return the sum, without arithmetic if one of the two is zero."""
    if _is_zero(p):
        return q
    return p if _is_zero(q) else p + q


def _chosen(condition: Any, p: Any, q: Any) -> Any:
    """Return the slope of what is chosen."""
    return 0.0 if _is_zero(p) and _is_zero(q) else np.where(condition, p, q)


def _unary(function: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def applied(x: Any) -> Any:
        if not isinstance(x, Jet):
            return function(x)
        return _apply(x, function(x.value), slope(x.value))

    return applied


def where(condition: Any, x: Any, y: Any) -> Any:
    """Choose, with the derivatives of what is chosen."""
    if not isinstance(x, Jet) and not isinstance(y, Jet):
        return np.where(condition, x, y)
    x, y = _pair(x, y)
    pairs = zip(x.slopes, y.slopes, strict=True)
    return Jet(np.where(condition, x.value, y.value), [_chosen(condition, p, q) for p, q in pairs])


def maximum(x: Any, y: Any) -> Any:
    """Return the larger one."""
    return where(_value(x) >= _value(y), x, y)


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller one."""
    return where(_value(x) <= _value(y), x, y)


def clip(x: Any, low: Any, high: Any) -> Any:
    """Return the value in [low, high] nearest to x."""
    return minimum(maximum(x, low), high)


def function[F](formula: F) -> F:
    """Make a formula callable from other formulas; jets need nothing for that."""
    return formula


def _erf_slope(x: Any) -> Any:
    return 2.0 / math.sqrt(math.pi) * np.exp(-x * x)


def _log_slope(x: Any) -> Any:
    return np.divide(1.0, x)


abs = _unary(np.abs, np.sign)
arctan = _unary(np.arctan, lambda x: 1.0 / (1.0 + x * x))
erf = _unary(special.erf, _erf_slope)
erfc = _unary(special.erfc, lambda x: -_erf_slope(x))
exp = _unary(np.exp, np.exp)
log = _unary(np.log, _log_slope)
log1p = _unary(np.log1p, lambda x: _log_slope(1.0 + x))
sign = _unary(np.sign, lambda x: 0.0)
sin = _unary(np.sin, np.cos)
sqrt = _unary(np.sqrt, lambda x: np.divide(0.5, np.sqrt(x)))
tan = _unary(np.tan, lambda x: 1.0 / np.cos(x) ** 2)
