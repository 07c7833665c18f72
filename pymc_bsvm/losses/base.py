"""What every loss knows about itself: the contract between losses and everything below them.

A loss is the negative log likelihood of one observation without its normaliser,
``l(y, f) = -log p(y | f) - log Z``, convex in the latent value ``f``. Its dual variable is signed,
``a = -dl/df``, so that the MAP estimate is ``f = m + K a`` for every loss [Chu03]_.

Formulas are written once, in `Loss.formulas`, over an array language: NumPy here, Numba in the
compiled solver, PyTensor and JAX in model graphs.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymc_bsvm._validation import as_parameter, check_finite, check_labels, positive
from pymc_bsvm.losses import numpy_language
from pymc_bsvm.losses.parametrized import Array, Parameter, Parametrized

__all__ = [
    "Array",
    "ClassificationLoss",
    "Formulas",
    "Loss",
    "Parameter",
    "RegressionLoss",
    "Sets",
    "formulas",
    "smooth_curvature",
]


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


class Sets(NamedTuple):
    """Boolean masks of the support vectors and of their two kinds."""

    support: NDArray[np.bool_]
    free: NDArray[np.bool_]
    bound: NDArray[np.bool_]


class Loss(Parametrized, ABC):
    """A convex loss of one observation ``y`` and one latent value ``f``.

    Subclasses are frozen dataclasses whose fields are the keys of `domains`. All methods are
    vectorised: arguments broadcast against each other and results are float64 arrays.

    The likelihood is a product over rows, so that each row may have parameters of its own. Vectors
    of parameters broadcast against the last axis of the arguments.
    """

    task: ClassVar[Literal["regression", "classification"]]
    differentiable: ClassVar[bool] = True
    """Whether the loss has a derivative everywhere; if not, it is piecewise linear."""

    ramp_width: ClassVar[float] = 0.0
    """Half width of the ramps of the smooth curvature, in the loss's own units; zero if the
    curvature has no steps. ``benchmarks/ramp.md`` has the measurements behind the values."""

    @staticmethod
    @abstractmethod
    def formulas(xp: Any) -> Formulas:
        """State the loss in the array language ``xp``."""

    @abstractmethod
    def check_targets(self, y: ArrayLike) -> None:
        """Raise ``ValueError`` for targets on which the loss is not defined."""

    @classmethod
    def smoothing(cls, xp: Any) -> Callable[..., Any]:
        """State the curvature with its steps widened to ramps of half width ``width``.

        Returns a function of ``(y, f, width, *parameters)``. Losses whose curvature is continuous
        need not override it.
        """
        curvature = formulas(cls, xp).curvature

        def unchanged(y: Any, f: Any, width: Any, *parameters: Any) -> Any:
            return curvature(y, f, *parameters)

        return unchanged

    envelope_type: ClassVar[type[Loss] | None] = None
    """The family of the Moreau envelopes, for losses whose envelopes are losses again."""

    @staticmethod
    def envelope_parameters(h: Any, *parameters: Any) -> tuple[Any, ...]:
        """Return the parameters of the Moreau envelope; arithmetic that compiles as it stands."""
        raise NotImplementedError

    @staticmethod
    def stiffness(*parameters: Any) -> Any:
        """Return the largest curvature, for losses that have an envelope."""
        raise NotImplementedError

    @classmethod
    def complete(cls, *parameters: Any) -> tuple[Any, ...]:
        """Turn the loss's own parameters, numbers or symbols, into those of its formulas.

        They differ where a loss is a member of a larger family, as Huber's is of SILF.
        """
        return parameters

    @classmethod
    def n_parameters(cls) -> int:
        """Return the number of parameters that the formulas take."""
        return len(cls.complete(*cls.domains))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the order in which the formulas take them."""
        if self.functions:
            raise TypeError(
                f"{self.functions[0]} of {type(self).__name__} is a function of the inputs, which "
                "are not known here. Pass loss.at(X), or use the loss in a GP model."
            )
        return self.complete(*self.fields.values())

    def by_row(self, n: int) -> Array:
        """Return the parameters of the formulas for each of n rows, of shape (k, n)."""
        self.check_rows(n)
        rows = np.empty((self.n_parameters(), n))
        for k, parameter in enumerate(self.parameters):
            rows[k] = parameter
        return rows

    @property
    def normalized(self) -> bool:
        """Whether ``exp(-l) / Z`` is a probability of y with a Z that is free of f."""
        return formulas(type(self)).log_normalizer is not None

    def value(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return ``l(y, f)``; +inf outside the domain."""
        return self._evaluate("value", y, f)

    def derivative(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return ``dl/df``; at a kink, the value on its flat side."""
        return self._evaluate("derivative", y, f)

    def curvature(self, y: ArrayLike, f: ArrayLike) -> Array:
        """Return ``d²l/df²``; zero wherever the loss is linear."""
        return self._evaluate("curvature", y, f)

    def smooth_curvature(self, y: ArrayLike, f: ArrayLike, width: float | None = None) -> Array:
        """Return the curvature with its steps widened to ramps; `ramp_width` unless told."""
        width = self.ramp_width if width is None else width
        self.shape_with(np.shape(y), np.shape(f))
        return np.asarray(
            smooth_curvature(type(self))(np.asarray(y, dtype=float), f, width, *self.parameters)
        )

    def conjugate(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Return ``l*(-a) = max_f [-a f - l(y, f)]``; +inf outside the dual domain."""
        return self._evaluate("conjugate", y, a)

    def dual_domain(self, y: ArrayLike) -> tuple[Array, Array]:
        """Return the least and the greatest dual value for each target."""
        y = np.asarray(y, dtype=float)
        shape = self.shape_with(y.shape)
        lower, upper = formulas(type(self)).dual_domain(y, *self.parameters)
        return np.broadcast_to(lower, shape), np.broadcast_to(upper, shape)

    def log_normalizer(self) -> Parameter:
        """Return ``log Z`` of the density ``exp(-l(y, f)) / Z`` of y: a float, or one by row.

        Raises
        ------
        ValueError
            If ``exp(-l)`` cannot be normalised by a constant, as for the soft margins
            (section 5.1 of [Chu03]_).
        """
        log_normalizer = formulas(type(self)).log_normalizer
        if log_normalizer is None:
            raise ValueError(
                f"{type(self).__name__} is not a negative log likelihood: its normaliser depends "
                "on f. Use Trigonometric, Logistic or Probit where probabilities are needed."
            )
        return self._of_parameters(log_normalizer)

    @final
    def envelope(self, h: float) -> Loss:
        """Return the Moreau envelope ``min_u [l(y, u) + (u - f)² / (2 h)]``, itself a loss.

        Its conjugate is ``l* + h a² / 2``, and its curvature is at most ``1 / h``: the envelope of
        a loss with kinks is smooth.

        Raises
        ------
        ValueError
            If the envelope is not a loss of this library.
        """
        if self.envelope_type is None:
            raise ValueError(
                f"The Moreau envelope of {type(self).__name__} has no closed form. "
                "Use a loss with piecewise linear derivative, such as SILF."
            )
        h = as_parameter("h", h, positive)
        return self.envelope_type(*self.envelope_parameters(h, *self.parameters))

    @final
    def project(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Return the dual value nearest to ``a`` that the loss allows."""
        return np.asarray(np.clip(np.asarray(a, dtype=float), *self.dual_domain(y)))

    @final
    def gap(self, y: ArrayLike, f: ArrayLike, a: ArrayLike) -> Array:
        """Return the Fenchel-Young gap ``l(y, f) + l*(-a) + a f``, in nats.

        It is never negative, and zero exactly where ``a = -dl/df``.
        """
        return self.value(y, f) + self.conjugate(y, a) + np.multiply(a, f, dtype=float)

    @final
    def sets(self, y: ArrayLike, f: ArrayLike, a: ArrayLike) -> Sets:
        """Return the masks of the support vectors: free, bound, and both together.

        Free support vectors lie where the loss is curved or, for a loss with a kink, where the
        dual is strictly inside its domain; the other nonzero duals are bound.
        """
        a = np.asarray(a, dtype=float)
        if self.differentiable:
            free = self.curvature(y, f) > 0
        else:
            lower, upper = self.dual_domain(y)
            free = (lower < a) & (a < upper) & (a != 0)
        bound = ~free & (a != 0)
        return Sets(free | bound, free, bound)

    def _evaluate(self, name: str, y: ArrayLike, x: ArrayLike) -> Array:
        """Evaluate one formula on float64 arrays; an infinite result is an answer here."""
        y, x = np.asarray(y, dtype=float), np.asarray(x, dtype=float)
        shape = self.shape_with(y.shape, x.shape)
        with np.errstate(over="ignore", divide="ignore"):
            result = getattr(formulas(type(self)), name)(y, x, *self.parameters)
        return np.broadcast_to(result, shape) + 0.0

    def _of_parameters(self, formula: Callable[..., Any]) -> Parameter:
        """Evaluate a formula of the parameters alone: a float, or an array of shape (n,)."""
        value, n = formula(*self.parameters), self.n_rows
        return float(value) if n is None else np.broadcast_to(value, (n,)) + 0.0


class RegressionLoss(Loss):
    """A loss of the residual ``r = y - f`` of a real target."""

    task = "regression"

    @abstractmethod
    def variance(self) -> Parameter:
        """Return the variance of the noise with density ``exp(-l) / Z``: a float, or one by row."""

    def check_targets(self, y: ArrayLike) -> None:
        """Raise ``ValueError`` unless all targets are finite."""
        check_finite("y", y)


class ClassificationLoss(Loss):
    """A loss of the margin ``y f`` of a label ``y`` in {-1, +1}."""

    task = "classification"

    def check_targets(self, y: ArrayLike) -> None:
        """Raise ``ValueError`` unless all labels are -1 or +1."""
        check_labels("y", y, (-1, 1), _signed_labels_hint)


def _signed_labels_hint(seen: NDArray[Any]) -> str:
    if np.isin(seen, (0, 1)).all():
        return "For labels 0 and 1, pass 2 * y - 1."
    return "Encode the two classes as -1 and +1."


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
