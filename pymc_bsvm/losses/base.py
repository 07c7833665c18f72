"""What every loss knows about itself: the contract between losses and everything below them.

A loss is the negative log likelihood of one observation without its normaliser,
``l(y, f) = -log p(y | f) - log Z``, convex in the latent value ``f``. Its dual variable is signed,
``a = -dl/df``, so that the MAP estimate is ``f = m + K a`` for every loss [Chu03]_.

Formulas are written once, in `Loss.formulas`, over an array language: NumPy here, Numba in the
compiled solver, PyTensor and JAX in model graphs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm._validation import as_parameter, check_finite, check_labels, positive
from pymc_bsvm.losses.blurred import Blurred
from pymc_bsvm.losses.contract import Contract
from pymc_bsvm.losses.convolution import Convolution
from pymc_bsvm.losses.formula import Formulas, formulas, smooth_curvature
from pymc_bsvm.losses.tilted import Tilted

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


LEAST_UNIFORM = 2.0**-54  # a generator can return 0, whose quantile is infinite


class Sets(NamedTuple):
    """Boolean masks of the support vectors and of their two kinds."""

    support: NDArray[np.bool_]
    free: NDArray[np.bool_]
    bound: NDArray[np.bool_]


class Loss(Contract):
    """A convex loss of one observation ``y`` and one latent value ``f``.

    All methods are vectorised: arguments broadcast against each other and results are float64
    arrays. The likelihood is a product over rows, so that each row may have parameters of its own.
    Vectors of parameters broadcast against the last axis of the arguments.
    """

    @classmethod
    def n_parameters(cls) -> int:
        """Return the number of parameters that the formulas take."""
        return len(cls.complete(*cls.domains))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in the order in which the formulas take them."""
        if self.functions:
            raise TypeError(
                f"{self.functions[0]} of {type(self).__name__} is a function of the inputs, which "
                "are not known here. Pass loss.at(X), or use the loss in a GP model."
            )
        return tuple(map(_read_only, self.complete(*self.fields.values())))

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

    @final
    def tilted(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Tilted:
        """Return ``log E[p(y | f)]`` for ``f ~ N(mean, variance)`` and its slope and bend.

        The density of f times the likelihood, divided by its integral, is the tilted density. It
        has the mean ``mean + variance alpha`` and the variance
        ``variance (1 - variance nu)``; the last factor is at least 0 and at most 1.

        Parameters
        ----------
        y : array_like
            Targets, or labels in {-1, +1}.
        mean, variance : array_like
            Means and positive variances of the latent values. All three broadcast, with the
            parameters by row along the last axis.

        Returns
        -------
        Tilted
            ``log_z``, ``alpha = d log_z / d mean``, ``nu = -d² log_z / d mean²``, and the variance
            of the tilted density.

        Raises
        ------
        ValueError
            If a variance is not positive, or the loss is not a negative log likelihood.
        """
        argument, sign, variance, shape = self._blurring(y, mean, variance)
        log_z, slope, *moments = self.spread(shape).blurred(argument, variance)
        return Tilted(*(x.reshape(shape) for x in (log_z, sign * slope, *moments)))

    @final
    def tilted_slopes(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
        """Return the derivatives of `tilted`'s ``log_z`` with respect to the fields, row by row.

        Parameters
        ----------
        y, mean, variance : array_like
            As for `tilted`.

        Returns
        -------
        ndarray
            One after the other in the order of `domains`, each of the shape of ``log_z``.
        """
        argument, _, variance, shape = self._blurring(y, mean, variance)
        slopes = self.spread(shape).blurred_slopes(argument, variance)
        return slopes.reshape(len(self.fields), *shape)

    def _blurring(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array, tuple[int, ...]]:
        """Check arguments; return those of the loss, their slopes in f, variances and the shape."""
        self.check_targets(y)
        check_finite("mean", mean)
        positive.check("variance", variance)
        y, mean, variance = (np.asarray(x, dtype=float) for x in (y, mean, variance))
        shape = self.shape_with(y.shape, mean.shape, variance.shape)
        y, mean, variance = (np.broadcast_to(x, shape).ravel() for x in (y, mean, variance))
        if self.task == "regression":
            return y - mean, np.full(y.shape, -1.0), variance, shape
        return y * mean, y, variance, shape

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


def _read_only(x: Any) -> Any:
    """Return a view of an array that nobody can write to, as all solves share it; else x."""
    if isinstance(x, np.ndarray):
        x = x.view()
        x.flags.writeable = False
    return x


class RegressionLoss(Loss):
    """A loss of the residual ``r = y - f`` of a real target."""

    task = "regression"

    units: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Powers of the unit of the targets that the parameters carry: -1 for a slope in nats per unit,
    1 for a length. A loss with all of them stated can be brought to other units."""

    @final
    def scaled(self, unit: float) -> Self:
        """Return the loss of residuals that are ``unit`` times as large.

        Its value there is that of this loss at the residuals before.
        """
        for name in self.domains:
            if name not in self.units:
                raise TypeError(
                    f"The unit of {name} of {type(self).__name__} is not known. "
                    "State its power of the unit of the targets in the attribute units."
                )
        return type(self)(**{k: v * unit ** self.units[k] for k, v in self.fields.items()})

    def mean(self) -> Parameter:
        """Return the mean of the noise with density ``exp(-l) / Z``; zero unless overridden."""
        return 0.0

    @abstractmethod
    def variance(self) -> Parameter:
        """Return the variance of the noise: a float, or one by row."""

    def convolution(self) -> Convolution:
        """Return the distribution of the noise plus a Gaussian; by quadrature unless overridden."""
        return Convolution(self)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw noise by solving for its quantiles; the parameters are for the last axis."""
        u = np.maximum(rng.random(shape), LEAST_UNIFORM).ravel()
        return self.spread(shape).convolution().quantile(u, np.zeros(u.shape)).reshape(shape)

    def check_targets(self, y: ArrayLike) -> None:
        """Raise ``ValueError`` unless all targets are finite."""
        check_finite("y", y)


class ClassificationLoss(Loss):
    """A loss of the margin ``y f`` of a label ``y`` in {-1, +1}."""

    task = "classification"

    def log_average(self, margin: Array, variance: Array) -> Array:
        """Return ``log E[exp(-l(z)) / Z]`` for margins ``z ~ N(margin, variance)``, of shape (n,).

        By quadrature unless overridden. Variances may be zero.
        """
        log_average = -self.value(1.0, margin) - self.log_normalizer()
        blurred = variance > 0.0
        if blurred.any():
            part = self.take(blurred)
            log_mass = Blurred.of(part, margin[blurred], variance[blurred]).log_average(part.knots)
            log_average[blurred] = log_mass - part.log_normalizer()
        return log_average

    def check_targets(self, y: ArrayLike) -> None:
        """Raise ``ValueError`` unless all labels are -1 or +1."""
        check_labels("y", y, (-1, 1), _signed_labels_hint)


def _signed_labels_hint(seen: NDArray[Any]) -> str:
    if np.isin(seen, (0, 1)).all():
        return "For labels 0 and 1, pass 2 * y - 1."
    return "Encode the two classes as -1 and +1."
