"""The solver of each loss and kind of covariance, put together: interpreted, or compiled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from pymc_bsvm.covariance.address import Apart, apart
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


class Language(NamedTuple):
    """In what a solver is written."""

    weighted: Callable[..., Any]
    envelope: Callable[..., Any]
    kinks: Callable[..., Any]
    function: Callable[..., Any]
    """What makes a function of the language out of one of Python."""
    part: Callable[..., Any]
    """``(function, covariance)``: a large function for those that call it."""


def _apart(function: Any, covariance: Covariance) -> Apart:
    """Return a function that is compiled by itself; its arguments have the types of their names."""
    kinds = {"K": covariance.kind, "p": types.float64[:, ::1]}
    kinds |= dict.fromkeys(("y", "w", "m", "a", "f"), types.float64[::1])
    kinds |= dict.fromkeys(("b", "tol"), types.float64)
    kinds |= dict.fromkeys(("offset", "inner"), types.boolean)
    kinds |= {"most": types.int64, "callback": types.none}
    names = inspect.signature(function.py_func).parameters
    return apart(function, tuple(kinds[name] for name in names))


def _called(function: Any, covariance: Covariance) -> Callable[..., Any]:
    """Return a function for compiled code that calls one that is compiled by itself."""
    return _apart(function, covariance).call


_INTERPRETED = Language(
    interpreted,
    interpreted_envelope,
    interpreted_kinks,
    numpy_language.function,
    lambda function, covariance: function,
)
_PLAIN = _INTERPRETED._replace(weighted=functools.partial(interpreted, counted=False))
_COMPILED = Language(compiled, compiled_envelope, compiled_kinks, numba_language.function, _called)


@functools.cache
def interpreted_solver(
    loss_type: type[Loss], covariance: Covariance, counted: bool = True
) -> Callable[..., Any]:
    """Return the solver as a Python function, ready at once.

    Unless rows are counted, all weights are one.
    """
    language = _INTERPRETED if counted else _PLAIN
    return _restarted(_assemble(loss_type, in_numpy(covariance), language), language)


@functools.cache
def compiled_solver(loss_type: type[Loss], covariance: Covariance) -> Apart:
    """Return the same solver compiled by Numba, which keeps it on disk."""
    solver = _restarted(_assemble(loss_type, covariance, _COMPILED), _COMPILED)
    return _apart(solver, covariance)


def _assemble(
    loss_type: type[Loss], covariance: Covariance, language: Language
) -> Callable[..., Any]:
    certify, newton = _parts(loss_type, covariance, language)
    if loss_type.envelope_type is None:
        return newton
    words, function = language.weighted(loss_type), language.function
    _, inner = _parts(loss_type.envelope_type, covariance, language)
    smooth, pursuit = language.envelope(loss_type), None
    if newton is None and loss_type.kinks is not None and covariance.pursuit is not None:
        pursuit = make_pursuit(words, language.kinks(loss_type), covariance, function)
        pursuit = language.part(pursuit, covariance)
    proximal = make_proximal(words, covariance, certify, newton, inner, smooth, pursuit, function)
    return language.part(proximal, covariance)


@functools.cache
def _parts(loss_type: type[Loss], covariance: Covariance, language: Language) -> tuple[Any, Any]:
    """Return what certifies the duals of a loss, and its Newton solver, if it has one."""
    words, function = language.weighted(loss_type), language.function
    center = make_center(words.slope, words.curve, function) if loss_type.differentiable else None
    certify = make_certify(words, covariance, center, function)
    certify = language.part(certify, covariance)
    if center is None:
        return certify, None
    newton = make_newton(words, covariance, center, certify, function)
    return certify, language.part(newton, covariance)


def _restarted(solve: Callable[..., Any], language: Language) -> Callable[..., Any]:
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

    return language.function(restarted)
