"""References for the distributions, from the definitions in [Chu03]_ and from quadrature.

Nothing here imports the library. Closed forms (the normaliser (2.32), the distribution function
(F.1)) are avoided on purpose: a density is a loss and its knots, and the rest is integrated.
"""

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq


def silf_loss(r: float, C: float, epsilon: float, beta: float) -> float:
    """(2.28) times C."""
    lo, hi, d = (1 - beta) * epsilon, (1 + beta) * epsilon, abs(r)
    if d <= lo:
        return 0.0
    return C * (d - lo) ** 2 / (4 * beta * epsilon) if d < hi else C * (d - epsilon)


def insensitive_loss(r: float, C: float, epsilon: float) -> float:
    """(2.27) times C."""
    return C * max(abs(r) - epsilon, 0.0)


class Noise:
    """The density proportional to ``exp(-loss(r))``, symmetric, with exponential tails."""

    def __init__(self, loss: Callable[[float], float], knots: list[float], rate: float) -> None:
        self.loss, self.rate = loss, rate
        self.knots = sorted({-k for k in knots} | set(knots))
        self.log_z = float(np.log(self._mass_below(np.inf, 0.0)))

    def _mass_below(self, r: float, level: float) -> float:
        """Integral of ``exp(level - loss)`` up to ``r``, piece by piece."""
        ends = [k for k in self.knots if k < r]
        first = min(self.knots[0], r)
        last = r if np.isfinite(r) else self.knots[-1] + 60 / self.rate
        ends = [first - 60 / self.rate, first, *(k for k in ends if k > first), last]

        def weight(s: float) -> float:
            return math.exp(level - self.loss(s))

        pieces = (
            quad(weight, a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
            for a, b in itertools.pairwise(ends)
            if b > a
        )
        return sum(pieces)

    def logpdf(self, r: float) -> float:
        return -self.loss(r) - self.log_z

    def logcdf(self, r: float) -> float:
        """With full relative precision below the median, where the integral has no constant."""
        if r > 0:
            return float(np.log1p(-np.exp(self.logcdf(-r))))
        level = self.loss(r)
        return float(np.log(self._mass_below(r, level))) - level - self.log_z

    def quantile(self, u: float) -> float:
        if u == 0.5:
            return 0.0
        if u in (0.0, 1.0):
            return np.inf * (2 * u - 1)
        share = min(u, 1 - u)
        span = self.knots[-1] + 1 / self.rate
        while self.logcdf(-span) > np.log(share):
            span *= 2
        root = brentq(lambda r: self.logcdf(r) - np.log(share), -span, 0.0, xtol=1e-13, rtol=1e-13)
        return -root if u > 0.5 else root

    def moment(self, power: int) -> float:
        """Raw moment of even order."""
        ends = [self.knots[0] - 90 / self.rate, *self.knots, self.knots[-1] + 90 / self.rate]
        return sum(
            quad(lambda s: s**power * math.exp(self.logpdf(s)), a, b, epsrel=1e-11, limit=200)[0]
            for a, b in itertools.pairwise(ends)
            if b > a
        )


@functools.cache
def silf(C: float, epsilon: float, beta: float) -> Noise:
    knots = [(1 - beta) * epsilon, epsilon, (1 + beta) * epsilon]
    return Noise(lambda r: silf_loss(r, C, epsilon, beta), knots, C)


@functools.cache
def insensitive(C: float, epsilon: float) -> Noise:
    return Noise(lambda r: insensitive_loss(r, C, epsilon), [epsilon], C)


def trigonometric(label: int, f: float, delta: float = 1.0, flip: float = 0.0) -> float:
    """Probability of a label in {0, 1}: (5.8), with a share of the labels flipped."""
    z = (2 * label - 1) * f / delta
    if z <= -1:
        clean = 0.0
    else:
        clean = np.cos(np.pi / 4 * (1 - z)) ** 2 if z < 1 else 1.0
    return float((1 - flip) * clean + flip * (1 - clean))


def trigonometric_log(label: int, f: float, delta: float = 1.0, flip: float = 0.0) -> float:
    p = trigonometric(label, f, delta, flip)
    return float(np.log(p)) if p > 0 else -np.inf
