"""How often rows of each class count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
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
    if isinstance(class_weight, Mapping):
        for label, value in class_weight.items():
            if value < 0.0:
                raise ValueError(
                    f"class_weight must not be negative, but for {label!r} it is {value!r}. "
                    "Pass how often rows of the class count."
                )
    if isinstance(class_weight, str) and class_weight == "balanced":
        counted = total > 0.0
        mean = total.sum() / np.count_nonzero(counted)
        return ByClass(labels, np.where(counted, mean / np.where(counted, total, 1.0), 0.0))
    factors = compute_class_weight(class_weight, classes=labels, y=labels)
    return ByClass(labels, np.asarray(factors, dtype=float))
