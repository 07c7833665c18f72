"""Inducing points with a remainder that is local: the partially independent conditional (PIC).

The covariance is that of the inducing points plus, for rows of the same cell, what these leave out:
``K = Phi Phi' + blockdiag(D)``. Without cells the remainder is left out, which is the machine on
inducing points; with one cell, or without points, it is the whole kernel, or experts of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial import cKDTree

from pymc_bsvm.losses import SILF

__all__ = ["Kernel", "Partial", "greedy"]

type Array = NDArray[np.float64]

JITTER, OFFSET = 1e-6, 1.0
MOST, CLOSE = 60, 1e-9  # Newton steps, and the gain of the last one for each nat of the objective


class Kernel(NamedTuple):
    """A Gaussian kernel with a length-scale for each column."""

    ls: Array
    variance: float

    def __call__(self, A: Array, B: Array) -> Array:
        """Return the covariances of rows of A with rows of B."""
        A, B = A / self.ls, B / self.ls
        squares = (A**2).sum(1)[:, None] + (B**2).sum(1) - 2.0 * A @ B.T
        return self.variance * np.exp(-0.5 * np.maximum(squares, 0.0))


def greedy(kernel: Kernel, X: Array, count: int) -> Array:
    """Return the rows that Cholesky's factorisation with pivots comes to first."""
    left, G, chosen = np.full(len(X), kernel.variance), np.zeros((len(X), count)), []
    for j in range(count):
        i = int(left.argmax())
        if left[i] < 1e-8 * kernel.variance:
            break
        chosen.append(i)
        G[:, j] = (kernel(X, X[i : i + 1])[:, 0] - G[:, :j] @ G[i, :j]) / np.sqrt(left[i])
        left = np.maximum(left - G[:, j] ** 2, 0.0)
    return X[chosen]


class Cell(NamedTuple):
    """A cell at the curvatures W: its rows, and B = I + W^1/2 D W^1/2 in triangular form."""

    rows: NDArray[np.intp]
    s: Array
    """Square roots of the curvatures."""
    root: Array
    """Cholesky's factor of B."""
    T: Array
    """The features times s, solved by the factor."""


class Partial:
    """The fit at given hyperparameters, by Newton's method.

    Parameters
    ----------
    X, y : ndarray
        Rows and targets.
    kernel : Kernel
        The kernel, to which a constant is added.
    loss : SILF
        The loss.
    Z : ndarray
        Inducing points.
    cells : sequence of ndarray
        The rows of each cell.
    local : bool
        Whether the remainder counts.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        kernel: Kernel,
        loss: SILF,
        Z: Array,
        cells: Sequence[NDArray[np.intp]],
        local: bool,
    ) -> None:
        self.X, self.y, self.kernel, self.loss, self.Z = X, y, kernel, loss, Z
        jitter = JITTER * kernel.variance
        self.L = np.linalg.cholesky(kernel(Z, Z) + jitter * np.eye(len(Z)))
        self.Phi, self.parts, self.local = self.features(X), cells, local
        self.D = [
            self.remainder(X[c], X[c], self.Phi[c], self.Phi[c]) + jitter * np.eye(len(c))
            if local
            else np.zeros((0, 0))
            for c in cells
        ]
        self.a, self.f = self.mode()
        self.cells, self.M = self.factor(loss.smooth_curvature(y, self.f))
        self.w = self.Phi.T @ self.a
        self.where = np.empty(len(X), dtype=int)
        for k, c in enumerate(cells):
            self.where[c] = k

    def features(self, X: Array) -> Array:
        """Return features whose products are the covariances by way of the points."""
        phi = solve_triangular(self.L, self.kernel(self.Z, X), lower=True).T
        return np.column_stack([phi, np.full(len(X), OFFSET**0.5)])

    def remainder(self, A: Array, B: Array, of_A: Array, of_B: Array) -> Array:
        """Return the covariances that the points leave out."""
        return self.kernel(A, B) + OFFSET - of_A @ of_B.T

    def times(self, a: Array) -> Array:
        """Return K a."""
        f = self.Phi @ (self.Phi.T @ a)
        if self.local:
            for c, D in zip(self.parts, self.D, strict=True):
                f[c] += D @ a[c]
        return f

    def factor(self, W: Array) -> tuple[list[Cell], Array]:
        """Return the cells at these curvatures, and the factor of I + sum T'T."""
        found, M = [], np.eye(self.Phi.shape[1])
        for c, D in zip(self.parts, self.D, strict=True):
            s = np.sqrt(W[c])
            T = s[:, None] * self.Phi[c]
            root = np.zeros((0, 0))
            if self.local:
                root = np.linalg.cholesky(np.eye(len(c)) + s[:, None] * D * s)
                T = solve_triangular(root, T, lower=True)
            M += T.T @ T
            found.append(Cell(c, s, root, T))
        return found, np.linalg.cholesky(M)

    def step(self) -> Array:
        """Return the duals after a Newton step, ``(I + W K)^-1 (W f - l')``."""
        W = self.loss.curvature(self.y, self.f)
        b = W * self.f - self.loss.derivative(self.y, self.f)
        cells, M = self.factor(W)
        v, total = self.times(b), np.zeros(self.Phi.shape[1])
        halves = []
        for cell in cells:
            x = cell.s * v[cell.rows]
            halves.append(solve_triangular(cell.root, x, lower=True) if self.local else x)
            total += cell.T.T @ halves[-1]
        total = solve_triangular(M.T, solve_triangular(M, total, lower=True))
        a = b.copy()
        for cell, half in zip(cells, halves, strict=True):
            x = half - cell.T @ total
            x = solve_triangular(cell.root.T, x) if self.local else x
            a[cell.rows] -= cell.s * x
        return a

    def mode(self) -> tuple[Array, Array]:
        """Return the duals and the latent values of the MAP estimate."""
        self.a = self.f = np.zeros(len(self.y))
        value = self.objective(self.a, self.f)
        for _ in range(MOST):
            a = self.step()
            f, t = self.times(a), 1.0
            while t > 1e-6:
                new = self.a + t * (a - self.a), self.f + t * (f - self.f)
                if (reached := self.objective(*new)) <= value:
                    break
                t *= 0.3
            gain, value = value - reached, min(reached, value)
            if gain >= 0.0:
                self.a, self.f = new
            if abs(gain) < CLOSE * (1.0 + abs(value)):
                return self.a, self.f
        raise RuntimeError("Newton's method did not converge.")

    def objective(self, a: Array, f: Array) -> float:
        """Return the negative log posterior, but for a constant."""
        return float(self.loss.value(self.y, f).sum() + 0.5 * a @ f)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means and variances of the function at new rows.

        A new row is in the cell of the nearest row.
        """
        nearest = cKDTree(self.X / self.kernel.ls).query(X / self.kernel.ls)[1]
        of_cell, phi = self.where[nearest], self.features(X)
        mean = phi @ self.w
        left = np.maximum(self.kernel.variance + OFFSET - (phi**2).sum(1), 0.0)
        if self.local:
            for k in np.unique(of_cell):
                new, cell = of_cell == k, self.cells[k]
                r = self.remainder(self.X[cell.rows], X[new], self.Phi[cell.rows], phi[new])
                mean[new] += r.T @ self.a[cell.rows]
                u = solve_triangular(cell.root, cell.s[:, None] * r, lower=True)
                left[new] = np.maximum(left[new] - (u**2).sum(0), 0.0)
                phi[new] -= u.T @ cell.T
        return mean, left + (solve_triangular(self.M, phi.T, lower=True) ** 2).sum(0)
