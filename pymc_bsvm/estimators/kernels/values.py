"""Hyperparameters of a kernel that are given by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import positive
from pymc_bsvm.estimators.kernels.base import Kernel

__all__ = ["values_of"]


def values_of(kernel: Kernel, d: int, given: Mapping[str, Any] | None) -> Array:
    """Return the values of the kernel's hyperparameters: those given, or else their starts."""
    own = kernel.hyperparameters(d)
    values = np.array([h.start for h in own])
    if given is None:
        return values
    if not isinstance(given, Mapping):
        raise ValueError(
            f"hyperparameters must be a dict or None, but it is {given!r}. "
            "Pass, for example, {'ls': 0.5}."
        )
    for name, value in given.items():
        places = [k for k, h in enumerate(own) if h.variable == name]
        if not places:
            known = ", ".join(dict.fromkeys(repr(h.variable) for h in own))
            raise ValueError(
                f"hyperparameters names {name!r}, which {kernel!r} does not have. "
                f"Pass some of {known}."
            )
        try:
            numbers_given = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must be one number or {len(places)}, but it is {value!r}. "
                "Pass positive numbers."
            ) from None
        positive.check(name, numbers_given)
        if numbers_given.shape not in ((), (len(places),)):
            raise ValueError(
                f"{name} must be one number or {len(places)}, but its shape is "
                f"{numbers_given.shape}. Pass one for each column only if the kernel has ard=True."
            )
        values[places] = numbers_given
    return values
