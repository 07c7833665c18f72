"""Classification losses as functions of the margin ``x = y f`` (chapter 5 and appendix B)."""

from typing import Any

from tests.oracle.base import Loss, Number, Piece, mp

ZERO = mp.mpf(0)


def _zero(x: Number) -> Number:
    return ZERO


class Trigonometric(Loss):
    """Trigonometric loss with scale ``delta``, (5.7)-(5.11)."""

    task = "classification"

    def __init__(self, delta: Any) -> None:
        self.delta = d = mp.mpf(delta)

        # sec(pi/4 (1 - z)) = 1 / sin(pi/4 (1 + z)): the second form keeps its digits at the wall
        def value(x: Number) -> Number:
            return -2 * mp.log(mp.sin(mp.pi / 4 * (1 + x / d))) if x > -d else mp.inf

        def slope(x: Number) -> Number:
            return -mp.pi / (2 * d) * mp.cot(mp.pi / 4 * (1 + x / d)) if x > -d else -mp.inf

        def second(x: Number) -> Number:
            return mp.pi**2 / (8 * d**2) * mp.csc(mp.pi / 4 * (1 + x / d)) ** 2

        self.pieces = [Piece(-d, d, value, slope, second), Piece(d, mp.inf, _zero, _zero, _zero)]

    def probability(self, x: Number) -> Number:
        """(5.8) as printed."""
        z = mp.mpf(x) / self.delta
        if z <= -1:
            return mp.mpf(0)
        return mp.cos(mp.pi / 4 * (1 - z)) ** 2 if z < 1 else mp.mpf(1)


class Logistic(Loss):
    """``-log`` of (5.2)."""

    task = "classification"

    def __init__(self) -> None:
        self.pieces = [
            Piece(
                -mp.inf,
                mp.inf,
                lambda x: mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x)) - x,
                lambda x: -1 / (1 + mp.exp(x)),
                lambda x: mp.exp(-abs(x)) / (1 + mp.exp(-abs(x))) ** 2,
            )
        ]

    def probability(self, x: Number) -> Number:
        return 1 / (1 + mp.exp(-mp.mpf(x)))


class Probit(Loss):
    """``-log`` of (5.3) with ``sigma_0 = 1``."""

    task = "classification"

    def __init__(self) -> None:
        def cdf(x: Number) -> Number:  # 1/2 + erf(x / sqrt 2) / 2 without its cancellation
            return mp.erfc(-x / mp.sqrt(2)) / 2

        def value(x: Number) -> Number:
            return -mp.log(cdf(x)) if x < 0 else -mp.log1p(-cdf(-x))

        def slope(x: Number) -> Number:
            if mp.isinf(x):
                return ZERO if x > 0 else -mp.inf
            return -mp.npdf(x) / cdf(x)

        def second(x: Number) -> Number:
            h = -slope(x)
            return h * (h + x)

        self.pieces = [Piece(-mp.inf, mp.inf, value, slope, second)]

    def probability(self, x: Number) -> Number:
        return mp.erfc(-mp.mpf(x) / mp.sqrt(2)) / 2


class SoftMarginL1(Loss):
    """``C`` times (B.3) with ``rho = 1``."""

    task = "classification"

    def __init__(self, C: Any) -> None:
        self.C = C = mp.mpf(C)
        one = mp.mpf(1)
        self.pieces = [
            Piece(-mp.inf, one, lambda x: C * (1 - x), lambda x: -C, _zero),
            Piece(one, mp.inf, _zero, _zero, _zero),
        ]


class SoftMarginL2(Loss):
    """``C`` times (B.3) with ``rho = 2``."""

    task = "classification"

    def __init__(self, C: Any) -> None:
        self.C = C = mp.mpf(C)
        one = mp.mpf(1)
        self.pieces = [
            Piece(
                -mp.inf, one, lambda x: C * (1 - x) ** 2 / 2, lambda x: -C * (1 - x), lambda x: C
            ),
            Piece(one, mp.inf, _zero, _zero, _zero),
        ]


class SoftMarginLe(Loss):
    """``C`` times (B.4)."""

    task = "classification"

    def __init__(self, C: Any, epsilon: Any) -> None:
        self.C, self.epsilon = mp.mpf(C), mp.mpf(epsilon)
        C, e, one = self.C, self.epsilon, mp.mpf(1)
        self.pieces = [
            Piece(-mp.inf, 1 - 2 * e, lambda x: C * ((1 - x) - e), lambda x: -C, _zero),
            Piece(
                1 - 2 * e,
                one,
                lambda x: C * (1 - x) ** 2 / (4 * e),
                lambda x: -C * (1 - x) / (2 * e),
                lambda x: C / (2 * e),
            ),
            Piece(one, mp.inf, _zero, _zero, _zero),
        ]
