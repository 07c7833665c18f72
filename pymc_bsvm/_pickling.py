"""Pickles of objects that hold a PyMC model or a graph, which the standard pickle refuses."""

from __future__ import annotations

from typing import Any

import cloudpickle

__all__ = ["ByCloudpickle"]


class ByCloudpickle:
    """An object whose pickle contains its attributes as `cloudpickle` writes them.

    So it goes to other processes by any way. What it shares with another object, such as a model,
    is one copy more for each of them.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how to restore it."""
        return _restored, (type(self), cloudpickle.dumps(vars(self)))


def _restored[T](cls: type[T], attributes: bytes) -> T:
    value = object.__new__(cls)
    vars(value).update(cloudpickle.loads(attributes))
    return value
