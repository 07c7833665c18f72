"""Predictive distributions from their definitions, by quadrature in multiple precision.

Nothing here imports the library. A Gaussian latent value is integrated against the density of the
noise, its distribution function or the probability of a label, all of them those of the oracle of
the losses. The integrand is exp(-energy) with a convex energy: the panels end at the knots of the
loss and wherever the energy has risen by another few nats, so that Gauss-Legendre is exact to about
25 digits on each.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from mpmath.calculus.quadrature import GaussLegendre

from tests.oracle.base import Loss, Number, mp

DIGITS = 45  # the largest exponents take 15 of them
NODES = GaussLegendre(mp).calc_nodes(4, mp.prec)  # 24 of them
RISE, DEPTH = 4, 76  # nats: from panel to panel, and where the integrand is cut


def log_density(loss: Loss, d: Any, variance: Any) -> Number:
    """Log density of noise plus ``N(0, variance)`` at ``d``."""
    d, v = mp.mpf(d), mp.mpf(variance)
    if v == 0:
        return -loss.profile(d) - mp.log(loss.normaliser())
    log_mass = log_integral(
        lambda r: loss.profile(r) + (r - d) ** 2 / (2 * v),
        [*loss.knots(), d],
        [*loss.scales(), mp.sqrt(v)],
    )
    return log_mass - mp.log(2 * mp.pi * v) / 2 - mp.log(loss.normaliser())


def log_above(loss: Loss, d: Any, variance: Any) -> Number:
    """Log probability that noise plus ``N(0, variance)`` exceeds ``d``."""
    d, s = mp.mpf(d), mp.sqrt(mp.mpf(variance))
    if s == 0:
        return mp.log(loss.tail(d)) if d >= 0 else mp.log1p(-loss.tail(-d))
    log_mass = log_integral(
        lambda r: loss.profile(r) - mp.log(mp.erfc((d - r) / (s * mp.sqrt(2))) / 2),
        [*loss.knots(), *(d + s * k for k in (-12, -8, -5, -3, -1.5, 0, 1.5, 3, 5, 8, 12))],
        [*loss.scales(), s],
    )
    return log_mass - mp.log(loss.normaliser())


def log_probability(loss: Any, margin: Any, variance: Any) -> Number:
    """Log of the average of ``p(+1 | f)`` over ``f ~ N(margin, variance)``."""
    m, v = mp.mpf(margin), mp.mpf(variance)
    if v == 0:
        return -loss.profile(m)
    turns = [k for j in range(-3, 8) for k in (-(mp.mpf(2) ** j), mp.mpf(2) ** j)]
    log_mass = log_integral(
        lambda f: loss.profile(f) + (f - m) ** 2 / (2 * v),
        [*loss.knots(), m, 0, *turns],
        [mp.sqrt(v), 1],
    )
    return log_mass - mp.log(2 * mp.pi * v) / 2


def log_integral(
    energy: Callable[[Number], Number], knots: Iterable[Number], scales: Iterable[Number]
) -> Number:
    """Log of the integral of ``exp(-energy)`` over the line; the energy is convex."""
    with mp.workdps(DIGITS):
        return _log_integral(energy, knots, scales)


def _log_integral(
    energy: Callable[[Number], Number], knots: Iterable[Number], scales: Iterable[Number]
) -> Number:
    least, rule = _rule(energy, knots, scales)
    return mp.log(sum(w for _, w in rule)) - least


def tilted(loss: Loss, centre: Any, variance: Any) -> tuple[Number, Number, Number]:
    """Log of the integral of ``exp(-l(u))`` over ``N(centre, variance)``; mean and variance of u.

    Without the normaliser of the loss, of the residual or margin u.
    """
    with mp.workdps(DIGITS):
        c, v = mp.mpf(centre), mp.mpf(variance)
        turns = [k for j in range(-3, 8) for k in (-(mp.mpf(2) ** j), mp.mpf(2) ** j)]
        smooth = not loss.knots()
        least, rule = _rule(
            lambda u: loss.profile(u) + (u - c) ** 2 / (2 * v),
            [*loss.knots(), c, *(turns if smooth else [])],
            [mp.sqrt(v), *([1] if loss.task == "classification" else loss.scales())],
        )
        mass = sum(w for _, w in rule)
        mean = sum(w * (u - c) for u, w in rule) / mass
        spread = sum(w * (u - c - mean) ** 2 for u, w in rule) / mass
        return mp.log(mass) - least - mp.log(2 * mp.pi * v) / 2, mean, spread


def _rule(
    energy: Callable[[Number], Number], knots: Iterable[Number], scales: Iterable[Number]
) -> tuple[Number, list[tuple[Number, Number]]]:
    """Return the least energy, and points with weights that contain ``exp(least - energy)``."""
    knots, scales = [mp.mpf(k) for k in knots], [mp.mpf(s) for s in scales]
    top = _lowest(energy, min(knots) - max(scales), max(knots) + max(scales))
    least = energy(top)
    cuts = {top}
    for side in (-1, 1):
        rises = range(RISE, DEPTH + RISE, RISE)
        cuts.update(_levels(energy, top, least, side, rises, min(scales)))
    start, stop = min(cuts), max(cuts)
    cuts.update(k for k in knots if start < k < stop)
    ends = sorted(cuts)
    rule = []
    for a, b in pairwise(ends):
        half, middle = (b - a) / 2, (a + b) / 2
        points = ((middle + half * x, half * w) for x, w in NODES)
        rule += [(u, w * mp.exp(least - energy(u))) for u, w in points]
    return least, rule


def _lowest(energy: Callable[[Number], Number], left: Number, right: Number) -> Number:
    """Minimum by golden section; past half of the digits the energy is flat."""
    ratio = (mp.sqrt(5) - 1) / 2
    width = right - left
    while energy(left - width) < energy(left):
        left, width = left - width, 2 * width
    left, width = left - width, right - left
    while energy(right + width) < energy(right):
        right, width = right + width, 2 * width
    right += width
    a, b = right - ratio * (right - left), left + ratio * (right - left)
    at_a, at_b = energy(a), energy(b)
    for _ in range(110):
        # behind a wall on the left both values are infinite, and the minimum is to the right
        if at_a < at_b:
            right, b, at_b = b, a, at_a
            a = right - ratio * (right - left)
            at_a = energy(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + ratio * (right - left)
            at_b = energy(b)
    return (left + right) / 2


def _levels(
    energy: Callable[[Number], Number],
    top: Number,
    least: Number,
    side: int,
    rises: Iterable[int],
    step: Number,
) -> list[Number]:
    """Points on one side at which the energy has risen by each of the ``rises``."""
    points, inner = [], mp.mpf(0)
    for rise in rises:
        outer = max(2 * inner, step)
        while energy(top + side * outer) - least < rise:
            outer *= 2
        left, right = inner, outer
        for _ in range(100):  # a wall may lie between two levels
            if energy(top + side * right) - least < rise + 1:
                break
            middle = (left + right) / 2
            if energy(top + side * middle) - least < rise:
                left = middle
            else:
                right = middle
        inner = right
        points.append(top + side * right)
    return points
