"""The exact line search: the zero of a derivative that never decreases."""

import math

__all__ = ["make_center", "make_line_search", "make_zero"]

_ACCEPT = 1e-3  # of the derivative at the start: what may be left of it at the step taken
_LONGEST = 2.0**80
_SLOW = 0.5  # of a bracket; what three trials leave of it at most, or the next one bisects
_SECANTS = 40  # trials, after which all bisect ...
_MAX_TRIALS = 100  # ... up to this one


def make_zero(derivative, function):
    """Return a function that finds ``t >= 0`` where ``derivative(t, *arguments)`` is nearly zero.

    Its first argument is the derivative at 0, which the caller knows. The zero is bracketed from
    t = 1 and found by the secants of Anderson and Björck (1973), with a bisection where the last
    three trials have not halved the bracket, and by bisection alone where it takes too long. The
    result is 0 if the derivative is not negative at 0, and inf if it is negative everywhere.
    """

    def share(new, old):
        """Return what is left of the derivative at one end, when the other moves once more."""
        left = 1.0 - new / old
        return left if left > 0.0 else 0.5

    share = function(share)

    def zero(at_low, *arguments):
        low = 0.0
        if not at_low < 0.0:
            return 0.0
        accept = -_ACCEPT * at_low
        high = 1.0
        at_high = derivative(high, *arguments)
        while at_high < -accept:
            low, at_low = high, at_high
            high = 2.0 * high
            if high > _LONGEST:
                return math.inf
            at_high = derivative(high, *arguments)
        if at_high <= accept:
            return high
        last, before = 0, high - low
        for trial in range(_MAX_TRIALS):
            width, slow = high - low, trial >= _SECANTS
            if trial % 3 == 2:
                slow, before = slow or width > _SLOW * before, width
            if math.isfinite(at_high) and not slow:
                t = low + width * (-at_low / (at_high - at_low))
                t = min(max(t, low + 1e-3 * width), high - 1e-3 * width)
            else:
                t = low + 0.5 * width
            at_t = derivative(t, *arguments)
            if abs(at_t) <= accept or not low < t < high:
                return t
            if at_t < 0.0:
                if last < 0:
                    at_high *= share(at_t, at_low)
                low, at_low, last = t, at_t, -1
            else:
                if last > 0:
                    at_low *= share(at_t, at_high)
                high, at_high, last = t, at_t, 1
        return low

    return function(zero)


def make_center(slope, curve, function):
    """Return ``(y, f, w, p) -> db``, the change of the offset that minimises the loss alone.

    It is infinite if the loss decreases for ever.
    """

    def total(t, y, f, w, p, step):
        """Return the derivative of the loss along the step."""
        along = (slope(y, f + t * step, w, p) * step).sum()
        return along if math.isfinite(along) else math.inf

    zero = make_zero(function(total), function)

    def center(y, f, w, p):
        pull = -slope(y, f, w, p).sum()
        if pull == 0.0:
            return 0.0
        step = pull / max(curve(y, f, w, p).sum(), abs(pull))
        return step * zero(-step * pull, y, f, w, p, step)

    return function(center)


def make_line_search(slope, center, function):
    """Return the line search of one loss.

    Parameters
    ----------
    slope : callable
        Derivative of the loss, ``(y, f, w, p) -> vector``.
    center : callable
        What `make_center` returns for the same loss.
    function : callable
        Decorator that compiles, or does nothing.
    """

    def along(t, y, f, a, w, p, df, da, db, offset):
        """Return the derivative of the primal along the step, or inf behind a wall.

        With an offset the primal is minimised over it at every t, which leaves a convex function.
        """
        latent = f + t * df
        if offset:
            latent = latent + center(y, latent, w, p)
        total = (slope(y, latent, w, p) * df).sum() + ((a + t * da) * (df - db)).sum()
        return total if math.isfinite(total) else math.inf

    return make_zero(function(along), function)
