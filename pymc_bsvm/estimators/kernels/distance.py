"""Scaled distances between rows and what length-scales do to them, for stationary kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.block import blocks
from pymc_bsvm.search import Hyperparameter

__all__ = [
    "length_scale_slopes",
    "length_scales",
    "of_pymc",
    "squared_distances",
    "squared_distances_to",
]

# ln kappa in [-17, 10] with kappa = 1 / ls², section 4.4 of [Chu03]_
_SHORT, _LONG = math.exp(-5.0), math.exp(8.5)


def length_scales(d: int, ard: bool) -> tuple[Hyperparameter, ...]:
    """Return one length-scale, or one for each column; they start at ``sqrt(d)``."""
    one = Hyperparameter("ls", math.sqrt(d), _SHORT, _LONG, unit=(1, 0))
    return tuple(one._replace(column=k) for k in range(d)) if ard else (one,)


def squared_distances(X: Array, Z: Array | None, ls: Array) -> Array:
    """Return ``|(x - z) / ls|²`` of all pairs of rows; zero on the diagonal of X with itself.

    Columns are centred first: what they have in common would cost digits.
    """
    center = _center(X)
    A = (X - center) / ls
    B = A if Z is None else (Z - center) / ls
    D: Array = A @ B.T
    of_A, of_B = (A * A).sum(axis=1), (B * B).sum(axis=1)
    for rows in blocks(len(D), of_B.size):
        part = D[rows]
        part *= -2.0
        part += of_A[rows, None] + of_B  # in this order it is symmetric
        np.maximum(part, 0.0, out=part)
    if Z is None:
        np.fill_diagonal(D, 0.0)
    return D


def squared_distances_to(X: Array, ls: Array) -> Callable[[int], Array]:
    """Return a function of a row that returns its `squared_distances` to all rows."""
    A = (X - _center(X)) / ls
    squares = (A * A).sum(axis=1)

    def row(k: int) -> Array:
        D = A @ (-2.0 * A[k])
        D += squares
        D += squares[k]
        np.maximum(D, 0.0, out=D)
        D[k] = 0.0
        return np.asarray(D)

    return row


def length_scale_slopes(A: Array, X: Array, Z: Array | None, ls: Array) -> Array:
    """Return ``sum_ij A_ij (x_i - z_j)² / ls²`` for each length-scale.

    Without Z, the rows are those of X, and A is symmetric.
    """
    center = _center(X)
    Y = (X - center) / ls
    of_rows = A.sum(axis=1) @ (Y * Y)
    if Z is None:
        of_column: Array = 2.0 * (of_rows - np.einsum("ij,ij->j", Y, A @ Y))
    else:
        W = (Z - center) / ls
        of_column = of_rows + A.sum(axis=0) @ (W * W) - 2.0 * np.einsum("ij,ij->j", Y, A @ W)
    return of_column if ls.size == X.shape[1] and ls.size > 1 else of_column.sum(keepdims=True)


def _center(X: Array) -> Array:
    """Return the means of the columns, zero if there are no rows."""
    center: Array = X.sum(axis=0) / max(X.shape[0], 1)
    return center


def of_pymc(name: str, values: Any, d: int, ard: bool) -> Any:
    """Return ``eta² name(d, ls)`` with the covariance function of PyMC of that name."""
    import pymc as pm

    ls = values[1:] if ard else values[1]
    return getattr(pm.gp.cov, name)(d, ls=ls) * values[0] ** 2
