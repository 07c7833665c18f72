"""A covariance of low rank plus a diagonal, as users pass it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, check_finite
from pymc_bsvm.covariance.woodbury import WOODBURY, Parts

__all__ = ["LowRank"]


@dataclass(frozen=True, eq=False, repr=False)
class LowRank:
    """The covariance ``K = A A' + diag(d)`` of n rows, without any matrix of n by n numbers.

    It takes the place of a covariance matrix in `solve_dual`, whose work and memory then grow
    linearly with n: features of inducing points, of a spectral approximation, or of a linear model.

    Parameters
    ----------
    A : array_like of shape (n, m)
        Features, such as ``K_nz L⁻ᵀ`` with ``K_zz = L L'`` for inducing points z. It is not copied
        if it is a C-ordered array of floats, and must not be changed afterwards.
    d : array_like of shape (n,) or float, default 0.0
        What is added to the diagonal, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc_bsvm as bsvm
    >>> x = np.linspace(-3, 3, 5000)
    >>> features = np.exp(-0.5 * (x[:, None] - np.linspace(-3, 3, 20)) ** 2)
    >>> K = bsvm.LowRank(features, d=0.01)
    >>> K
    LowRank(n=5000, m=20, d=0.01)
    >>> solution = bsvm.solve_dual(K, np.sinc(x), bsvm.losses.SILF(C=10, epsilon=0.05))
    >>> solution.gap < 1e-6
    True
    """

    A: Array
    d: Array | float = 0.0

    def __init__(self, A: ArrayLike, d: ArrayLike = 0.0) -> None:
        features = _numbers("A", A)
        if features.ndim != 2 or features.size == 0:
            raise ValueError(
                f"A must be a matrix with rows and columns, but its shape is {features.shape}. "
                "Pass the features of the training inputs, one row for each."
            )
        check_finite("A", features, "Check the inputs and hyperparameters of the features.")
        diagonal = _numbers("d", d)
        if diagonal.shape not in ((), features.shape[:1]):
            raise ValueError(
                f"d must be a number or have shape ({features.shape[0]},) to match A, but its "
                f"shape is {diagonal.shape}. Pass one number, or one for each row of A."
            )
        Interval(0.0, includes_low=True).check("d", diagonal)
        object.__setattr__(self, "A", np.ascontiguousarray(features))
        object.__setattr__(self, "d", diagonal if diagonal.ndim else float(diagonal))

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""
        return self.A.shape[0], self.A.shape[0]

    @property
    def parts(self) -> Parts:
        """A, and d as a vector: what the solver reads."""
        return Parts(self.A, np.ascontiguousarray(np.broadcast_to(self.d, self.A.shape[:1])))

    def diagonal(self) -> Array:
        """Return the variances, of shape (n,)."""
        diagonal: Array = WOODBURY.diagonal(self.parts)
        return diagonal

    def times(self, x: Array) -> Array:
        """Return ``K x`` for x of shape (n,)."""
        return np.asarray(self.A @ (self.A.T @ x) + self.d * x)

    def dense(self) -> Array:
        """Return the matrix, of shape (n, n)."""
        K: Array = self.A @ self.A.T
        K[np.diag_indices_from(K)] += self.d
        return K

    def __array__(self, *_: Any, **__: Any) -> Never:
        raise TypeError(
            "A LowRank covariance was used as a matrix, which it is not. "
            "Call its method dense() if n is small."
        )

    def __repr__(self) -> str:
        n, m = self.A.shape
        d = f"{self.d:g}" if isinstance(self.d, float) else f"<vector of shape ({n},)>"
        return f"LowRank(n={n}, m={m}, d={d})"


def _numbers(name: str, value: ArrayLike) -> Array:
    """Return an array of floats."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must hold real numbers, but it is of type {type(value).__name__}. "
            "Pass an array of floats."
        ) from None
