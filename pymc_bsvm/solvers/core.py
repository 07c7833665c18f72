"""The solver of each loss, put together from its parts: interpreted, or compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pymc_bsvm.losses import Loss, numba_language
from pymc_bsvm.solvers.newton import make_newton
from pymc_bsvm.solvers.proximal import make_proximal
from pymc_bsvm.solvers.weighted import (
    compiled,
    compiled_envelope,
    interpreted,
    interpreted_envelope,
)

__all__ = ["compiled_solver", "interpreted_solver"]


@functools.cache
def interpreted_solver(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the solver as a Python function, ready at once."""
    return _assemble(loss_type, interpreted, interpreted_envelope, lambda function: function)


@functools.cache
def compiled_solver(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the same solver compiled by Numba, for use inside compiled functions."""
    return _assemble(loss_type, compiled, compiled_envelope, numba_language.function)


def _assemble(
    loss_type: type[Loss],
    weighted: Callable[..., Any],
    envelope: Callable[..., Any],
    function: Callable[..., Any],
) -> Callable[..., Any]:
    newton = functools.cache(lambda smooth: make_newton(weighted(smooth), function))
    if loss_type.envelope_type is None:
        return newton(loss_type)
    return make_proximal(
        weighted(loss_type),
        newton(loss_type) if loss_type.differentiable else None,
        newton(loss_type.envelope_type),
        envelope(loss_type),
        function,
    )
