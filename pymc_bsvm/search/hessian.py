"""The Gaussian nearest to a density of hyperparameters, by regression on a quadratic."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from pymc_bsvm._typing import Array

__all__ = ["Density", "Hessian", "nearest_gaussian"]

Density = Callable[[Array], tuple[float, Array]]
"""A log density and its gradient, for an array of shape (k,)."""

_LOGGER = logging.getLogger("pymc_bsvm")
_DROP = 0.5  # nats: how far a Gaussian falls at one standard deviation
_NEAR, _FAR = 0.1, 16.0  # the first and the longest step that look for it along each axis
_ROUNDS, _BOLD, _SETTLED_ROUNDS = 30, 5, 2  # in all; with full steps; without change at the end
_SETTLED = 0.1  # change of the covariance and the mean, in standard deviations
_STRETCH = 2.0  # largest change of a standard deviation, and of the centre, in one round


@dataclass(frozen=True)
class Hessian:
    """The Gaussian nearest to the posterior of the hyperparameters, on the unconstrained space."""

    names: list[str]
    mean: Array
    """Mean, of shape (k,)."""
    covariance: Array
    """Inverse of the negative mean Hessian of the log density, of shape (k, k)."""


@dataclass
class _Points:
    """All points of all rounds, and the Gaussians they were drawn from."""

    x: list[Array]
    values: list[float]
    gradients: list[Array]
    sources: list[tuple[Array, Array]]

    def evaluate(self, density: Density, centre: Array, root: Array, u: Array) -> None:
        self.sources.append((centre, np.linalg.inv(root)))
        for row in u:
            x = centre + root @ row
            value, gradient = density(x)
            if np.isfinite(value):
                self.x.append(x)
                self.values.append(value)
                self.gradients.append(gradient)

    def weights(self) -> Array:
        """Return the density of the last Gaussian relative to the mixture of all of them."""
        x = np.array(self.x)
        logs = np.array(
            [
                np.linalg.slogdet(inverse)[1] - 0.5 * (((x - centre) @ inverse.T) ** 2).sum(axis=1)
                for centre, inverse in self.sources
            ]
        )
        weights: Array = np.exp(logs[-1] - np.logaddexp.reduce(logs, axis=0))
        return weights


def nearest_gaussian(
    density: Density,
    x: Array,
    names: list[str],
    callback: Callable[[], object] = lambda: None,
    refuse: Callable[[str], object] | None = None,
) -> Hessian | None:
    """Return the Gaussian nearest to a density, near one of its modes.

    A sparse evidence ripples where single rows enter or leave the support vectors, so that its
    curvature at one point says little. Here a quadratic is fitted to values and gradients of the
    log density, over draws of the Gaussian that it stands for, until the two agree. That is the
    Gaussian q of the least KL(q || p) (Salimans and Knowles, 2013). On a quadratic it is exact.

    Parameters
    ----------
    density : callable
        Log density p and its gradient.
    x : ndarray of shape (k,)
        Where it is looked for.
    names : list of str
        Names of the k coordinates.
    callback : callable
        Called after each round.
    refuse : callable, optional
        Called with the name of a coordinate along which there is none; by default it warns that a
        fit has no error bars.

    Returns
    -------
    Hessian or None
        None if there is no such Gaussian.
    """
    refuse = refuse or _refuse
    centre = np.array(x, dtype=float)
    steps = np.array([_axis_step(density, centre, k) for k in range(centre.size)])
    if not np.isfinite(steps).all():
        refuse(names[int(np.isfinite(steps).argmin())])
        return None
    root = np.diag(steps)
    normals = qmc.MultivariateNormalQMC(
        np.zeros(centre.size), engine=qmc.Halton(centre.size, rng=np.random.default_rng(0))
    )
    points = _Points([], [], [], [])
    settled = 0
    for number in range(_ROUNDS):
        points.evaluate(density, centre, root, normals.random(4 * centre.size + 12))
        callback()
        slope, curvature = _quadratic(points, centre, root)
        spread, axes = np.linalg.eigh(curvature)
        flat = root @ axes[:, 0]
        bounded = np.clip(spread, _STRETCH**-2, _STRETCH**2)
        move = axes @ ((axes.T @ slope) / bounded)
        move *= min(1.0, _STRETCH / (np.linalg.norm(move) + 1e-300))
        if number >= _BOLD:  # half steps, lest the Gaussian and its points chase each other
            move, bounded = 0.5 * move, np.sqrt(bounded)
        centre, root = centre + root @ move, root @ (axes / np.sqrt(bounded)) @ axes.T
        near = np.abs(spread - 1.0).max() <= _SETTLED and np.linalg.norm(move) <= _SETTLED
        settled = settled + 1 if near else 0
        if settled == _SETTLED_ROUNDS:
            return Hessian(names, centre, root @ root.T)
    refuse(names[int(np.abs(flat).argmax())])
    return None


def _axis_step(density: Density, x: Array, k: int) -> float:
    """Return a step along an axis at which the density falls by `_DROP` or so, or NaN."""
    height, axis = density(x)[0], np.eye(x.size)[k]

    def drop(step: float) -> float:
        return height - 0.5 * (density(x + step * axis)[0] + density(x - step * axis)[0])

    step = _NEAR
    while drop(step) < _DROP:
        step *= 2.0
        if step > _FAR:
            return np.nan
    while drop(step) > 8.0 * _DROP and step > 1e-8:
        step *= 0.5
    return step


def _quadratic(points: _Points, centre: Array, root: Array) -> tuple[Array, Array]:
    """Return slope b and curvature A of the quadratic f + b'u - u'Au / 2 at centre + root u."""
    u = np.linalg.solve(root, (np.array(points.x) - centre).T).T
    values, slopes = np.array(points.values), np.array(points.gradients) @ root
    m, k = u.shape
    i, j = np.triu_indices(k)
    twice = np.where(i == j, 0.5, 1.0)
    eye = np.broadcast_to(np.eye(k), (m, k, k))
    change = -twice * (u[:, None, i] * eye[:, :, j] + u[:, None, j] * eye[:, :, i])
    by_value = np.hstack([np.ones((m, 1)), u, -twice * u[:, i] * u[:, j]])
    by_slope = np.concatenate([np.zeros((m, k, 1)), eye, change], axis=2).reshape(m * k, -1)
    weights = np.sqrt(points.weights())
    by_value, values = by_value * weights[:, None], values * weights
    rows = np.repeat(weights, k)
    by_slope, slopes = by_slope * rows[:, None], slopes.reshape(-1) * rows
    ratio = 0.3  # of the ripples of values and of slopes, found from the residuals
    for _ in range(3):
        solution, *_ = np.linalg.lstsq(
            np.vstack([by_value, ratio * by_slope]), np.concatenate([values, ratio * slopes])
        )
        rough = np.linalg.norm(by_slope @ solution - slopes) / np.sqrt(k)
        ratio = np.clip(np.linalg.norm(by_value @ solution - values) / (rough + 1e-300), 0.01, 1.0)
    curvature = np.zeros((k, k))
    curvature[i, j] = solution[1 + k :]
    return solution[1 : 1 + k], curvature + np.triu(curvature, 1).T


def _refuse(name: str) -> None:
    _LOGGER.warning(
        "fit_evidence: the density falls off like no Gaussian along %s around the mode. "
        "The fit has no error bars; sample instead.",
        name,
    )
