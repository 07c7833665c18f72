"""Nodes and weights for integrals of densities that are near a standard normal."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["Design", "DesignKind", "central_composite", "design_of", "grid"]

type DesignKind = Literal["auto", "ccd", "grid"]

_GRIDS = {1: (15, 0.8), 2: (11, 0.9)}  # points of each axis, and their distance
_FINE, _WIDE = 0.5, 0.8  # kernels between the points of a grid, and between few points
# Walsh functions whose products of two differ from one another (Sanchez and Sanchez, 2005)
_WALSH = (1, 2, 4, 8, 15, 16, 32, 51, 64, 85, 106, 128, 150, 171, 219, 237)


@dataclass(frozen=True)
class Design:
    """A rule: the integral of g is the sum of ``exp(log_weights) * g(nodes)``."""

    nodes: Array
    """Of shape (number of nodes, k), in standard deviations; the centre is among them."""
    log_weights: Array
    """Of shape (number of nodes,)."""
    bandwidth: float
    """Standard deviation of the kernels that a density at the nodes is smoothed with."""


def grid(k: int) -> Design:
    """Return the trapezoidal rule: 15 nodes on a line, 11 by 11 in the plane."""
    if k not in _GRIDS:
        raise ValueError(
            f"A grid is for one or two hyperparameters, but there are {k}. "
            "Use design='ccd' or 'auto'."
        )
    count, step = _GRIDS[k]
    axis = step * (np.arange(count) - count // 2)
    nodes = np.array(list(itertools.product(axis, repeat=k)))
    return Design(nodes, np.full(len(nodes), k * np.log(step)), _FINE)


def central_composite(k: int) -> Design:
    r"""Return a centre, a star of 2k nodes and corners of a cube, all at distance ``√(k + 2)``.

    With the standard normal density the rule is exact for polynomials of degree four (five, up to
    four hyperparameters): the weights of the centre, of each arm and of all corners together are

    .. math::

        \frac{2}{k + 2}, \qquad \frac{1}{(k + 2)^2}, \qquad \frac{k^2}{(k + 2)^2}.

    Up to four hyperparameters it takes all corners, ``2**k``; above, a fraction of resolution V:
    16 for five, 32 for six, 64 for seven and eight, 128 up to eleven, 256 up to sixteen.
    """
    if k > len(_WALSH):
        raise ValueError(
            f"There are {k} hyperparameters, but a design is for at most {len(_WALSH)}. "
            "Sample with pm.sample instead."
        )
    runs = np.arange(2 ** _WALSH[k - 1].bit_length())
    corners = 1.0 - 2.0 * (np.bitwise_count(runs[:, None] & np.array(_WALSH[:k])) % 2)
    star = np.sqrt(k + 2.0) * np.vstack([np.eye(k), -np.eye(k)])
    nodes = np.vstack([np.zeros((1, k)), star, np.sqrt((k + 2.0) / k) * corners])
    parts = [2.0 / (k + 2.0)], np.full(2 * k, (k + 2.0) ** -2)
    shares = np.concatenate([*parts, np.full(runs.size, (k / (k + 2.0)) ** 2 / runs.size)])
    log_density = -0.5 * (nodes**2).sum(axis=1) - 0.5 * k * np.log(2.0 * np.pi)
    return Design(nodes, np.log(shares) - log_density, _WIDE)


def design_of(kind: DesignKind, k: int) -> Design:
    """Return the design of k hyperparameters: "auto" is a grid up to two."""
    if kind not in ("auto", "ccd", "grid"):
        raise ValueError(f"design must be 'auto', 'ccd' or 'grid', but it is {kind!r}. Use 'auto'.")
    return grid(k) if kind == "grid" or (kind == "auto" and k in _GRIDS) else central_composite(k)
