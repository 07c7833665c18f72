"""Regression losses and the densities ``exp(-l) / Z`` (chapter 2 and appendix F)."""

from typing import Any

from tests.oracle.base import Loss, Number, Piece, mp


class SILF(Loss):
    """Soft insensitive loss function times ``C``, (2.28)-(2.30)."""

    def __init__(self, C: Any, epsilon: Any, beta: Any) -> None:
        self.C, self.epsilon, self.beta = mp.mpf(C), mp.mpf(epsilon), mp.mpf(beta)
        C, e, b = self.C, self.epsilon, self.beta
        self.lo, self.hi = (1 - b) * e, (1 + b) * e
        lo, hi = self.lo, self.hi
        zero = mp.mpf(0)
        self.pieces = [
            Piece(-mp.inf, -hi, lambda d: C * (-d - e), lambda d: -C, lambda d: zero),
            Piece(
                -hi,
                -lo,
                lambda d: C * (d + lo) ** 2 / (4 * b * e),
                lambda d: C * (d + lo) / (2 * b * e),
                lambda d: C / (2 * b * e),
            ),
            Piece(-lo, lo, lambda d: zero, lambda d: zero, lambda d: zero),
            Piece(
                lo,
                hi,
                lambda d: C * (d - lo) ** 2 / (4 * b * e),
                lambda d: C * (d - lo) / (2 * b * e),
                lambda d: C / (2 * b * e),
            ),
            Piece(hi, mp.inf, lambda d: C * (d - e), lambda d: C, lambda d: zero),
        ]
        if lo == 0:  # Huber: the flat zone is a point, where the curvature is that of the band
            del self.pieces[2]

    def scales(self) -> list[Number]:
        return [mp.sqrt(2 * self.beta * self.epsilon / self.C), 1 / self.C]

    def normaliser(self) -> Number:
        """(2.32)."""
        C, e, b = self.C, self.epsilon, self.beta
        return (
            2 * (1 - b) * e
            + 2 * mp.sqrt(mp.pi * b * e / C) * mp.erf(mp.sqrt(C * b * e))
            + 2 / C * mp.exp(-C * b * e)
        )

    def variance(self) -> Number:
        """(2.33)."""
        C, e, b = self.C, self.epsilon, self.beta
        return (
            2
            / self.normaliser()
            * (
                ((1 - b) * e) ** 3 / 3
                + mp.sqrt(mp.pi * b * e / C)
                * (2 * b * e / C + ((1 - b) * e) ** 2)
                * mp.erf(mp.sqrt(C * b * e))
                + 4 * (1 - b) * b * e**2 / C
                + (((1 - b) * e) ** 2 / C + 2 * e * (1 + b) / C**2 + 2 / C**3) * mp.exp(-C * b * e)
            )
        )

    def cdf_of_appendix_f(self, d: Number) -> Number:
        """(F.1) as printed; it cancels below the median, see `tail` for the same without."""
        C, e, b = self.C, self.epsilon, self.beta
        d, lo, hi, Z, half = mp.mpf(d), self.lo, self.hi, self.normaliser(), mp.mpf(1) / 2
        width, rate = mp.sqrt(mp.pi * b * e / C), mp.sqrt(C / (4 * b * e))
        if d < -hi:
            return mp.exp(C * (d + e)) / (C * Z)
        if d <= -lo:
            return half - (lo - width * mp.erf(rate * (d + lo))) / Z
        if d < lo:
            return half + d / Z
        if d <= hi:
            return half + (lo + width * mp.erf(rate * (d - lo))) / Z
        return 1 - mp.exp(-C * (d - e)) / (C * Z)

    def tail(self, r: Number) -> Number:
        """Upper tail as a sum of the positive areas to the right of ``r``."""
        C, e, b = self.C, self.epsilon, self.beta
        r, rate = mp.mpf(r), mp.sqrt(C / (4 * b * e))
        if r >= self.hi:
            return mp.exp(-C * (r - e)) / (C * self.normaliser())
        area = mp.exp(-C * b * e) / C
        start = rate * (max(r, self.lo) - self.lo)
        area += mp.sqrt(mp.pi * b * e / C) * (mp.erfc(start) - mp.erfc(mp.sqrt(C * b * e)))
        area += max(self.lo - r, 0)
        return area / self.normaliser()

    def mixing_density(self, t: Number) -> Number:
        """Density of the mean in the scale mixture: (2.48), normalised to integrate to one.

        The second derivative of ``exp(-C l)`` is taken numerically, on the piece that holds ``t``.
        """
        t, C = mp.mpf(t), self.C
        if abs(t) > self.hi:
            return mp.mpf(0)
        piece = next(p for p in self.pieces if p.left <= t <= p.right)
        with mp.extradps(40):
            h = min(mp.mpf(1), *self.scales()) * mp.mpf(10) ** -25
            g = [mp.exp(-piece.value(t + k * h)) for k in (-1, 0, 1)]
            second = (g[0] - 2 * g[1] + g[2]) / h**2
        lam = (C**2 * g[1] - second) / (2 * C)
        return lam * 2 / (C * self.normaliser())


