"""What the Ops share: checked inputs, the version of their code, and when JAX is imported."""

from __future__ import annotations

import functools
import hashlib
import importlib
from pathlib import Path
from typing import Any

import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import graph_rewriter

__all__ = ["BsvmOp", "as_float", "as_rows", "code_version"]


class BsvmOp(Op):
    """An Op of this package."""


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


@functools.cache
def code_version() -> int:
    """Return a number that changes with the code that is compiled into the Ops.

    PyTensor keeps compiled code on disk under the type, the properties and this number.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in ("losses", "ops", "solvers"):
        for path in sorted((package / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")


@graph_rewriter
def _teach_jax(fgraph: Any) -> None:
    """Import the JAX versions of the Ops when a graph that holds them is compiled by JAX.

    JAX itself is imported no earlier: its threads disturb samplers that fork.
    """
    if any(isinstance(node.op, BsvmOp) for node in fgraph.apply_nodes):
        importlib.import_module("pymc_bsvm.ops.in_jax")


optdb.register("pymc_bsvm_teach_jax", _teach_jax, "jax", position=0.5)
