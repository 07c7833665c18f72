"""Which evidence an estimator maximises for its hyperparameters, and with which prior."""

from __future__ import annotations

from typing import Any, NamedTuple

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import LAPLACE, PROPAGATION
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.losses.base import Loss

__all__ = ["Route", "route_of", "route_on_points"]

_MOST = 2000  # rows, from which on a search by expectation propagation takes too long
_SPREAD = 1.0  # of the logarithms of the hyperparameters, a priori


class Route(NamedTuple):
    """What is maximised to find hyperparameters."""

    approximation: Approximation
    """Of the evidence and of the posterior."""
    prior: float | None = None
    """Standard deviation of the logarithms about their starts; None for the evidence alone."""


def route_of(approximation: Any, loss: Loss, n: int, sample_weight: Array | None) -> Route:
    """Return the route that an estimator's argument means, for n rows.

    "auto" is expectation propagation for labels, with a weak prior: the evidence alone favours
    large amplitudes where there are many columns. For targets Laplace's method does as well, and is
    faster; where the loss has a kink it is not defined. A row that counts less than once leaves
    expectation propagation no observation to take out of its posterior.
    """
    if approximation == "auto":
        whole = sample_weight is None or sample_weight.min() >= 1.0
        if loss.task == "classification" and n <= _MOST and whole:
            return Route(PROPAGATION, _SPREAD)
        return Route(LAPLACE if all(need.met(loss) for need in LAPLACE.needs) else PROPAGATION)
    by_name = {each.name: each for each in (LAPLACE, PROPAGATION)}
    named = by_name.get(approximation) if isinstance(approximation, str) else None
    route = Route(named or approximation_of(approximation))
    route.approximation.check(loss)
    return route


def route_on_points(approximation: Any, loss: Loss) -> Route:
    """Return the route that an estimator's argument means on inducing points.

    "auto" is Laplace's method. Expectation propagation has the weak prior of `route_of` for labels.
    """
    name = getattr(approximation, "name", approximation)
    if name == "ep":
        chosen = PROPAGATION if isinstance(approximation, str) else approximation
        chosen.check(loss)
        return Route(chosen, _SPREAD if loss.task == "classification" else None)
    if name not in ("auto", "laplace"):
        raise ValueError(
            "Inducing points take Laplace's method or expectation propagation, but approximation "
            f"is {approximation!r}. Pass 'auto', 'laplace' or 'ep', or set inducing=None."
        )
    if not loss.differentiable:
        raise ValueError(
            f"{type(loss).__name__} has a kink, which Laplace's method on inducing points does not "
            "take. Set approximation='ep', or pass loss='silf'."
        )
    return Route(LAPLACE)
