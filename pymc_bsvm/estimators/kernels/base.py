"""What a covariance function is to an estimator: matrices and slopes in NumPy, without a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.search import Hyperparameter

__all__ = ["Kernel", "Sum"]

_STEP = float(np.finfo(float).eps) ** (1 / 3)


class Kernel(ABC):
    """A covariance function ``k(x, z)`` of rows, with positive hyperparameters.

    Kernels hold their structure only. The values of the hyperparameters come as an array in the
    order of `hyperparameters`; derivatives are with respect to their logarithms. ``k1 + k2`` is the
    sum, with the hyperparameters of both.
    """

    @abstractmethod
    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the hyperparameters for rows of d columns, with starts and bounds.

        The starts suit standardised columns.
        """

    @abstractmethod
    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances of the rows of X with those of Z (X itself), of shape (n, m).

        It is a new array, and that of X with itself is exactly symmetric.
        """

    @abstractmethod
    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the variances ``k(x, x)`` of the rows, of shape (n,)."""

    def slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Return ``sum_ij weights_ij dk(x_i, x_j) / dlog(value)`` for each hyperparameter.

        Parameters
        ----------
        values : ndarray of shape (p,)
            Hyperparameters.
        X : ndarray of shape (n, d)
            Rows.
        weights : ndarray of shape (n, n)
            A symmetric matrix.

        Returns
        -------
        ndarray of shape (p,)
        """
        return self.cross_slopes(values, X, None, weights)

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Return ``sum_ij weights_ij dk(x_i, z_j) / dlog(value)`` for each hyperparameter.

        Unless a kernel knows better, by central differences, which keep ten digits.

        Parameters
        ----------
        values : ndarray of shape (p,)
            Hyperparameters.
        X : ndarray of shape (n, d)
            Rows.
        Z : ndarray of shape (m, d), optional
            Other rows; X itself by default.
        weights : ndarray of shape (n, m)
            Any matrix; for X itself a symmetric one.

        Returns
        -------
        ndarray of shape (p,)
        """
        return _differences(lambda v: float(np.vdot(weights, self.matrix(v, X, Z))), values)

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Return ``sum_i weights_i dk(x_i, x_i) / dlog(value)`` for each hyperparameter.

        Unless a kernel knows better, by central differences.

        Parameters
        ----------
        values : ndarray of shape (p,)
            Hyperparameters.
        X : ndarray of shape (n, d)
            Rows.
        weights : ndarray of shape (n,)
            Any numbers.

        Returns
        -------
        ndarray of shape (p,)
        """
        return _differences(lambda v: float(weights @ self.diagonal(v, X)), values)

    @abstractmethod
    def to_pymc(self, values: Any, d: int) -> Any:
        """Return the same function as a `pm.gp.cov.Covariance`; values may be model variables."""

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return how strongly the function varies with each column, of shape (d,), if it says so.

        For stationary kernels with a length-scale for each column it is ``1 / ls``.
        """
        return None

    def row_by_row(self, values: Array, X: Array) -> Callable[[int], Array]:
        """Return a function that returns a row of `matrix`, of shape (n,), each time anew."""
        return lambda k: np.asarray(self.matrix(values, X[k : k + 1], X)[0])

    def take(self, X: Array, rows: NDArray[np.intp]) -> Array:
        """Return some rows of the training data."""
        return np.ascontiguousarray(X[rows])

    def against(self, Z: Array, rows: NDArray[np.intp]) -> Array:
        """Return new rows as `matrix` takes them beside these rows of the training data."""
        return Z

    def diagonal_of_new(self, values: Array, X: Array, Z: Array) -> Array:
        """Return the variances of new rows Z, beside rows X of the training data."""
        return self.diagonal(values, Z)

    @final
    def __add__(self, other: Kernel) -> Sum:
        return Sum(self, other)


class Sum(Kernel):
    """The sum of two kernels."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        for kernel in (first, second):
            if not isinstance(kernel, Kernel):
                raise TypeError(
                    f"A sum needs kernels, but one of its terms is {kernel!r}. "
                    "Use classes of pymc_bsvm.estimators.kernels."
                )
        self.first, self.second = first, second

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Sum)
        return same and (self.first, self.second) == (other.first, other.second)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.first, self.second))

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return those of all terms, numbered where terms have the same."""
        terms: Counter[str] = Counter()
        result: list[Hyperparameter] = []
        for kernel in self._terms():
            own = kernel.hyperparameters(d)
            terms.update({h.stem for h in own})
            result += [h._replace(term=terms[h.stem]) for h in own]
        return tuple(result)

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Add the covariances."""
        one, two = self._split(values, X.shape[1])
        K = self.first.matrix(one, X, Z)
        K += self.second.matrix(two, X, Z)
        return K

    def diagonal(self, values: Array, X: Array) -> Array:
        """Add the variances."""
        one, two = self._split(values, X.shape[1])
        return self.first.diagonal(one, X) + self.second.diagonal(two, X)

    def slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Return the slopes of both terms."""
        return self._slopes("slopes", values, X, weights)

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Return the slopes of both terms."""
        return self._slopes("cross_slopes", values, X, Z, weights)

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Return the slopes of both terms."""
        return self._slopes("diagonal_slopes", values, X, weights)

    def diagonal_of_new(self, values: Array, X: Array, Z: Array) -> Array:
        """Add the variances."""
        one, two = self._split(values, X.shape[1])
        first = self.first.diagonal_of_new(one, X, Z)
        return first + self.second.diagonal_of_new(two, X, Z)

    def to_pymc(self, values: Any, d: int) -> Any:
        """Add the covariance functions."""
        one, two = self._split(values, d)
        return self.first.to_pymc(one, d) + self.second.to_pymc(two, d)

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the largest relevance that a term gives to each column."""
        one, two = self._split(values, d)
        known = [
            r
            for r in (self.first.relevance(one, d), self.second.relevance(two, d))
            if r is not None
        ]
        return np.max(known, axis=0) if known else None

    def _terms(self) -> Iterator[Kernel]:
        for kernel in (self.first, self.second):
            yield from kernel._terms() if isinstance(kernel, Sum) else (kernel,)

    def _slopes(self, name: str, values: Array, X: Array, *others: Any) -> Array:
        one, two = self._split(values, X.shape[1])
        first = getattr(self.first, name)(one, X, *others)
        return np.concatenate([first, getattr(self.second, name)(two, X, *others)])

    def _split(self, values: Any, d: int) -> tuple[Any, Any]:
        count = len(self.first.hyperparameters(d))
        return values[:count], values[count:]


def _differences(function: Callable[[Array], float], values: Array) -> Array:
    """Return the slopes of a function in the logarithms of its arguments."""
    slopes = np.empty(values.size)
    for k in range(values.size):
        low, high = values.copy(), values.copy()
        low[k] *= np.exp(-_STEP)
        high[k] *= np.exp(_STEP)
        slopes[k] = (function(high) - function(low)) / (2.0 * _STEP)
    return slopes
