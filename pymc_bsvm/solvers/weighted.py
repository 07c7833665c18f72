"""A loss of weighted observations as functions of whole vectors, interpreted or compiled.

The weight w of a row multiplies its loss, so that an integer weight stands for repeated rows. The
dual of a row is then w times that of the loss.

Each row may have parameters of its own: ``p`` is what `Loss.by_row` returns, of shape (k, n). The
interpreted functions take any sequence of k scalars and vectors, such as `Loss.parameters`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm.losses import Loss, formulas, numba_language, numpy_language

__all__ = [
    "Envelope",
    "Weighted",
    "compiled",
    "compiled_envelope",
    "compiled_kinks",
    "interpreted",
    "interpreted_envelope",
    "interpreted_kinks",
    "row_of",
]


class Weighted(NamedTuple):
    """Functions of vectors ``(y, x, w, p)``; `pairing` takes ``(y, f, a, w, p)``."""

    loss: Callable[..., Any]
    slope: Callable[..., Any]
    """The derivative of the loss with respect to f."""
    curve: Callable[..., Any]
    """The second derivative of the loss with respect to f."""
    conjugate: Callable[..., Any]
    """The conjugate at -a, for a inside its domain."""
    project: Callable[..., Any]
    """The nearest dual vector inside the dual domain."""
    pairing: Callable[..., Any]
    """The conjugate at -a, plus ``a f``: with the loss, the Fenchel-Young gap of each row."""
    of_residual: bool
    """Whether the loss is one of ``y - f``."""


class Envelope(NamedTuple):
    """The Moreau envelope of a loss, row by row."""

    parameters: Callable[..., Any]
    """``(h, p)``: the parameters of the envelopes."""
    stiffness: Callable[..., Any]
    """``p``: the largest curvature of all rows."""


def _state(loss_type: type[Loss], xp: Any, counted: bool) -> tuple[Callable[..., Any], ...]:
    """State the functions of `Weighted` for scalars, or for arrays, in an array language.

    Unless rows are counted, each counts once.
    """
    value, derivative, curvature, conjugate, dual_domain, _ = formulas(loss_type, xp)

    def times(w, x):
        return xp.where(w > 0.0, w * x, 0.0) if counted else x

    def share(a, w):
        return a / xp.where(w > 0.0, w, 1.0) if counted else a

    times, share = xp.function(times), xp.function(share)

    def loss(y, f, w, *p):
        return times(w, value(y, f, *p))

    def slope(y, f, w, *p):
        return times(w, derivative(y, f, *p))

    def curve(y, f, w, *p):
        return times(w, curvature(y, f, *p))

    def dual(y, a, w, *p):
        row = xp.clip(share(a, w), *dual_domain(y, *p))  # (w upper) / w may round to more
        return times(w, conjugate(y, row, *p))

    def project(y, a, w, *p):
        lower, upper = dual_domain(y, *p)
        return xp.clip(a, times(w, lower), times(w, upper))

    loss, dual = xp.function(loss), xp.function(dual)

    def pairing_of_residual(y, f, a, w, *p):  # of y - f only: nothing cancels far from zero
        return dual(y - f, a, w, *p)

    def pairing_of_margin(y, f, a, w, *p):
        return dual(y, a, w, *p) + a * f

    pairing = pairing_of_residual if loss_type.task == "regression" else pairing_of_margin
    slope, curve, project, pairing = map(xp.function, (slope, curve, project, pairing))
    return loss, slope, curve, dual, project, pairing


@functools.cache
def interpreted(loss_type: type[Loss], counted: bool = True) -> Weighted:
    """Return the weighted loss as NumPy functions of vectors.

    Unless rows are counted, all weights are one, and nobody looks at them.
    """

    def lift(formula):
        def lifted(y, *others):
            found = formula(y, *others[:-1], *others[-1])
            constant = np.ndim(found) == 0
            return np.full(y.shape, found, dtype=float) if constant else found

        return lifted

    functions = map(lift, _state(loss_type, numpy_language, counted))
    return Weighted._make([*functions, loss_type.task == "regression"])


@functools.cache
def interpreted_envelope(loss_type: type[Loss]) -> Envelope:
    """Return the envelope as NumPy functions."""
    return Envelope(
        lambda h, p: loss_type.envelope_parameters(h, *p),
        lambda p: np.max(loss_type.stiffness(*p)),
    )


@functools.cache
def compiled(loss_type: type[Loss]) -> Weighted:
    """Return the weighted loss as compiled functions of vectors."""
    row = row_of(loss_type.n_parameters())

    def lift(formula):
        @numba_language.function
        def lifted(y, x, w, p):
            out = np.empty(y.shape[0])
            for i in range(y.shape[0]):
                out[i] = formula(y[i], x[i], w[i], *row(p, i))
            return out

        return lifted

    def lift_pairing(formula):
        @numba_language.function
        def lifted(y, f, a, w, p):
            out = np.empty(y.shape[0])
            for i in range(y.shape[0]):
                out[i] = formula(y[i], f[i], a[i], w[i], *row(p, i))
            return out

        return lifted

    *pairs, pairing = _state(loss_type, numba_language, True)
    return Weighted._make(
        [*map(lift, pairs), lift_pairing(pairing), loss_type.task == "regression"]
    )


@functools.cache
def compiled_envelope(loss_type: type[Loss]) -> Envelope:
    """Return the envelope as compiled functions."""
    row = row_of(loss_type.n_parameters())
    assert loss_type.envelope_type is not None
    count = loss_type.envelope_type.n_parameters()
    formula = numba_language.function(loss_type.envelope_parameters)
    stiffness_of = numba_language.function(loss_type.stiffness)

    @numba_language.function
    def parameters(h, p):
        out = np.empty((count, p.shape[1]))
        for i in range(p.shape[1]):
            for k, parameter in enumerate(formula(h, *row(p, i))):
                out[k, i] = parameter
        return out

    @numba_language.function
    def stiffness(p):
        largest = 0.0
        for i in range(p.shape[1]):
            largest = max(largest, stiffness_of(*row(p, i)))
        return largest

    return Envelope(parameters, stiffness)


@functools.cache
def interpreted_kinks(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return a NumPy function of ``(y, p)``: the kinks of all rows, one row of the result each."""
    return lambda y, p: np.stack(np.broadcast_arrays(y, *loss_type.kinks(y, *p))[1:])


@functools.cache
def compiled_kinks(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the same as a compiled function."""
    parameters = loss_type.n_parameters()
    row, formula = row_of(parameters), numba_language.function(loss_type.kinks)
    count = len(loss_type.kinks(1.0, *([1.0] * parameters)))

    @numba_language.function
    def kinks(y, p):
        out = np.empty((count, y.shape[0]))
        for i in range(y.shape[0]):
            for k, kink in enumerate(formula(y[i], *row(p, i))):
                out[k, i] = kink
        return out

    return kinks


def row_of(count):
    """Return a compiled function of ``(p, i)``: the parameters of row i as a tuple."""
    if count == 0:
        return numba_language.function(lambda p, i: ())
    last, others = count - 1, row_of(count - 1)
    return numba_language.function(lambda p, i: (*others(p, i), p[last, i]))
