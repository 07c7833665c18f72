"""The posterior density of the hyperparameters of a machine, by its own evaluations."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import qmc

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import MachineEvidence
from pymc_bsvm.search.hessian import nearest_gaussian

__all__ = ["SPREAD", "LogDensity", "Moments"]

SPREAD = 1.5  # of the logarithms of hyperparameters, a priori
_REACH = 20.0  # spreads from a start; what a trajectory that diverges does not have to survive
_POINTS = 1000  # from which evaluations may start
_TAIL = 0.5 * np.log(6.0)  # C of exponential noise with the variance of a flat one of half width 1
_ROUNDS, _WIDER = 3, 2.0  # of points that are weighted, half of them drawn so much further out


class Moments(NamedTuple):
    """The mean and the covariance of a density, roughly."""

    mean: Array
    covariance: Array


class LogDensity:
    """The log posterior density of hyperparameters, and its gradient.

    That is the log evidence with log-normal priors around the starts, as in `sampling.model_of`.
    Where the approximation fails, and twenty standard deviations of the prior away from a start,
    it is -inf.

    Its coordinates are the logarithms of the hyperparameters, but for C and epsilon of one loss.
    What targets tell of these two is mostly how wide the noise is, by a narrow bent ridge. With
    ``c = C / sqrt(6)``, the coordinates are the logarithms of the width ``epsilon + 1 / c`` and of
    the shape ``c epsilon``, along which the ridge is straight: flat noise and noise that is all
    tails have the same standard deviation there. The determinant of the change is one.

    Parameters
    ----------
    objective : MachineEvidence
        The evidence; a prior that the search had is left out.
    """

    def __init__(self, objective: MachineEvidence) -> None:
        blueprint = replace(objective.blueprint, prior=None)
        self._evidence = MachineEvidence(
            blueprint, objective.X, objective.y, objective.sample_weight
        )
        self._evidence.forget(most=_POINTS)
        self.names = [h.name for h in blueprint.hyperparameters]
        self._starts = np.log([h.start for h in blueprint.hyperparameters])
        self._constant = -len(self.names) * np.log(SPREAD * np.sqrt(2.0 * np.pi))
        stems = [h.stem for h in blueprint.likelihood.free]
        self._ridge = [stems.index(stem) for stem in ("C", "epsilon") if stem in stems]
        self.evaluations = 0

    def logarithms(self, u: Array) -> Array:
        """Return the logarithms of the hyperparameters at coordinates, of shape (..., k)."""
        x = u.copy()
        if len(self._ridge) == 2:
            width, shape = np.moveaxis(u[..., self._ridge], -1, 0)
            rate = np.logaddexp(0.0, shape) - width
            x[..., self._ridge] = np.stack([rate + _TAIL, shape - rate], axis=-1)
        return x

    def coordinates(self, x: Array) -> Array:
        """Return the coordinates of logarithms of the hyperparameters, of shape (..., k)."""
        u = x.copy()
        if len(self._ridge) == 2:
            rate, tube = np.moveaxis(x[..., self._ridge] - [_TAIL, 0.0], -1, 0)
            u[..., self._ridge] = np.stack([np.logaddexp(tube, -rate), rate + tube], axis=-1)
        return u

    def value(self, u: Array) -> float:
        """Return the log density alone."""
        x = self.logarithms(u)
        away = (x - self._starts) / SPREAD
        if not (np.abs(away) <= _REACH).all():
            return -np.inf
        self.evaluations += 1
        return float(self._evidence.value(x) - 0.5 * float(away @ away) + self._constant)

    def __call__(self, u: Array) -> tuple[float, Array]:
        """Return the log density and its gradient."""
        x = self.logarithms(u)
        away = (x - self._starts) / SPREAD
        value, slope = -np.inf, np.zeros_like(u)
        if (np.abs(away) <= _REACH).all():
            self.evaluations += 1
            value, slope = self._evidence(x)
        if not np.isfinite(value):
            return -np.inf, np.zeros_like(u)
        slope = slope - away / SPREAD
        if len(self._ridge) == 2:
            of_rate, of_tube = slope[self._ridge]
            flat = expit(u[self._ridge[1]])  # share of the tube in the width
            slope[self._ridge] = of_tube - of_rate, flat * of_rate + (1.0 - flat) * of_tube
        return value - 0.5 * float(away @ away) + self._constant, slope

    def moments(self, x: Array) -> Moments | None:
        """Return the mean and the covariance near a mode, None if no Gaussian is near it.

        Later evaluations start from where those for it ended. They depend on their point alone, so
        that draws are the same in one process and in several.
        """
        self(x)
        nearest = nearest_gaussian(self, x, self.names, refuse=lambda name: None)
        found = None if nearest is None else self._weighted(nearest.mean, nearest.covariance)
        self._evidence.hold()
        return found

    def _weighted(self, mean: Array, covariance: Array) -> Moments:
        """Return moments by importance sampling, of a density with longer tails than a Gaussian.

        As many points as count are weighed against as many as there are parameters in a Gaussian,
        as if these had the moments before.
        """
        k = mean.size
        engine = qmc.Halton(k, rng=np.random.default_rng(0))
        normals = qmc.MultivariateNormalQMC(np.zeros(k), engine=engine)
        x, values, sources = np.empty((0, k)), np.empty(0), []
        for _ in range(_ROUNDS):
            u = normals.random(16 * (k + 1))
            u[::2] *= _WIDER
            root = np.linalg.cholesky(covariance)
            x = np.vstack([x, mean + u @ root.T])
            values = np.append(values, [self.value(each) for each in x[values.size :]])
            sources += [(mean, root), (mean, _WIDER * root)]
            logs = values - logsumexp([_log_normal(x, *each) for each in sources], axis=0)
            weights = np.exp(logs - logsumexp(logs))
            counts = 1.0 / float(weights @ weights)
            share = counts / (counts + 0.5 * k * (k + 3))
            centred = x - weights @ x
            scatter = (centred.T * weights) @ centred
            mean = share * (weights @ x) + (1.0 - share) * mean
            covariance = share * scatter + (1.0 - share) * covariance
        return Moments(mean, covariance)


def _log_normal(x: Array, mean: Array, root: Array) -> Array:
    """Return the log density of a Gaussian, up to a constant."""
    u = np.linalg.solve(root, (x - mean).T)
    return np.asarray(-0.5 * (u**2).sum(axis=0) - np.log(root.diagonal()).sum())
