"""The duality gap of a dual in multiple precision, from its definition."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.oracle.base import Loss, Number, mp


class Certificate(NamedTuple):
    """A gap and a primal, in nats, as numbers of 60 digits."""

    gap: Number
    primal: Number


def certify(
    losses: Sequence[Loss],
    K: Sequence[Sequence[float]],
    y: Sequence[float],
    a: Sequence[float],
    offset: float,
    m: Sequence[float],
    w: Sequence[float],
) -> Certificate:
    """Return ``sum w l(f) + w l*(-a / w) + a f`` at ``f = m + K a + b``, less ``b sum(a)``.

    There is one loss for each row. An end of the dual domain is a product ``w C``, which as a float
    may be beyond the exact one; such a dual counts as the end, except in K a.
    """
    rows = range(len(y))
    dual = [mp.mpf(number) for number in a]
    held = [i for i in rows if a[i] != 0]
    gap = primal = mp.mpf(0)
    for i in rows:
        pull = mp.fdot((K[i][j], dual[j]) for j in held)
        f = mp.mpf(m[i]) + pull + mp.mpf(offset)
        primal += dual[i] * pull / 2
        if w[i] > 0:
            row = _inside(losses[i], y[i], dual[i] / mp.mpf(w[i]))
            lost, conjugate = losses[i].value(y[i], f), losses[i].conjugate(y[i], row)
            gap += mp.mpf(w[i]) * (lost + conjugate + row * f) - dual[i] * mp.mpf(offset)
            primal += mp.mpf(w[i]) * lost
    return Certificate(gap, primal)


def _inside(loss: Loss, y: float, a: Number) -> Number:
    """Return the nearest dual inside the domain, whose ends are the last slopes of the loss."""
    sign = 1 if loss.task == "regression" else -y
    low, high = sorted(sign * loss.slope_at_infinity(side) for side in (-1, 1))
    return min(max(a, low), high)
