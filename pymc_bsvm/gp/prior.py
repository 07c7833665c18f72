"""The Gaussian process prior as a function of inputs that can be bound to any rows."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pytensor.graph import Constant

from pymc_bsvm._pytensor import CheckAndRaise, FrozenFunctionGraph, toposort

__all__ = [
    "NOT_POINTWISE",
    "PairCheck",
    "Prior",
    "check_full",
    "differs",
    "frontier",
    "has_diagonal",
    "probe",
    "variance_of",
]

NOT_POINTWISE = (
    "The mean or the covariance function of two rows depends on other rows of X, so that it cannot "
    "predict. Scale or transform X before the model, not inside the function."
)
_ROUNDING = 1e-5  # relative to the largest variance; far inputs lose digits in their distance


class PairCheck(CheckAndRaise):
    """Raises where moments of two rows depend on others; JAX, which cannot, says so."""

    jax_module = "pymc_bsvm.gp.in_jax"


class Prior:
    """Mean and covariance functions, taken apart into a graph of the inputs and its parameters.

    What PyMC's covariance functions return for one matrix of inputs cannot be restricted to some
    rows afterwards. Here the graph is kept with the inputs as variables, so that the covariance of
    the support vectors is built from their inputs alone, which is all that a gradient has to go
    through.

    Parameters
    ----------
    mean_func : pymc.gp.mean.Mean
        Mean function.
    cov_func : pymc.gp.cov.BaseCovariance
        Covariance function.
    n_columns : int
        Number of columns of the inputs.
    cross_func : pymc.gp.cov.BaseCovariance, optional
        Covariance of the training rows with new ones; that of a component of an additive process.
        By default `cov_func`.
    new_mean_func : pymc.gp.mean.Mean, optional
        Mean of the new rows. By default `mean_func`.
    """

    def __init__(
        self,
        mean_func: Any,
        cov_func: Any,
        n_columns: int,
        cross_func: Any = None,
        new_mean_func: Any = None,
    ) -> None:
        check_full(cov_func)
        X, X_new = (pt.matrix(name, shape=(None, n_columns)) for name in ("X", "X_new"))
        cross_func, new_mean_func = cross_func or cov_func, new_mean_func or mean_func
        outputs = [
            mean_func(X),
            cov_func(X),
            new_mean_func(X_new),
            cross_func(X, X_new),
            cross_func(X_new),
            variance_of(cross_func, X_new),
        ]
        self.has_diagonal = has_diagonal(cross_func)
        """Whether variances cost less than the covariance matrix."""
        outputs = [pt.as_tensor_variable(x).astype("float64") for x in outputs]
        self.parameters = frontier([X, X_new], outputs)
        """What the functions depend on beside the inputs: expressions of model variables."""
        self._graph = FrozenFunctionGraph.from_io([X, X_new, *self.parameters], outputs)

    def training(self, X: Any, parameters: Any) -> tuple[Any, ...]:
        """Return the mean and the covariance of the training rows."""
        mean, K, *_ = self._bind(X, X, parameters)
        return mean, K

    def new(self, X: Any, X_new: Any, parameters: Any) -> tuple[Any, Any, Any, Any]:
        """Return the new rows' mean, covariance with training rows, covariance and variance."""
        _, _, *new = self._bind(X, X_new, parameters)
        return tuple(new)

    def _bind(self, X: Any, X_new: Any, parameters: Any) -> list[Any]:
        return list(self._graph.bind([X, X_new, *parameters]))


def check_full(cov_func: Any) -> None:
    """Raise ``NotImplementedError`` for a covariance function without a covariance."""
    try:
        cov_func(pt.matrix("X"))
    except NotImplementedError as error:
        raise NotImplementedError(
            f"{type(cov_func).__name__} has no covariance matrix, or a part of it has none. Add a "
            "method full(self, X, Xs=None), which returns that of the rows of X with those of Xs."
        ) from error


def variance_of(cov_func: Any, X: Any) -> Any:
    """Return the variances of rows, off the covariance matrix if a function states no others."""
    if has_diagonal(cov_func):
        return cov_func(X, diag=True)
    return pt.diagonal(pt.as_tensor_variable(cov_func(X)))


def has_diagonal(cov_func: Any) -> bool:
    """Return whether a covariance function, of one's own maybe, has a method for variances."""
    try:
        cov_func(pt.matrix("X"), diag=True)
    except (NotImplementedError, AttributeError, TypeError):
        return False
    return True


def frontier(inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """Return the variables next to the graph from the inputs to the outputs, without constants."""
    dependent = set(inputs)
    frontier: dict[Any, None] = {}
    for node in toposort(outputs):
        if dependent.isdisjoint(node.inputs):
            continue
        dependent.update(node.outputs)
        for variable in node.inputs:
            frontier[variable] = None
    for output in outputs:
        frontier[output] = None
    return [x for x in frontier if x not in dependent and not isinstance(x, Constant)]


def probe(n: Any) -> list[tuple[Any, Any]]:
    """Return pairs of rows whose covariance alone is compared with that among all n rows.

    One pair is from inside, because sorted inputs have their extremes at the ends.
    """
    return [(n // 3, n // 2), (0, n // 3)]


def differs(alone: tuple[Any, Any], among: tuple[Any, Any], pair: tuple[Any, Any], xp: Any) -> Any:
    """Return whether moments of two rows alone are not those which they have among all rows.

    ``alone`` and ``among`` are mean and covariance, ``xp`` is NumPy or PyTensor's tensor module.
    What is not a number differs from nothing. Variances are not looked at: at a length-scale of
    1e-7, which a sampler may try, rounding changes them by percents, but covariances are zero.
    """
    (m, block), (mean, K), (i, j) = alone, among, pair
    of_K = xp.where(i < j, abs(block[0, 1] - K[i, j]), 0.0)
    of_mean = abs(m[0] - mean[i]) + abs(m[1] - mean[j])
    size = xp.max(xp.abs(xp.diagonal(K)))
    return (of_K > _ROUNDING * size) | (of_mean > _ROUNDING * xp.max(xp.abs(mean)))
