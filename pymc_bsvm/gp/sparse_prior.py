"""The prior on inducing points as a function of inputs that can be bound to any rows."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pytensor.tensor.linalg import cholesky, solve_triangular

from pymc_bsvm._pymc import stabilize
from pymc_bsvm._pytensor import FrozenFunctionGraph
from pymc_bsvm.gp.prior import Prior, check_full, frontier, has_diagonal, variance_of

__all__ = ["SparsePrior"]


class SparsePrior(Prior):
    """Mean and features of rows, ``f = mean + A w + rest`` with a standard normal w.

    The features are ``A = K_xu L⁻ᵀ`` with ``L L' = K_uu + jitter I``, so that w are the latent
    values at the inducing points, whitened. The rest has the variances that A does not explain.

    Parameters
    ----------
    mean_func, cov_func, n_columns, cross_func, new_mean_func
        As for `Prior`.
    Xu : TensorVariable
        Inducing points, of shape (m, d).
    jitter : float
        Added to the diagonal of their covariance.
    """

    def __init__(
        self,
        mean_func: Any,
        cov_func: Any,
        n_columns: int,
        cross_func: Any,
        new_mean_func: Any,
        Xu: Any,
        jitter: float,
    ) -> None:
        check_full(cov_func)
        if not has_diagonal(cov_func):
            raise NotImplementedError(
                f"{type(cov_func).__name__} states no variances without the whole covariance "
                "matrix, which models on inducing points never form. Add a method diag(self, X)."
            )
        X, X_new, Z = (pt.matrix(name, shape=(None, n_columns)) for name in ("X", "X_new", "Xu"))
        outputs = [
            mean_func(X),
            cov_func(Z),
            cov_func(Z, X),
            cov_func(X, diag=True),
            new_mean_func(X_new),
            cross_func(Z, X_new),
            cross_func(X_new),
            variance_of(cross_func, X_new),
        ]
        self.has_diagonal = has_diagonal(cross_func)
        outputs = [pt.as_tensor_variable(x).astype("float64") for x in outputs]
        others = frontier([X, X_new, Z], outputs)
        self.parameters = [*others, Xu]
        """What the functions depend on beside the inputs, and the inducing points."""
        self.jitter = jitter
        self._graph = FrozenFunctionGraph.from_io([X, X_new, Z, *others], outputs)

    def training(self, X: Any, parameters: Any) -> tuple[Any, ...]:
        """Return mean and features of the training rows, and the variances left out."""
        mean, K, cross, variance, *_ = self._bind(X, X, parameters)
        A = self._whitened(K, cross).T
        return mean, A, variance - pt.sqr(A).sum(axis=1)

    def new(self, X: Any, X_new: Any, parameters: Any) -> tuple[Any, Any, Any, Any]:
        """Return the new rows' mean, covariance with w, covariance and variance."""
        _, K, _, _, mean, cross, covariance, variance = self._bind(X, X_new, parameters)
        return mean, self._whitened(K, cross), covariance, variance

    def _whitened(self, K: Any, cross: Any) -> Any:
        factor = cholesky(stabilize(K, self.jitter), on_error="nan")
        return solve_triangular(factor, cross, lower=True)

    def _bind(self, X: Any, X_new: Any, parameters: Any) -> list[Any]:
        *others, Xu = parameters
        return list(self._graph.bind([X, X_new, Xu, *others]))