class Huber(SILF):
    """SILF with ``beta = 1``."""

    def __init__(self, C: Any, epsilon: Any) -> None:
        super().__init__(C, epsilon, 1)


class EpsilonInsensitive(Loss):
    """``C max(|r| - epsilon, 0)``: Vapnik's loss, the limit ``beta -> 0``."""

    def __init__(self, C: Any, epsilon: Any) -> None:
        self.C, self.epsilon = mp.mpf(C), mp.mpf(epsilon)
        C, e, zero = self.C, self.epsilon, mp.mpf(0)
        self.pieces = [
            Piece(-mp.inf, -e, lambda d: C * (-d - e), lambda d: -C, lambda d: zero),
            Piece(-e, e, lambda d: zero, lambda d: zero, lambda d: zero),
            Piece(e, mp.inf, lambda d: C * (d - e), lambda d: C, lambda d: zero),
        ]

    def scales(self) -> list[Number]:
        return [1 / self.C]

    def normaliser(self) -> Number:
        return 2 * self.epsilon + 2 / self.C

    def variance(self) -> Number:
        """Gao et al. (2002), (29)."""
        C, e = self.C, self.epsilon
        return 2 / C**2 + e**2 * (e * C + 3) / (3 * (e * C + 1))

    def tail(self, r: Number) -> Number:
        r = mp.mpf(r)
        outside = mp.exp(-self.C * max(r - self.epsilon, 0)) / self.C
        return (outside + max(self.epsilon - r, 0)) / self.normaliser()


class Laplace(Loss):
    """``C |r|``, (2.24)."""

    def __init__(self, C: Any) -> None:
        self.C = C = mp.mpf(C)
        zero = mp.mpf(0)
        self.pieces = [
            Piece(-mp.inf, zero, lambda d: -C * d, lambda d: -C, lambda d: zero),
            Piece(zero, mp.inf, lambda d: C * d, lambda d: C, lambda d: zero),
        ]

    def scales(self) -> list[Number]:
        return [1 / self.C]

    def normaliser(self) -> Number:
        return 2 / self.C

    def variance(self) -> Number:
        return 2 / self.C**2

    def tail(self, r: Number) -> Number:
        return mp.exp(-self.C * mp.mpf(r)) / 2


class Gaussian(Loss):
    """``r^2 / (2 sigma^2)``."""

    def __init__(self, sigma: Any) -> None:
        self.sigma = s = mp.mpf(sigma)
        self.pieces = [
            Piece(
                -mp.inf,
                mp.inf,
                lambda d: d**2 / (2 * s**2),
                lambda d: d / s**2,
                lambda d: 1 / s**2,
            )
        ]

    def scales(self) -> list[Number]:
        return [self.sigma]

    def normaliser(self) -> Number:
        return self.sigma * mp.sqrt(2 * mp.pi)

    def variance(self) -> Number:
        return self.sigma**2

    def tail(self, r: Number) -> Number:
        return mp.erfc(mp.mpf(r) / (self.sigma * mp.sqrt(2))) / 2
