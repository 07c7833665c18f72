"""Columns divided by length-scales inside a covariance function of PyMC; imports PyMC."""

from __future__ import annotations

from typing import Any

import pymc as pm
import pytensor.tensor as pt

__all__ = ["of_scaled_columns"]


def of_scaled_columns(cov: Any, ls: Any) -> Any:
    """Return ``cov(x / ls, z / ls)``; the length-scales may be model variables."""
    ls = pt.as_tensor_variable(ls)
    return pm.gp.cov.WarpedInput(cov.input_dim, cov, lambda X: X / ls)
