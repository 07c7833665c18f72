"""Particles on a path of densities from a Gaussian to the posterior of the latent values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.diagnosis.propagation import SiteGaussian
from pymc_bsvm.losses import Loss

__all__ = ["Path", "Run", "anneal"]

_MOST_SHRINKS = 200  # of a slice: 2^-200 of a turn is none at all


@dataclass(frozen=True)
class Path:
    """Log densities with respect to the base, from zero at t = 0 to the posterior at t = 1."""

    y: Array
    m: Array
    loss: Loss
    base: SiteGaussian

    def __call__(self, g: Array, t: float) -> Array:
        """Return the log densities of particles ``g = f - m``, of shape (particles,)."""
        return -t * (self._energy(self.m + g, t) + self.base.log_sites(g))

    def _energy(self, f: Array, t: float) -> Array:
        """Return the losses; short of the posterior they go on linearly before a wall."""
        wall = self.loss.wall
        if t == 1.0 or np.all(wall == -math.inf):
            return np.asarray(self.loss.value(self.y, f).sum(axis=1))
        margin, floor = self.y * f, t * wall
        slope = self.loss.derivative(1.0, floor)
        value = self.loss.value(1.0, np.maximum(margin, floor))
        return np.asarray((value + slope * np.minimum(margin - floor, 0.0)).sum(axis=1))


class Run(NamedTuple):
    """The end of one annealing."""

    log_weights: Array
    white: Array
    """Coordinates of the particles with respect to the base, of shape (particles, rank)."""


class Particles(NamedTuple):
    """Particles ``g = base.mean + base.root e``, and their log densities on the path."""

    e: Array
    g: Array
    log_density: Array


def anneal(
    path: Path,
    temperatures: Array,
    particles: int,
    rng: np.random.Generator,
    tick: Callable[[], object],
) -> Run:
    """Return particles and log weights whose exponentials have the mean ``E_base[posterior]``."""
    base = path.base
    e = rng.standard_normal((particles, base.root.shape[1]))
    state = Particles(e, base.mean + e @ base.root.T, np.zeros(particles))
    log_weights = np.zeros(particles)
    for _, t in itertools.pairwise(temperatures):
        raised = path(state.g, t)
        log_weights += raised - state.log_density
        state = _slice_move(state._replace(log_density=raised), path, t, rng)
        tick()
    return Run(log_weights, state.e)


def _slice_move(state: Particles, path: Path, t: float, rng: np.random.Generator) -> Particles:
    """Move every particle once by elliptical slice sampling, which leaves the density at t."""
    base, count = path.base, len(state.e)
    other = rng.standard_normal(state.e.shape)
    centred, across = state.g - base.mean, other @ base.root.T
    level = state.log_density - rng.exponential(size=count)
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    low, high = angle - 2.0 * np.pi, angle.copy()
    g, log_density, turned = state.g.copy(), state.log_density.copy(), np.zeros(count)
    moving = np.arange(count)
    for _ in range(_MOST_SHRINKS):
        turn = angle[moving, None]
        proposal = base.mean + centred[moving] * np.cos(turn) + across[moving] * np.sin(turn)
        value = path(proposal, t)
        accepted = value >= level[moving]
        done = moving[accepted]
        g[done], log_density[done], turned[done] = proposal[accepted], value[accepted], angle[done]
        moving = moving[~accepted]
        if not moving.size:
            break
        below = angle[moving] < 0.0
        low[moving[below]] = angle[moving[below]]
        high[moving[~below]] = angle[moving[~below]]
        angle[moving] = rng.uniform(low[moving], high[moving])
    e = state.e * np.cos(turned)[:, None] + other * np.sin(turned)[:, None]
    return Particles(e, g, log_density)
