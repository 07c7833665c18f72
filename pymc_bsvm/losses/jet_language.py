"""The words in which losses are written, for numbers that carry their derivatives along.

See `pymc_bsvm.losses.numpy_language` for the idea: with this module as the array language, the
formulas of a loss evaluate to `Jet`, which hold values and first derivatives, exact to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
    "unary",
    "variables",
    "where",
]


class Jet:
    """An array with its derivatives with respect to some variables.

    Parameters
    ----------
    value : array_like
        The array.
    slopes : mapping
        Derivatives by the number of the variable; those that are zero everywhere are left out, so
        that what does not vary costs nothing.
    """

    __array_ufunc__: ClassVar[None] = None  # arrays leave arithmetic with jets to them
    __slots__ = ("slopes", "value")

    def __init__(self, value: Any, slopes: Mapping[int, Any]) -> None:
        self.value = value
        self.slopes = slopes

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value + other, self.slopes)
        return Jet(self.value + other.value, _sum(self.slopes, other.slopes))

    def __mul__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.value * other, _scaled(self.slopes, other))
        of_self, of_other = _scaled(self.slopes, other.value), _scaled(other.slopes, self.value)
        return Jet(self.value * other.value, _sum(of_self, of_other))

    def __truediv__(self, other: Any) -> Jet:
        divisor, ratio = _value(other), np.divide(self.value, _value(other))
        tops = self.slopes
        if isinstance(other, Jet):
            tops = _sum(tops, _scaled(other.slopes, -ratio))
        return Jet(ratio, {k: np.divide(top, divisor) for k, top in tops.items()})

    def __pow__(self, power: float) -> Jet:
        return _apply(self, self.value**power, power * self.value ** (power - 1.0))

    def __neg__(self) -> Jet:
        return Jet(-self.value, {k: -p for k, p in self.slopes.items()})

    def __sub__(self, other: Any) -> Jet:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Jet:
        return (-self).__add__(other)

    def __rtruediv__(self, other: Any) -> Jet:
        return Jet(other, {}) / self

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
    return [Jet(value, {k: 1.0}) for k, value in enumerate(values)]


def slopes(result: Any, count: int) -> list[Any]:
    """Return the derivatives of a result that may be a constant."""
    known = _slopes(result)
    return [known.get(k, 0.0) for k in range(count)]


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Jet) else x


def _slopes(x: Any) -> Mapping[int, Any]:
    return x.slopes if isinstance(x, Jet) else {}


def _apply(x: Jet, value: Any, slope: Any) -> Jet:
    """Return a function of x, by the chain rule."""
    return Jet(value, _scaled(x.slopes, slope))


def _scaled(slopes: Mapping[int, Any], factor: Any) -> dict[int, Any]:
    """Return the slopes of a multiple."""
    return {k: p * factor for k, p in slopes.items()}


def _sum(first: Mapping[int, Any], second: Mapping[int, Any]) -> dict[int, Any]:
    """Return the slopes of a sum."""
    total = dict(first)
    for k, q in second.items():
        total[k] = total[k] + q if k in total else q
    return total


def unary(function: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of jets from one of arrays and its derivative."""

    def applied(x: Any) -> Any:
        if not isinstance(x, Jet):
            return function(x)
        return _apply(x, function(x.value), slope(x.value))

    return applied


def where(condition: Any, x: Any, y: Any) -> Any:
    """Choose, with the derivatives of what is chosen."""
    value = np.where(condition, _value(x), _value(y))
    if not isinstance(x, Jet) and not isinstance(y, Jet):
        return value
    p, q = _slopes(x), _slopes(y)
    chosen = {k: np.where(condition, p.get(k, 0.0), q.get(k, 0.0)) for k in {**p, **q}}
    return Jet(value, chosen)


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


def sign(x: Any) -> Any:
    """Return the sign, whose derivative is zero."""
    return Jet(np.sign(x.value), {}) if isinstance(x, Jet) else np.sign(x)


def _erf_slope(x: Any) -> Any:
    return 2.0 / math.sqrt(math.pi) * np.exp(-x * x)


def _log_slope(x: Any) -> Any:
    return np.divide(1.0, x)


abs = unary(np.abs, np.sign)
arctan = unary(np.arctan, lambda x: 1.0 / (1.0 + x * x))
erf = unary(special.erf, _erf_slope)
erfc = unary(special.erfc, lambda x: -_erf_slope(x))
exp = unary(np.exp, np.exp)
log = unary(np.log, _log_slope)
log1p = unary(np.log1p, lambda x: _log_slope(1.0 + x))
sin = unary(np.sin, np.cos)
sqrt = unary(np.sqrt, lambda x: np.divide(0.5, np.sqrt(x)))
tan = unary(np.tan, lambda x: 1.0 / np.cos(x) ** 2)
