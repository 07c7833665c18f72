"""A function of the width of the Gaussian that blurs noise, read off a polynomial through few."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebval
from numpy.typing import NDArray
from scipy.fft import dct

from pymc_bsvm._typing import Array

__all__ = ["over_widths"]

_FEWEST, _MOST = 16, 256  # degrees, doubled in between
_FAR = 2.0  # times the distance of two neighbours that an interpolated start may be off

type Exact = Callable[[Array, Array], tuple[Array, Array]]
"""``(variance, start)``, of shape (m,) and (k, m): k functions, and by how much starts are off."""


class _Widths(NamedTuple):
    """Standard deviations of Gaussians, on the interval from -1 to 1.

    The quantile is a smooth function of ``asinh(sd / unit)``: where the Gaussian is narrow its
    terms are powers of sd, where it is wide it grows as sd itself, which `size` takes out.
    """

    middle: float
    half: float
    unit: float

    @classmethod
    def of(cls, variance: Array, unit: float) -> _Widths:
        x = np.arcsinh(np.sqrt([variance.min(), variance.max()]) / unit)
        return cls(float(x.mean()), max(float(np.ptp(x)) / 2.0, 1e-8), unit)

    def place(self, variance: Array) -> Array:
        return np.asarray((np.arcsinh(np.sqrt(variance) / self.unit) - self.middle) / self.half)

    def variance(self, place: Array) -> Array:
        x = np.maximum(self.middle + self.half * place, 0.0)
        return np.asarray((self.unit * np.sinh(x)) ** 2)

    def size(self, variance: Array) -> Array:
        return np.asarray(np.sqrt(variance + self.unit**2))


def over_widths(
    exact: Exact,
    first: Callable[[Array], Array],
    variance: Array,
    which: NDArray[np.intp],
    unit: float,
    tolerance: float,
) -> tuple[Array, bool]:
    """Return one of k functions of the variance for each of n variances, and whether to tolerance.

    The degree of the polynomials in Chebyshev's points is doubled until they hit the values
    between their nodes; these then join them. That ends where it gets as expensive as the n values.

    Parameters
    ----------
    exact : callable
        ``(variance, start)``: values, of shape (k, m), and by how much each start is off in the
        measure of the tolerance.
    first : callable
        ``(variance)``: starts for the first nodes, of shape (k, m).
    variance : ndarray of shape (n,)
        Variances of the Gaussian.
    which : ndarray of shape (n,)
        Which of the functions.
    unit : float
        Width of the noise.
    tolerance : float
        How far a polynomial may be off between its nodes, before these join them.

    Returns
    -------
    ndarray of shape (n,)
        The values.
    bool
        Whether they are as accurate as the tolerance asks.
    """
    widths = _Widths.of(variance, unit)
    degree, smooth = _FEWEST, False
    nodes = widths.variance(_nodes(degree))
    values = exact(nodes, first(nodes))[0] / widths.size(nodes)
    most = min(_MOST, variance.size // (2 * len(values)))
    while not smooth and 2 * degree <= most:
        between = _nodes(2 * degree)[1::2]
        nodes = widths.variance(between)
        size = widths.size(nodes)
        start = np.asarray(chebval(between, _coefficients(values)), dtype=float)
        start = np.where(_near(start, values), size * start, first(nodes))
        new, off = exact(nodes, start)
        values = np.insert(values, range(1, degree + 1), new / size, axis=1)
        degree, smooth = 2 * degree, bool(off.max() <= tolerance)
    place, result = widths.place(variance), np.empty(variance.shape)
    for k, column in enumerate(_coefficients(values).T):
        rows = which == k
        result[rows] = chebval(place[rows], column)
    return result * widths.size(variance), smooth


def _near(between: Array, values: Array) -> NDArray[np.bool_]:
    """Return whether what is interpolated is close to the values on both sides of it."""
    left, right = values[:, :-1], values[:, 1:]
    gap = np.abs(right - left) + 1e-3 * np.maximum(np.abs(left), np.abs(right))
    return np.asarray(np.abs(between - 0.5 * (left + right)) <= _FAR * gap)


def _nodes(degree: int) -> Array:
    """Return Chebyshev's points with the ends."""
    return np.asarray(np.cos(np.pi * np.arange(degree + 1) / degree), dtype=float)


def _coefficients(values: Array) -> Array:
    """Return the coefficients, in columns, of the polynomials through values at the nodes."""
    coefficients = dct(values, type=1, axis=1) / (values.shape[1] - 1)
    coefficients[:, [0, -1]] *= 0.5
    return np.asarray(coefficients.T)
