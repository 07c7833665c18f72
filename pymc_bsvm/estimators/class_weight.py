"""How often rows of each class count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from pymc_bsvm.streamed.scaled import ByClass
from pymc_bsvm.streamed.summary import Classes

__all__ = ["class_factors"]


def class_factors(
    class_weight: Mapping[Any, float] | str | None, classes: Classes
) -> ByClass | None:
    """Return how often rows of each class count; None if all do once."""
    if class_weight is None:
        return None
    labels, total = classes.labels, classes.weight
    balanced = isinstance(class_weight, str) and class_weight == "balanced"
    if not (balanced or isinstance(class_weight, Mapping)):
        raise ValueError(
            f"class_weight must be 'balanced', a dict or None, but it is {class_weight!r}. "
            "Pass, for example, {0: 1.0, 1: 5.0}."
        )
    if isinstance(class_weight, Mapping):
        _check_given(class_weight, labels)
    if balanced:
        counted = total > 0.0
        mean = total.sum() / np.count_nonzero(counted)
        return ByClass(labels, np.where(counted, mean / np.where(counted, total, 1.0), 0.0))
    factors = compute_class_weight(class_weight, classes=labels, y=labels)
    return ByClass(labels, np.asarray(factors, dtype=float))


def _check_given(class_weight: Mapping[Any, Any], labels: NDArray[Any]) -> None:
    """Raise for weights that are not numbers >= 0, or not those of any class."""
    for label, value in class_weight.items():
        if not isinstance(value, int | float | np.number) or not value >= 0.0:
            raise ValueError(
                f"class_weight must hold numbers >= 0, but for {label!r} it is {value!r}. "
                "Pass how often rows of the class count."
            )
    if not np.isin(labels, list(class_weight)).any():
        raise ValueError(
            f"class_weight names {list(class_weight)!r}, but the classes are {labels.tolist()}. "
            "Name them as y does."
        )
