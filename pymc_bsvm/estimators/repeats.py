"""Rows that stand several times in the data, each as one that counts as often."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array

__all__ = ["Merged", "merged"]


class Merged(NamedTuple):
    """The rows that differ, in the order in which they first occur."""

    rows: NDArray[np.intp]
    """Where they are among all."""
    weight: Array
    """How often each counts in all."""
    pair: NDArray[np.intp]
    """A row and its first repetition."""


def merged(data: Array, weight: Array | None) -> Merged | None:
    """Return the rows that differ; None if they all do."""
    _, first, place = np.unique(data, axis=0, return_index=True, return_inverse=True)
    if first.size == len(data):
        return None
    order = np.argsort(first)
    repetition = np.flatnonzero(first[place] != np.arange(len(data)))[0]
    return Merged(
        first[order],
        np.bincount(place, weight)[order].astype(float),
        np.array([first[place[repetition]], repetition]),
    )
