"""Convex functions of one variable, given as a list of smooth pieces.

A regression loss is a function of the residual ``x = y - f``, a classification loss is a function
of the margin ``x = y f``. `Loss` holds that function and translates to ``(y, f)``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np

mp = mpmath.mp.clone()  # a context of our own: the precision of the global one stays as it is
mp.dps = 60

Number = Any  # an mpf of the context above, or anything that it converts exactly


class Piece(NamedTuple):
    """One smooth piece ``[left, right]`` with its value, slope and second derivative."""

    left: Number
    right: Number
    value: Callable[[Number], Number]
    slope: Callable[[Number], Number]
    second: Callable[[Number], Number]


def vectorised(function: Callable[..., Number]) -> Callable[..., np.ndarray]:
    """Lift a function of multiple-precision scalars to arrays of floats."""
    return np.vectorize(lambda *xs: float(function(*xs)), otypes=[float])


class Loss:
    """A convex loss made of pieces; ``+inf`` to the left of the first one."""

    task = "regression"
    pieces: list[Piece]

    # ---- the function of one variable -------------------------------------------------------

    def knots(self) -> list[Number]:
        """Inner end points of the pieces, and the wall if there is one."""
        ends = [p.left for p in self.pieces] + [p.right for p in self.pieces]
        return sorted({e for e in ends if mp.isfinite(e)})

    def _touching(self, x: Number) -> list[Piece]:
        return [p for p in self.pieces if p.left <= x <= p.right]

    def _behind_the_wall(self, x: Number) -> bool:
        wall = self.pieces[0].left
        return bool(mp.isfinite(wall) and x <= wall)

    def profile(self, x: Number) -> Number:
        """Return the loss at residual or margin ``x``."""
        x = mp.mpf(x)
        if self._behind_the_wall(x):
            return mp.inf
        return self._touching(x)[0].value(x)

    def slope(self, x: Number) -> Number:
        """Return the derivative; at a kink the subgradient nearest to zero: the flat side."""
        x = mp.mpf(x)
        if self._behind_the_wall(x):
            return -mp.inf
        slopes = [p.slope(x) for p in self._touching(x)]
        if min(slopes) <= 0 <= max(slopes):
            return mp.mpf(0)
        return min(slopes, key=abs)

    def seconds(self, x: Number, slack: Number = 0) -> list[Number]:
        """Second derivatives of every piece within ``slack`` of ``x``: two of them at a knot."""
        x = mp.mpf(x)
        if self._behind_the_wall(x):
            return [mp.inf]
        near = [p for p in self.pieces if p.left - slack <= x <= p.right + slack]
        return [p.second(x) for p in near]

    def legendre(self, s: Number) -> Number:
        """``sup_x (s x - l(x))``, found by bisection for the zero of the monotone slope."""
        s = mp.mpf(s)
        best = -mp.inf
        for p in self.pieces:
            left, right = p.left, p.right
            step = mp.mpf(1)
            if not mp.isfinite(right):  # walk to the right until the objective falls
                if s > self.slope_at_infinity(+1):
                    return mp.inf
                right = left + step if mp.isfinite(left) else step
                while s - p.slope(right) > 0 and step < mp.mpf(2) ** 60:
                    step *= 2
                    right += step
            if not mp.isfinite(left):
                step = mp.mpf(1)
                if s < self.slope_at_infinity(-1):
                    return mp.inf
                left = right - step
                while s - p.slope(left) < 0 and step < mp.mpf(2) ** 60:
                    step *= 2
                    left -= step
            best = max(best, self._maximise(p, s, left, right))
        return best

    def _maximise(self, p: Piece, s: Number, left: Number, right: Number) -> Number:
        wall = not mp.isfinite(p.value(left))
        if not wall and s - p.slope(left) <= 0:
            return s * left - p.value(left)
        if s - p.slope(right) >= 0:
            return s * right - p.value(right)
        for _ in range(130):  # the objective is flat at its top: its error is the square of this
            middle = (left + right) / 2
            if s - p.slope(middle) > 0:
                left = middle
            else:
                right = middle
        x = (left + right) / 2
        return s * x - p.value(x)

    def slope_at_infinity(self, side: int) -> Number:
        """Limit of the slope at ``side * inf``."""
        piece = self.pieces[-1] if side > 0 else self.pieces[0]
        return piece.slope(side * mp.inf)

    # ---- the same in terms of (y, f) --------------------------------------------------------

    def argument(self, y: Number, f: Number) -> Number:
        """Residual or margin, without rounding."""
        y, f = mp.mpf(y), mp.mpf(f)
        return y - f if self.task == "regression" else y * f

    def value(self, y: Number, f: Number) -> Number:
        return self.profile(self.argument(y, f))

    def derivative(self, y: Number, f: Number) -> Number:
        inner = mp.mpf(-1) if self.task == "regression" else mp.mpf(y)
        return inner * self.slope(self.argument(y, f))

    def conjugate(self, y: Number, a: Number) -> Number:
        """``sup_f (-a f - l(y, f))``."""
        y, a = mp.mpf(y), mp.mpf(a)
        if self.task == "regression":  # f = y - r
            top = self.legendre(a)
            return top if not mp.isfinite(top) else top - a * y
        return self.legendre(-y * a)  # f = y m

    # ---- the density exp(-l) / Z of a regression loss ---------------------------------------

    def scales(self) -> list[Number]:
        """Length scales of ``exp(-l)`` to the right of each non-negative knot (quadrature only)."""
        raise NotImplementedError

    def _cuts(self, start: Number, stop: Number) -> list[Number]:
        """Panels for a quadrature of ``exp(-l)`` on ``[start, stop]``, ``start >= 0``."""
        cuts = {mp.mpf(start), mp.mpf(stop)}
        for knot in [mp.mpf(0), *[k for k in self.knots() if k >= 0]]:
            cuts.add(knot)
            for scale in self.scales():
                cuts.update(knot + scale * m for m in (0.5, 1, 2, 4, 8, 16, 32, 64, 160))
        cuts.update(mp.mpf(start) + scale * m for scale in self.scales() for m in (1, 4, 16, 64))
        last = max(c for c in cuts if mp.isfinite(c))
        stop = min(mp.mpf(stop), last)
        return sorted(c for c in cuts if start <= c <= stop)

    def integral(self, start: Number, stop: Number, power: int = 0) -> Number:
        """Integral of ``r**power exp(-l(r))`` on ``[start, stop]`` with ``0 <= start``."""
        cuts = self._cuts(start, stop)
        if len(cuts) < 2:
            return mp.mpf(0)
        return mp.quad(lambda r: r**power * mp.exp(-self.profile(r)), cuts, method="gauss-legendre")

    def normaliser_by_quadrature(self) -> Number:
        return 2 * self.integral(0, mp.inf)

    def variance_by_quadrature(self) -> Number:
        return self.integral(0, mp.inf, 2) / self.integral(0, mp.inf)

    def cdf_by_quadrature(self, r: Number) -> Number:
        """Distribution function, summed from its own tail: no cancellation below the median."""
        r = mp.mpf(r)
        tail = self.integral(abs(r), mp.inf) / self.normaliser_by_quadrature()
        return tail if r <= 0 else 1 - tail

    def tail(self, r: Number) -> Number:
        """``P(R > r)`` for ``r >= 0``, accurate relative to itself."""
        raise NotImplementedError

    def cdf(self, r: Number) -> Number:
        r = mp.mpf(r)
        return self.tail(-r) if r <= 0 else 1 - self.tail(r)

    def log_cdf(self, r: Number) -> Number:
        r = mp.mpf(r)
        return mp.log(self.tail(-r)) if r <= 0 else mp.log1p(-self.tail(r))

    def density(self, r: Number) -> Number:
        return mp.exp(-self.profile(r)) / self.normaliser()

    def normaliser(self) -> Number:
        raise NotImplementedError

    def quantile(self, u: Number) -> Number:
        """Root of ``cdf(r) = u`` by bisection on the smaller tail."""
        u = mp.mpf(u)
        if u == mp.mpf(1) / 2:
            return mp.mpf(0)
        p = min(u, 1 - u)
        left, right = mp.mpf(0), max(self.scales())
        while self.tail(right) > p:
            right *= 2
        for _ in range(110):
            middle = (left + right) / 2
            if self.tail(middle) > p:
                left = middle
            else:
                right = middle
        r = (left + right) / 2
        return -r if u < mp.mpf(1) / 2 else r
