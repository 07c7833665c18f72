"""The units of an estimator: standardised columns inside, the user's units outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["Scale"]


@dataclass(frozen=True)
class Scale:
    """An affine map, ``(x - centre) / spread``, column by column."""

    centre: Array
    spread: Array

    @classmethod
    def none(cls, d: int) -> Scale:
        """Return the map that changes nothing."""
        return cls(np.zeros(d), np.ones(d))

    @classmethod
    def of(cls, x: Array, sample_weight: Array | None) -> Scale:
        """Return the map to mean zero and variance one; constant columns are only centred."""
        centre = np.average(x, axis=0, weights=sample_weight)
        spread = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=sample_weight))
        negligible = spread <= 10.0 * np.finfo(float).eps * np.abs(centre)
        return cls(centre, np.where(negligible | (spread == 0.0), 1.0, spread))

    def __call__(self, x: Array) -> Array:
        """Map into the estimator's units."""
        return np.ascontiguousarray((x - self.centre) / self.spread)
