"""The solver of each loss and kind of covariance, put together: interpreted, or compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.covariance.interpreted import in_numpy
from pymc_bsvm.losses import Loss, numba_language, numpy_language
from pymc_bsvm.solvers.certificate import Certificate, make_certify
from pymc_bsvm.solvers.line_search import make_center
from pymc_bsvm.solvers.newton import CONVERGED, make_newton
from pymc_bsvm.solvers.proximal import make_proximal
from pymc_bsvm.solvers.pursuit import make_pursuit
from pymc_bsvm.solvers.weighted import (
    compiled,
    compiled_envelope,
    compiled_kinks,
    interpreted,
    interpreted_envelope,
    interpreted_kinks,
)

__all__ = ["Solved", "compiled_solver", "interpreted_solver"]


class Solved(NamedTuple):
    """How a solve ended, after all of its starts."""

    certificate: Certificate
    factor: Any
    """What is left of the last step; see `pymc_bsvm.solvers.newton.Factor`."""
    steps: int
    status: int
    """The position in `pymc_bsvm.solvers.Status`."""
    restarted: bool
    """Whether the given start failed and the solution was sought from zero."""


@functools.cache
def interpreted_solver(loss_type: type[Loss], covariance: Covariance) -> Callable[..., Any]:
    """Return the solver as a Python function, ready at once."""
    language = interpreted, interpreted_envelope, interpreted_kinks
    return _restarted(
        _assemble(loss_type, in_numpy(covariance), language, numpy_language.function),
        numpy_language.function,
    )


@functools.cache
def compiled_solver(loss_type: type[Loss], covariance: Covariance) -> Callable[..., Any]:
    """Return the same solver compiled by Numba, for use inside compiled functions."""
    language = compiled, compiled_envelope, compiled_kinks
    return _restarted(
        _assemble(loss_type, covariance, language, numba_language.function),
        numba_language.inlined,  # every function between the caller and the steps is compiled anew
    )


def _assemble(
    loss_type: type[Loss],
    covariance: Covariance,
    language: tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]],
    function: Callable[..., Any],
) -> Callable[..., Any]:
    weighted, envelope, kinks = language

    @functools.cache
    def parts(of: type[Loss]) -> tuple[Any, Any]:
        """Return what certifies the duals of a loss, and its Newton solver."""
        words = weighted(of)
        center = make_center(words.slope, words.curve, function) if of.differentiable else None
        certify = make_certify(words, covariance, center, function)
        newton = center and make_newton(words, covariance, center, certify, function)
        return certify, newton

    certify, newton = parts(loss_type)
    if loss_type.envelope_type is None:
        return newton
    _, inner = parts(loss_type.envelope_type)
    words = weighted(loss_type)
    smooth, pursuit = envelope(loss_type), None
    if newton is None and loss_type.kinks is not None and covariance.pursuit is not None:
        pursuit = make_pursuit(words, kinks(loss_type), covariance, function)
    return make_proximal(words, covariance, certify, newton, inner, smooth, pursuit, function)


def _restarted(solve: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the solver that starts once more, from zero, where the given start has failed.

    Each start has all of the steps. If both fail, the result is that of the better certificate.
    """

    def restarted(K, y, w, p, m, a, b, offset, tol, inner, most, callback):
        first = solve(K, y, w, p, m, a, b, offset, tol, inner, most, callback)
        if first.status == CONVERGED or not a.any():
            return Solved(first.certificate, first.factor, first.steps, first.status, False)
        zero = np.zeros(a.shape[0])
        second = solve(K, y, w, p, m, zero, 0.0, offset, tol, inner, most, callback)
        before, after = first.certificate, second.certificate
        better = after.gap + after.rounding < before.gap + before.rounding
        chosen = second if second.status == CONVERGED or better else first
        steps = first.steps + second.steps
        return Solved(chosen.certificate, chosen.factor, steps, chosen.status, True)

    return function(restarted)
