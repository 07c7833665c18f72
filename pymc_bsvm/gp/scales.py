"""Robust scales of targets and of distances between rows, for priors in their units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.spatial import cKDTree
from scipy.special import gammaincinv

from pymc_bsvm._typing import Array

__all__ = ["Distances", "diameter_of", "distances_of", "inverse_gamma_between", "spread_of"]

_OF_MEDIAN = 1.4826022185056018  # a Gaussian's standard deviation over its median absolute one
_OF_MEAN = 1.2533141373155001  # over its mean absolute one
_QUERIES = 500  # rows whose nearest neighbours are looked up
_LEAST_RATIO = 10.0  # of the longest distance to the shortest


class Distances(NamedTuple):
    """The shortest and the longest distance along which a function of the rows can be seen."""

    short: float
    long: float


def spread_of(values: Array) -> float:
    """Return a standard deviation that outliers hardly change; zero only for equal values.

    It is 1.4826 times the median absolute deviation from the median. Where more than half of the
    values are equal that is zero, and 1.2533 times the mean absolute deviation takes its place.
    """
    away = np.abs(values - np.median(values))
    return float(_OF_MEDIAN * np.median(away) or _OF_MEAN * np.mean(away))


def diameter_of(X: Array) -> float:
    """Return twice the distance from the median within which 95 % of the rows are.

    At most the diagonal of the box around all rows, and that where 95 % are equal.
    """
    away = np.linalg.norm(X - np.median(X, axis=0), axis=1)
    box = float(np.linalg.norm(np.ptp(X, axis=0)))
    return min(2.0 * float(np.quantile(away, 0.95)), box) or box


def distances_of(X: Array, ratio: float) -> Distances:
    """Return the median distance to the nearest other row, and the diameter of the rows.

    The shorter is at most a tenth of the longer, as rows of many columns are all far apart, and at
    least ``1 / ratio`` of it, as many rows resolve more than is to be expected. Rows that are
    repeated count once. At least one column varies.
    """
    long = diameter_of(X)
    rows = np.unique(X, axis=0)
    some = np.unique(np.linspace(0, len(rows) - 1, _QUERIES).astype(int))
    short = float(np.median(cKDTree(rows).query(rows[some], k=2)[0][:, 1]))
    return Distances(float(np.clip(short, long / ratio, long / _LEAST_RATIO)), long)


def inverse_gamma_between(
    low: float, high: float, below: float, above: float
) -> tuple[float, float]:
    """Return shape and scale of the inverse gamma with these masses below and above.

    Its quantiles are ``scale / q`` for quantiles q of a gamma of the same shape, so that the ratio
    of two of them fixes the shape.
    """

    def log_ratio(log_shape: float) -> Any:
        shape = np.exp(log_shape)
        return np.log(gammaincinv(shape, 1.0 - below)) - np.log(gammaincinv(shape, above))

    shape = float(np.exp(brentq(lambda x: log_ratio(x) - np.log(high / low), -3.0, 7.0)))
    return shape, low * float(gammaincinv(shape, 1.0 - below))
