"""The formulas of a loss, stated once in each array language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pymc_bsvm.losses import numpy_language

if TYPE_CHECKING:
    from pymc_bsvm.losses.base import Loss

__all__ = ["Formulas", "formulas", "smooth_curvature"]


class Formulas(NamedTuple):
    """The formulas of one loss in one array language; the loss's parameters come last.

    They are closures: cloudpickle and joblib carry them to other processes, pickle does not.
    """

    value: Callable[..., Any]
    """``(y, f, *parameters)``: the loss, +inf outside its domain."""
    derivative: Callable[..., Any]
    """``(y, f, *parameters)``: the first derivative with respect to f."""
    curvature: Callable[..., Any]
    """``(y, f, *parameters)``: the second derivative with respect to f."""
    conjugate: Callable[..., Any]
    """``(y, a, *parameters)``: the convex conjugate at -a, +inf outside the dual domain."""
    dual_domain: Callable[..., tuple[Any, Any]]
    """``(y, *parameters)``: the least and the greatest value of a."""
    log_normalizer: Callable[..., Any] | None
    """``(*parameters)``: log Z, or None where exp(-l) is no density."""


@functools.cache
def formulas(loss_type: type[Loss], xp: Any = numpy_language) -> Formulas:
    """Return the formulas of a loss in an array language, stating them only once."""
    stated = loss_type.formulas(xp)
    callables: list[Any] = [formula and xp.function(formula) for formula in stated]
    return Formulas(*callables)


@functools.cache
def smooth_curvature(loss_type: type[Loss], xp: Any = numpy_language) -> Callable[..., Any]:
    """Return the curvature of a loss with its steps widened, stating it only once.

    The function takes ``(y, f, width, *parameters)``. The curvature of a sparse loss is a step
    function of f, so that the Laplace evidence jumps where a row crosses a knot; with a ramp it is
    continuous. A width of zero is not allowed; use the curvature itself.
    """
    return xp.function(loss_type.smoothing(xp))  # type: ignore[no-any-return]
