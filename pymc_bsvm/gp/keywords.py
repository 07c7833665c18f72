"""Keyword arguments of a marginal likelihood that are passed on to PyMC."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["check_keywords", "check_of_conditional"]

_OF_PYMC = ("dims", "initval", "rng", "transform", "default_transform")
_OF_CONDITIONAL = (*_OF_PYMC, "method", "observed", "shape")
_OF_INDEPENDENT_ROWS = ("observed", "shape", "size", "total_size")


def check_keywords(method: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` for what neither a method nor the variable that it registers takes."""
    for name in sorted(keywords):
        if name in _OF_INDEPENDENT_ROWS:
            raise TypeError(
                f"marginal_likelihood takes no {name}: its rows are those of X and "
                "are not independent. Leave it out."
            )
        if name not in _OF_PYMC:
            own = [key for key in inspect.signature(method).parameters if key != "kwargs"]
            raise TypeError(
                f"{method.__qualname__} has no argument {name!r}. Use {', '.join(own)}, or "
                f"PyMC's {', '.join(_OF_PYMC)}."
            )


def check_of_conditional(keywords: Mapping[str, Any]) -> None:
    """Raise ``TypeError`` for what the variable of new latent values does not take."""
    for name in sorted(set(keywords) - set(_OF_CONDITIONAL)):
        raise TypeError(
            f"conditional has no argument {name!r}. Use name, Xnew, given, jitter, or PyMC's "
            f"{', '.join(_OF_CONDITIONAL)}; noise comes from a likelihood on top of it."
        )
