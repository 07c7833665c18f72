"""What a relevance vector machine says of new rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels import Kernel
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from pymc_bsvm.estimators.relevance.search import Chosen

__all__ = ["RelevanceMachine", "Variance"]

type Variance = Literal["relevance", "full"]

_JITTER = 1e-8  # of the variance of each relevance vector


@dataclass(frozen=True, eq=False)
class RelevanceMachine:
    """The function ``f(x) = sum_i w_i k(x, z_i) + w_0`` of the relevance vectors z.

    Its variance vanishes far from all of them. What a Gaussian process with the kernel as its
    covariance adds is the variance that is left when the values at the relevance vectors are known,
    ``eta² (k(x, x) - k(x, z) K⁻¹ k(z, x))``. The amplitude is the most probable one for the
    function that was learned, ``eta² = E[w'K w] / m``.

    References
    ----------
    [PRML]_, (7.90) and (7.91); [RQ05]_ for the flaw.
    """

    kernel: Kernel
    values: Array
    rows: NDArray[np.intp] = field(repr=False)
    """Where the relevance vectors are in the data, in order."""
    Z: Array = field(repr=False)
    """The relevance vectors, in the units of the machine."""
    biased: bool
    """Whether the constant was chosen."""
    weights: Array = field(repr=False)
    """Means of the weights, that of the constant last."""
    covariance: Array = field(repr=False)
    alpha: Array = field(repr=False)
    """Prior precisions of the weights."""

    @classmethod
    def of(cls, dictionary: Dictionary, chosen: Chosen) -> Self:
        """Take what predictions need."""
        order = np.argsort(chosen.places)  # the constant is last
        places, n = chosen.places[order], dictionary.n
        rows = places[places < n]
        return cls(
            dictionary.kernel,
            dictionary.values,
            rows,
            dictionary.kernel.take(dictionary.X, rows),
            bool(places.size > rows.size),
            chosen.mean[order],
            chosen.covariance[np.ix_(order, order)],
            chosen.alpha[order],
        )

    @property
    def amplitude(self) -> float:
        """``eta²`` of the process whose variance is added; one without relevance vectors."""
        m = self.rows.size
        if m == 0:
            return 1.0
        w, covariance = self.weights[:m], self.covariance[:m, :m]
        K = self.kernel.matrix(self.values, self.Z)
        return float(np.vdot(K, np.outer(w, w) + covariance)) / m

    def mean(self, X: Array) -> Array:
        """Return the means of the function at rows."""
        mean: Array = self.weights @ self._columns(X)
        return mean

    def moments(self, X: Array, variance: Variance) -> tuple[Array, Array]:
        """Return the means and variances of the function at rows."""
        columns = self._columns(X)
        of_weights = np.einsum("ij,ij->j", columns, self.covariance @ columns)
        if variance == "full":
            of_weights = of_weights + self.amplitude * self._left(X, columns[: self.rows.size])
        return self.weights @ columns, np.maximum(of_weights, 0.0)

    def _columns(self, X: Array) -> Array:
        """Return the chosen basis functions at rows, of shape (m, n)."""
        columns = np.zeros((0, len(X)))
        if self.rows.size:
            new = self.kernel.against(X, self.rows)
            columns = self.kernel.matrix(self.values, self.Z, new)
        return np.vstack([columns, np.ones((int(self.biased), len(X)))])

    def _left(self, X: Array, cross: Array) -> Array:
        """Return the kernel's variance that the values at the relevance vectors leave."""
        new = self.kernel.against(X, self.rows)
        prior = self.kernel.diagonal_of_new(self.values, self.Z, new)
        if not self.rows.size:
            return prior
        K = np.array(self.kernel.matrix(self.values, self.Z))
        K[np.diag_indices_from(K)] *= 1.0 + _JITTER
        factor, _ = cho_factor(K, lower=True)
        phi = solve_triangular(factor, cross, lower=True)
        left: Array = np.maximum(prior - np.einsum("ij,ij->j", phi, phi), 0.0)
        return left
