"""Experts on parts of the data: how rows are dealt out, and how predictions are put together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.cluster import MiniBatchKMeans

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import Blueprint, Machine, MachineEvidence
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["Combination", "Part", "SumOfEvidences", "calibration", "combine", "partition"]

type Combination = Literal["rbcm", "gpoe"]

_LOGGER = logging.getLogger("pymc_bsvm")
_WIDEST = 30.0  # what a variance may be multiplied or divided by


@dataclass(frozen=True)
class Part:
    """The rows of one expert."""

    X: Array
    y: Array
    sample_weight: Array | None

    def objective(self, blueprint: Blueprint) -> MachineEvidence:
        """Return the evidence of these rows."""
        return MachineEvidence(blueprint, self.X, self.y, self.sample_weight)


def partition(X: Array, size: int, how: str, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Deal rows out to experts of about equal size.

    "random" gives each expert rows from everywhere, "clustered" rows near each other: clusters that
    are too large are cut at random, and those that are too small are filled up with the nearest.
    """
    n = X.shape[0]
    count = max(1, round(n / size))
    if how == "random" or count == 1:
        return [np.sort(part) for part in np.array_split(rng.permutation(n), count)]
    clusters = MiniBatchKMeans(count, random_state=int(rng.integers(2**31)), n_init=3).fit(X)
    order = _along(clusters.cluster_centers_)[clusters.labels_]
    rows = np.lexsort((rng.random(n), order))  # cluster after cluster, neighbours side by side
    return [np.sort(part) for part in np.array_split(rows, count)]


def _along(centres: Array) -> NDArray[np.intp]:
    """Return the places of cluster centres on a path from each to the nearest that is left."""
    place = np.zeros(len(centres), dtype=np.intp)
    left, current = set(range(len(centres))), int(centres[:, 0].argmin())
    for k in range(len(centres)):
        place[current] = k
        left.discard(current)
        if left:
            others = np.array(sorted(left))
            distance = ((centres[others] - centres[current]) ** 2).sum(axis=1)
            current = int(others[distance.argmin()])
    return place


class SumOfEvidences:
    """The sum of the experts' log evidences, and its gradient.

    Tasks are sent out through joblib one expert at a time and hold all they need, so that they run
    anywhere and again if a worker is lost.
    """

    def __init__(self, blueprint: Blueprint, parts: Sequence[Part], n_jobs: int | None) -> None:
        self.blueprint, self.parts, self.n_jobs = blueprint, parts, n_jobs
        self.evaluations, self.log_evidence = 0, -np.inf

    def forget(self) -> None:
        """Do nothing: no evaluation knows of another."""

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at logarithms of the hyperparameters."""
        self.evaluations += 1
        results = self._map(_evaluate, x)
        self.log_evidence = float(sum(value for value, _ in results))
        gradient = np.sum([slope for _, slope in results], axis=0)
        return self.log_evidence, gradient

    def machines(self, values: Array) -> list[Machine]:
        """Return the experts at values of the hyperparameters."""
        return list(self._map(_machine, values))

    def _map(self, function: Callable[..., Any], x: Array) -> list[Any]:
        tasks = (delayed(function)(self.blueprint, part, x) for part in self.parts)
        return list(Parallel(n_jobs=self.n_jobs)(tasks))


def _evaluate(blueprint: Blueprint, part: Part, x: Array) -> tuple[float, Array]:
    return part.objective(blueprint)(x)


def _machine(blueprint: Blueprint, part: Part, values: Array) -> Machine:
    return Machine.at(part.objective(blueprint), values)


def combine(
    experts: Sequence[Machine], X: Array, how: Combination, scale: float = 1.0
) -> tuple[Array, Array]:
    """Return means and variances of latent values by a product of the experts' predictions.

    With the prior variance s and the experts' means and variances m_k, v_k, an expert counts as
    much as it learned, ``b_k = (log s - log v_k) / 2``. The robust Bayesian committee machine
    ("rbcm") has the precision ``sum b_k / v_k + (1 - sum b_k) / s``; the generalised product of
    experts ("gpoe") divides b by its sum, so that the prior does not enter and the variance is that
    of a typical expert. Both weigh the means by ``b_k / v_k`` (Deisenroth and Ng, 2015).

    Parameters
    ----------
    experts : sequence of Machine
        With the same hyperparameters.
    X : ndarray of shape (n, d)
        New rows.
    how : {"rbcm", "gpoe"}
        The product.
    scale : float
        What the variances are multiplied by.
    """
    if len(experts) == 1:
        mean, variance = experts[0].moments(X)
        return mean, scale * variance
    first = experts[0]
    prior = first.blueprint.diagonal_of_new(first.values, first.X, X)
    weighted, precision, total = np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X))
    for expert in experts:
        mean, variance = expert.moments(X)
        variance = np.maximum(variance, 1e-12 * prior)
        weight = 0.5 * np.log(np.maximum(prior / variance, 1.0))
        weighted += weight * mean / variance
        precision += weight / variance
        total += weight
    learned = total > 0.0
    if how == "gpoe":
        safe = np.where(learned, total, 1.0)
        weighted, precision = weighted / safe, precision / safe
        precision = np.where(learned, precision, 1.0 / prior)
    else:
        precision = np.maximum(precision + (1.0 - total) / prior, 1.0 / prior)
    return weighted / precision, scale / precision


def calibration(
    loss: RegressionLoss, mean: Array, variance: Array, y: Array, how: Combination = "gpoe"
) -> float:
    """Return the factor of the latent variances at which held-out targets are most probable.

    Where the noise is much wider than the function's error the targets say little about it, so
    that the factor is kept between bounds. A product of precisions is never too wide.
    """

    def surprise(log_scale: float) -> float:
        density = RegressionPredictive(mean, np.exp(log_scale) * variance, loss).logpdf(y)
        return -float(density.sum())

    edge = float(np.log(_WIDEST))
    bounds = (0.0 if how == "rbcm" else -edge, edge)
    found = minimize_scalar(surprise, bounds=bounds, method="bounded")
    return float(np.exp(found.x))
