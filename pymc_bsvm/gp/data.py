"""Training and new data as they enter a model: checked as far as their values are known."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph import Constant, Variable
from pytensor.scalar import Cast

from pymc_bsvm._pytensor import Elemwise
from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_finite, check_labels, shown
from pymc_bsvm.gp.names import in_order
from pymc_bsvm.losses import Loss

__all__ = [
    "as_inputs",
    "as_labels",
    "as_numbers",
    "binary_labels_hint",
    "check_columns",
    "check_targets",
    "known_value",
]


def as_inputs(
    name: str, X: Any, input_dim: int | None = None, columns: tuple[str, ...] | None = None
) -> Any:
    """Return a matrix of inputs as a float tensor, with named columns in the order given.

    Raises
    ------
    ValueError
        If it is not a matrix, has fewer columns than the covariance function wants, or holds a
        value that is not finite.
    """
    X = in_order(name, X, columns)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"{name} has {int(np.ma.count_masked(X))} masked values. Remove or impute them first."
        )
    try:
        values = X if isinstance(X, Variable) else np.array(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a matrix of numbers, but got {shown(X)}. "
            "Encode the columns that are not numbers first."
        ) from error
    if values.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, but it has {values.ndim}. "
            "For one input, pass a column: x[:, None]."
        )
    known = known_value(values)
    if known is not None:
        if known.shape[0] == 0:
            raise ValueError(f"{name} must have rows, but its shape is {known.shape}. Pass some.")
        if input_dim is not None and known.shape[1] < input_dim:
            raise ValueError(
                f"{name} has {known.shape[1]} columns, but the covariance function takes "
                f"{input_dim}. Change its input_dim, or pass all columns."
            )
        check_finite(name, known)
    return pt.as_tensor_variable(values).astype("float64")


def as_numbers(
    name: str,
    X: Any,
    n_columns: int | None = None,
    columns: tuple[str, ...] | None = None,
) -> Array:
    """Return a matrix of inputs as numbers, with the columns of the training inputs."""
    tensor = as_inputs(name, X, columns=columns)
    numbers = np.asarray(tensor.data if isinstance(tensor, Constant) else tensor.eval())
    if n_columns is not None and numbers.shape[1] != n_columns:
        raise ValueError(
            f"{name} has {numbers.shape[1]} columns, but X has {n_columns}. Pass the same columns."
        )
    return numbers


def as_labels(y: Any) -> Any:
    """Return labels as integers; what is in a graph already stays as it is."""
    return y if isinstance(y, Variable) else np.asarray(y).astype("int64")


def check_columns(X: Any, cov_func: Any) -> None:
    """Warn of columns that have a length-scale but do not vary."""
    known = known_value(X)
    if known is None or known.shape[0] < 2:
        return
    for column in sorted(_scaled_columns(cov_func)):
        if column < known.shape[1] and np.ptp(known[:, column]) == 0.0:
            warnings.warn(
                f"Column {column} of X is constant ({known[0, column]:g}), so that a length-scale "
                "along it has no effect. Drop the column, or leave it out with active_dims.",
                UserWarning,
                stacklevel=5,
            )


def _scaled_columns(cov_func: Any) -> set[int]:
    """Return the columns that stationary parts of a covariance function measure distances along."""
    if isinstance(cov_func, pm.gp.cov.Combination):
        return set().union(*map(_scaled_columns, cov_func._factor_list))
    is_stationary = isinstance(cov_func, pm.gp.cov.Stationary)
    return set(map(int, cov_func.active_dims)) if is_stationary else set()


def check_targets(y: Any, X: Any, loss: Loss) -> None:
    """Raise unless targets and parameters fit the inputs and the loss; labels are 0 and 1."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(
            f"y has {int(np.ma.count_masked(y))} masked values, which this model cannot impute. "
            "Remove these rows, and predict them afterwards."
        )
    if not isinstance(y, Variable):
        try:
            y = np.asarray(y, dtype=float)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"y must be a vector of numbers, but got {shown(y)}. Encode it as numbers first."
            ) from error
    if y.ndim != 1:
        raise ValueError(
            f"y must have one dimension, but it has {y.ndim}. Pass one number for each row of X."
        )
    known, inputs = known_value(y), known_value(X)
    if inputs is not None:
        loss.check_rows(inputs.shape[0])
    if known is None:
        return
    if inputs is not None and known.shape[0] != inputs.shape[0]:
        raise ValueError(
            f"y has {known.shape[0]} values, but X has {inputs.shape[0]} rows. "
            "Pass one value for each row."
        )
    check_finite("y", known)
    if loss.task == "classification":
        check_labels("y", known, (0, 1), binary_labels_hint)


def known_value(x: Any) -> np.ndarray | None:
    """Return the value of an array, a constant or shared data; None for an expression."""
    if hasattr(x, "get_value"):
        return np.asarray(x.get_value(borrow=True))
    if isinstance(x, Constant):
        return np.asarray(x.data)
    if isinstance(x, Variable):
        op = x.owner.op if x.owner is not None else None
        is_cast = isinstance(op, Elemwise) and isinstance(op.scalar_op, Cast)
        return known_value(x.owner.inputs[0]) if is_cast else None
    return np.asarray(x)


def binary_labels_hint(seen: np.ndarray) -> str:
    """Return the remedy for labels that are not 0 and 1."""
    if np.isin(seen, (-1, 1)).all():
        return "For labels -1 and +1, pass (y + 1) // 2."
    return "Encode the two classes as 0 and 1."
