"""Where a process is asked: at a point of a model, for both of which a fit may stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from pymc import Model

from pymc_bsvm._validation import check_mapping

__all__ = ["Fit", "Point", "model_at", "place_of"]


@runtime_checkable
class Fit(Protocol):
    """What `fit_evidence` returns, as far as a process knows it."""

    @property
    def point(self) -> dict[str, Any]:
        """Values of the variables by name."""

    @property
    def model(self) -> Model:
        """The model whose variables these are."""


type Point = Mapping[str, Any] | Fit
"""Values of the free variables by name, or a fit that has them."""


def place_of(
    point: Point | None, model: Model | None
) -> tuple[Mapping[str, Any] | None, Model | None]:
    """Return the point and the model, either of which a fit may stand for."""
    if not isinstance(point, Fit):
        if point is not None:
            check_mapping("point", point, "Pass values by name, such as fit.point, or a fit.")
        return point, model
    return point.point, point.model if model is None else model


def model_at(model: Model | None) -> Model:
    """Return a model, or that of the context."""
    found = Model.get_context(error_if_none=False) if model is None else model
    if found is None:
        raise TypeError(
            "No model on context stack. Pass model=..., or a fit as the point, or ask inside of "
            "the model's context."
        )
    if not isinstance(found, Model):
        raise TypeError(
            f"model must be a pymc.Model, but it is of type {type(found).__name__}. "
            "Pass the model, or leave it out inside its context."
        )
    return found
