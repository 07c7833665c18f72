"""What a loss says about itself; `pymc_bsvm.losses.base` has what follows from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.losses import numpy_language
from pymc_bsvm.losses.formula import Formulas, formulas
from pymc_bsvm.losses.parametrized import Parametrized
from pymc_bsvm.losses.piece import Outline
from pymc_bsvm.losses.tilted import (
    Tilted,
    TiltedRule,
    adaptive_rule,
    averaged,
    averaged_slopes,
    piecewise_rule,
)

if TYPE_CHECKING:
    from pymc_bsvm.losses.base import Loss

__all__ = ["Contract"]


class Contract(Parametrized, ABC):
    """What a loss has to say of itself, and what it may say better than the defaults.

    Subclasses are frozen dataclasses whose fields are the keys of `domains`. The argument of a
    loss is the residual ``y - f`` in regression, the margin ``y f`` in classification.
    """

    task: ClassVar[Literal["regression", "classification"]]

    @staticmethod
    @abstractmethod
    def formulas(xp: Any) -> Formulas:
        """State the loss in the array language ``xp``."""

    @abstractmethod
    def check_targets(self, y: ArrayLike) -> None:
        """Raise ``ValueError`` for targets on which the loss is not defined."""

    differentiable: ClassVar[bool] = True
    """Whether the loss has a derivative everywhere; if not, it is piecewise linear."""

    @property
    def knots(self) -> tuple[Parameter, ...]:
        """The arguments, in ascending order, at which the formula changes."""
        return ()

    @property
    def wall(self) -> Parameter:
        """The argument at and below which the loss is infinite; -inf for most losses."""
        return -math.inf

    @classmethod
    def complete(cls, *parameters: Any) -> tuple[Any, ...]:
        """Turn the loss's own parameters, numbers or symbols, into those of its formulas.

        They differ where a loss is a member of a larger family, as Huber's is of SILF.
        """
        return parameters

    blurring: ClassVar[Any] = None
    """Where there is a closed form: state `blurred` in the array language ``xp``, as a function of
    ``(centre, variance, *parameters)``."""

    likelihood: ClassVar[Any] = None
    """Where it is cheaper than its log: state ``exp(-l)`` and the slope of l in the array language
    ``xp``, as a function of ``(argument, *parameters)``; slow pieces of the outline are flat."""

    def blurred(self, centre: Array, variance: Array) -> Tilted:
        """Return ``log E[exp(-l(u)) / Z]`` for arguments ``u ~ N(centre, variance)``.

        With its first derivative in ``centre`` and minus the second; all arrays have shape (n,).
        """
        if self.blurring is not None:
            closed: Callable[..., Tilted] = self.blurring(numpy_language)
            return closed(centre, variance, *cast("Loss", self).parameters)
        rule = self.tilted_rule(centre, variance)
        return averaged(cast("Loss", self), centre, variance, rule)

    def blurred_slopes(self, centre: Array, variance: Array) -> Array:
        """Return the derivatives of that log with respect to the fields, of shape (k, n)."""
        rule = self.tilted_rule(centre, variance)
        return averaged_slopes(cast("Loss", self), centre, variance, rule)

    def tilted_rule(self, centre: Array, variance: Array) -> TiltedRule:
        """Return points and weights for integrals over the density of ``exp(-l(u))`` times it."""
        if self.outline is None:
            return adaptive_rule(cast("Loss", self), centre, variance)
        return piecewise_rule(self.outline, centre, variance)

    @property
    def outline(self) -> Outline | None:
        """Parabolas and lines from which the loss differs by slow terms, if it has such pieces.

        They fix the points of the quadrature, which compiled code needs to know beforehand.
        """
        return None

    # ---- for the smooth evidence of a loss whose curvature has steps ----------------------------

    ramp_width: ClassVar[float] = 0.0
    """Half width of the ramps of the smooth curvature, in the loss's own units; zero if the
    curvature has no steps. ``benchmarks/ramp.md`` has the measurements behind the values."""

    @classmethod
    def smoothing(cls, xp: Any) -> Callable[..., Any]:
        """State the curvature with its steps widened to ramps of half width ``width``.

        Returns a function of ``(y, f, width, *parameters)``.
        """
        curvature = formulas(cls, xp).curvature

        def unchanged(y: Any, f: Any, width: Any, *parameters: Any) -> Any:
            return curvature(y, f, *parameters)

        return unchanged

    # ---- for the solver of a loss whose Moreau envelopes are losses again -----------------------

    envelope_type: ClassVar[type[Loss] | None] = None
    """The family of the envelopes."""

    @staticmethod
    def envelope_parameters(h: Any, *parameters: Any) -> tuple[Any, ...]:
        """Return the parameters of the envelope; arithmetic that compiles as it stands."""
        raise NotImplementedError

    @staticmethod
    def stiffness(*parameters: Any) -> Any:
        """Return the largest curvature."""
        raise NotImplementedError

    kinks: ClassVar[Any] = None
    """Of a piecewise linear loss: a function of ``(y, *parameters)`` that returns the values of f
    at which the slope jumps, in ascending order; arithmetic that compiles as it stands."""
