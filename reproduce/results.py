"""Look measures up, and say in short what many of them say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduce.cell import Measured
from reproduce.page import number
from reproduce.store import Found

__all__ = ["bounded", "columns", "matching", "paragraphs", "quantiles", "results"]

_TINY = 1e-4


def matching(found: Found, measure: Callable[..., Any], **arguments: Any) -> list[Measured]:
    """Return the measures of a function with some of its arguments."""
    return [
        measured
        for cell, measured in found.items()
        if cell.measure is measure
        and all(cell.arguments.get(name) == value for name, value in arguments.items())
    ]


def results(found: Found, measure: Callable[..., Any], **arguments: Any) -> list[Mapping[str, Any]]:
    """Return what these measures returned."""
    return [measured.result for measured in matching(found, measure, **arguments)]


def columns(found: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """Return one number of each result, without those that are None."""
    return [float(each[name]) for each in found if each.get(name) is not None]


def paragraphs(parts: Iterable[str]) -> str:
    """Join what is there, with empty lines between."""
    return "\n\n".join(stripped for part in parts if (stripped := part.strip()))


def bounded(value: float, digits: int = 3) -> str:
    """Return a number; of tiny ones only that they are tiny."""
    return number(value, digits) if abs(value) >= _TINY or value == 0.0 else f"<{_TINY:g}"


def quantiles(values: Sequence[float], digits: int = 3) -> str:
    """Return the median, with the tenth and the ninetieth percentile if there are several."""
    if not values:
        return ""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    if len(values) == 1:
        return bounded(middle, digits)
    return f"{bounded(middle, digits)} ({bounded(low, digits)} to {bounded(high, digits)})"
