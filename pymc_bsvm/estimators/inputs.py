"""What users pass: checked as scikit-learn does, with a remedy in each error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_real, check_size

__all__ = ["explained", "validated", "validated_inputs", "weights_of"]

# What scikit-learn says, and what is said in its place; its own words stay where programs read them
_EXPLAINED = (
    (
        r"Input (\w+) contains (NaN|infinity)",
        "{0} must be finite, but it contains {1}. Remove or impute these rows first.",
    ),
    (
        r"inconsistent numbers of samples: \[(\d+), (\d+)\]",
        "X has {0} rows where y has {1}. Pass one target for each row.",
    ),
    (
        r"could not convert string to float: (?:np\.str_\()?('.*')",
        "There must be numbers only, but {0} is none. Encode what is not a number first.",
    ),
    (
        r"Expected 2D array, got (?:1D|scalar) array",
        "X must have rows and columns, but it is a vector or a number. "
        "Reshape your data: X.reshape(-1, 1) is one column, X.reshape(1, -1) is one row.",
    ),
    (
        r"Found array with dim (\d+)",
        "X must have rows and columns, but it has {0} dimensions. Reshape your data, with one row "
        "for each observation.",
    ),
    (
        r"(y should be a 1d array, got an array of shape \(.*\) instead)",
        "{0}. Fit one model for each column, for example by sklearn.multioutput.",
    ),
    (r"(.*requires y to be passed, but the target y is None)", "{0}. Pass y as well as X."),
    (
        r"(X has \d+ features, but \w+ is expecting \d+ features as input)",
        "{0}. Pass the columns of the fit, in their order.",
    ),
    (
        r"(Found array with 0 \w+\(s\) \(shape=.*\) while a minimum of 1 is required)",
        "{0}. Pass one row and one column at least.",
    ),
    (
        r"(Unknown label type: [\w-]+)",
        "{0}. Pass labels, such as integers or names, or use a regressor.",
    ),
    (
        r"sample_weight.shape == (\(.*\)), expected \((\d+),\)",
        "sample_weight must have one number for each of {1} rows, but its shape is {0}. "
        "Pass how often each row counts.",
    ),
    (
        r"Sample weights must contain at least one non-zero",
        "sample_weight is zero for all rows, so that nothing is left to fit. "
        "Pass a positive weight for some rows.",
    ),
    (
        r"Sample weights must be 1D array or scalar, got (\w+) array",
        "sample_weight must be a vector, but it is a {0} array. Pass one number for each row.",
    ),
)


@contextmanager
def explained() -> Iterator[None]:
    """Say what to do where scikit-learn says what is wrong."""
    try:
        yield
    except ValueError as error:
        for pattern, text in _EXPLAINED:
            if found := re.search(pattern, str(error)):
                raise ValueError(text.format(*found.groups())) from error
        raise


def validated_inputs(estimator: Any, X: Any, reset: bool = False) -> Array:
    """Return inputs as numbers after checking them; of the fit itself if ``reset`` is set."""
    check_real("X", X)
    with explained():
        inputs: Array = validate_data(estimator, X, dtype=np.float64, reset=reset)
    check_size("X", np.abs(inputs).max(axis=0, initial=0.0), reset)
    return inputs


def validated(
    estimator: Any, X: Any, y: Any, *, labels: bool = False, reset: bool = True
) -> tuple[Array, NDArray[Any]]:
    """Return inputs, and targets or labels, after checking them."""
    check_real("X", X)
    check_real("y", y, dates=labels)
    with explained():
        settings = {"dtype": np.float64, "y_numeric": not labels, "reset": reset}
        inputs, targets = validate_data(estimator, X, y, **settings)
        targets = np.asarray(targets) if labels else np.asarray(targets, dtype=np.float64)
    check_size("X", np.abs(inputs).max(axis=0, initial=0.0), reset)
    if not labels:
        check_size("y", np.abs(targets).max(initial=0.0), reset)
    return inputs, targets


def weights_of(sample_weight: Any, X: Any) -> Array:
    """Return how often rows count, as an array of its own, after checking it."""
    check_real("sample_weight", sample_weight)
    with explained():
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
    if (weight < 0.0).any():
        raise ValueError(
            f"sample_weight must not be negative, but it holds {weight.min():.3g}. "
            "Pass how often each row counts."
        )
    return weight
