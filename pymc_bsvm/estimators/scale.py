"""The units of an estimator: standardised columns inside, the user's units outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.repeats import merged

__all__ = ["Scale"]

_NEGLIGIBLE = 10.0 * float(np.finfo(float).eps)  # relative; spread that is rounding
_HALF = 2.0**-26


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
        """Return the map to mean zero and variance one; constant columns are only centred.

        It is the same to the last digit whether a row stands twice or has the weight two.
        """
        found = merged(x, sample_weight)
        if found is not None:
            x, sample_weight = x[found.rows], found.weight
        centre = np.average(x, axis=0, weights=sample_weight)
        spread = np.sqrt(np.average((x - centre) ** 2, axis=0, weights=sample_weight))
        return cls.of_moments(centre, spread)

    @classmethod
    def of_moments(cls, centre: Array, spread: Array) -> Scale:
        """Return the map from means and standard deviations."""
        negligible = spread <= _NEGLIGIBLE * np.abs(centre)
        return cls(centre, np.where(negligible | (spread == 0.0), 1.0, spread))

    @classmethod
    def of_targets(cls, y: Array, sample_weight: Array | None) -> Scale:
        """Return the map of targets, of shape (n, 1), to mean zero and variance one.

        Targets that do not vary have no spread. One target alone has its own size for it; of
        several that are equal half of the digits, ``2^-26`` of their size, as there is no reason to
        doubt the first half. The size of zero is one.
        """
        return cls.of(y, sample_weight).for_targets(float(np.ptp(y)), y.size)

    def for_targets(self, length: float, n: int) -> Scale:
        """Return the map of n targets, from lowest to highest so far apart, as `of_targets`."""
        if length > _NEGLIGIBLE * np.abs(self.centre[0]):
            return self
        size = abs(float(self.centre[0])) or 1.0
        return Scale(self.centre, np.array([size if n == 1 else _HALF * size]))

    def __call__(self, x: Array) -> Array:
        """Map into the estimator's units."""
        return np.ascontiguousarray((x - self.centre) / self.spread)
