"""The certificate of a dual: its duality gap, and what rounding leaves open about it.

The gap of a dual ``a`` with the offset b is a sum over the rows of

    G_i(f_i) = w l(f_i) + w l*(-a_i / w) + a_i f_i >= 0    at    f = m + K a + b,

less ``b sum(a)``. The computed f differs from the exact one by at most ``error``, and G_i is
convex, so that G_i at the exact f is larger by at most ``error |G_i'|`` with the steeper of the
derivatives ``w l' + a`` at ``f +- error``. The sum of that, and the rounding of the terms of the
gap themselves, are the certificate's rounding.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm.covariance import exact, interpreted
from pymc_bsvm.losses import numpy_language

__all__ = ["BALANCED", "Certificate", "certified", "make_certify", "no_certificate"]

_EPS = 2.0**-52
_EVALUATION = 4.0 * _EPS  # relative; the rounding of each term of the gap
BALANCED = 1e-11  # relative; what a dual may sum to when there is an offset, and ...
_NOTHING = 1e-20  # ... what counts as zero in any case
_NEGATIVE = 1e-10  # relative to its terms; how far a'Ka may be below zero by rounding


class Certificate(NamedTuple):
    """A dual inside its domain, its latent values, and what is known of its gap."""

    a: Any
    f: Any
    """``m + K a + b``, computed from a."""
    b: float
    gap: float
    """In nats; inf where the dual has no gap."""
    rounding: float
    """Bound of what rounding may hide of the gap, in nats."""
    primal: float
    definite: bool
    """Whether a'Ka is not negative, beyond rounding."""


def certified(certificate: Any, tol: float) -> bool:
    """Return whether the gap is below the tolerance, whatever rounding hides."""
    gap: float = certificate.gap + certificate.rounding
    allowed: float = tol * (1.0 + abs(certificate.primal))
    return gap <= allowed and gap < math.inf


def no_certificate(a, f, b):
    """Return what is known of a dual that was not looked at."""
    return Certificate(a, f, b, math.inf, math.inf, math.inf, True)


def make_certify(weighted, covariance, center, function):
    """Return the function that certifies duals of one loss and one kind of covariance.

    Parameters
    ----------
    weighted : Weighted
        The loss as functions of vectors.
    covariance : Covariance
        What reads K.
    center : callable or None
        What `pymc_bsvm.solvers.line_search.make_center` returns for the same loss; None where the
        offset is to stay as it is.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, slope, pairing = weighted.loss, weighted.slope, weighted.pairing
    of_residual = weighted.of_residual
    diagonal, depth = covariance.diagonal, function(covariance.depth)
    add_product_exactly = covariance.add_product_exactly
    sums = interpreted if function is numpy_language.function else exact
    exact_sum, two_sum = sums.exact_sum, sums.two_sum
    if center is None:
        center = function(lambda y, f, w, p: 0.0)

    def bound(y, w, p, a, f, values, error):
        """Return what rounding may hide of the gap, if f is known up to ``error``."""
        residual = np.abs(y - f) if of_residual else 0.0 * f
        error = error + _EPS * residual
        shift = np.maximum(error, _EPS * (np.abs(y) + np.abs(f)))  # f moves, and so does y - f
        steepest = np.maximum(
            np.abs(slope(y, f - shift, w, p) + a), np.abs(slope(y, f + shift, w, p) + a)
        )
        arm = residual if of_residual else 1.0 + np.abs(f)
        hidden = np.where(error > 0.0, error * steepest, 0.0).sum()
        hidden += _EVALUATION * (np.abs(values) + np.abs(a) * arm).sum()
        return hidden if hidden < math.inf else math.inf  # nan is no bound

    bound = function(bound)

    def measure(y, w, p, m, a, f, b, error, inner):
        """Return the gap, its rounding and the primal."""
        values = loss(y, f, w, p)
        gaps, excess = values + pairing(y, f, a, w, p), b * exact_sum(a)
        gap, rounding = gaps.sum() - excess, 0.0
        primal = values.sum() + 0.5 * (a * (f - m - b)).sum()
        if not math.isfinite(gap):
            return math.inf, math.inf, primal
        if not inner:
            rounding = bound(y, w, p, a, f, values, error)
            rounding += _EVALUATION * abs(excess) + _EPS * y.shape[0] * gaps.sum()
        return gap, rounding, primal

    measure = function(measure)

    def certify(K, y, w, p, m, a, f, b, offset, tol, inner):
        """Return the certificate of the dual ``a`` with ``f = m + K a + b``, the best b near by.

        Where rounding decides whether the gap is below the tolerance, ``K a`` is computed anew in
        twice the working precision. An inner problem of a solver does not care for rounding.
        """
        if offset and math.isfinite(loss(y, f, w, p).sum()):
            db = center(y, f, w, p)
            if math.isfinite(db):
                b, f = b + db, f + db
        spread, size = np.sqrt(np.maximum(diagonal(K), 0.0)), np.abs(a)
        reach = np.abs(m) + abs(b) + spread * (spread * size).sum()  # |K_ij|² <= K_ii K_jj
        rows = np.flatnonzero(a)
        plainly, exactly = depth(K, rows.shape[0])
        error = _EPS * plainly * reach
        gap, rounding, primal = measure(y, w, p, m, a, f, b, error, inner)
        allowed = tol * (1.0 + abs(primal))
        if not inner and gap - rounding <= allowed < gap + rounding:
            high, low = two_sum(m, np.full(m.shape[0], b))
            add_product_exactly(K, rows, a, high, low)
            rounded, lost = two_sum(high, low)
            if np.isfinite(lost).all():
                f = rounded
                error = np.abs(lost) + (_EPS * exactly) ** 2 * reach
                gap, rounding, primal = measure(y, w, p, m, a, f, b, error, inner)
        if offset and abs(a.sum()) > BALANCED * size.sum() + _NOTHING:
            gap, rounding = math.inf, math.inf
        least = -_NEGATIVE * size.sum() * (np.square(spread).max() * size.sum() + np.abs(f).max())
        return Certificate(a, f, b, gap, rounding, primal, (a * (f - m - b)).sum() >= least)

    return function(certify)
