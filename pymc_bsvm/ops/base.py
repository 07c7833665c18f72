"""What the Ops share: checked inputs, and when JAX is imported."""

from __future__ import annotations

import importlib
from typing import Any

import pytensor.tensor as pt
from pytensor.graph import Op, graph_rewriter

from pymc_bsvm._pytensor import optdb

__all__ = ["BsvmOp", "WarmStarted", "as_float", "as_rows"]


class BsvmOp(Op):
    """An Op of this package."""

    jax_module = "pymc_bsvm.ops.in_jax"
    """The module that teaches the Op to JAX."""


class WarmStarted:
    """An Op that starts from its last input, a vector, and returns the start of the next call.

    An empty vector is no start.
    """

    start_output: int
    """Position of that output."""


def as_float(name: str, x: Any, ndim: int) -> Any:
    """Return a float64 tensor with this number of dimensions."""
    tensor = pt.as_tensor_variable(x).astype("float64")
    if tensor.type.ndim != ndim:
        raise ValueError(
            f"{name} must have {ndim} dimensions, but it has {tensor.type.ndim}. "
            "Pass a square matrix and vectors of its length."
        )
    return tensor


def as_rows(parameters: Any, y: Any) -> Any:
    """Return parameters of shape (k, n), one number for each row of y.

    They are given so, or as a vector of k numbers that all rows share.
    """
    tensor = pt.as_tensor_variable(parameters).astype("float64")
    if tensor.type.ndim == 1:
        tensor = tensor[:, None] + pt.zeros_like(y)
    return as_float("parameters", tensor, 2)


@graph_rewriter
def _teach_jax(fgraph: Any) -> None:
    """Import the JAX versions of the Ops when a graph that holds them is compiled by JAX.

    JAX itself is imported no earlier: its threads disturb samplers that fork.
    """
    for op in [node.op for node in fgraph.apply_nodes]:
        if (module := getattr(op, "jax_module", "")).startswith("pymc_bsvm."):
            importlib.import_module(module)


optdb.register("pymc_bsvm_teach_jax", _teach_jax, "jax", position=0.5)
