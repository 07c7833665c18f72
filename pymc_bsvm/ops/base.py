"""What the Ops share: checked inputs, the version of their code, and when JAX is imported."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
from pathlib import Path
from types import CodeType, NoneType
from typing import Any

import pytensor.tensor as pt
from pytensor.graph import Op, graph_rewriter

from pymc_bsvm._pytensor import optdb

__all__ = ["BsvmOp", "WarmStarted", "as_float", "as_rows", "code_of", "code_version"]


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


def code_version(*kinds: type) -> int:
    """Return a number that changes with the code that is compiled into the Ops.

    PyTensor keeps compiled code on disk under the type, the properties and this number. Comments
    and docstrings do not count. Classes from elsewhere, such as a user's loss, are known to
    PyTensor by name; with them the number changes with their methods as well.
    """
    bases = {base for kind in kinds for base in kind.__mro__}
    others = [
        x for x in bases if x.__module__.split(".")[0] not in ("pymc_bsvm", "builtins", "abc")
    ]
    if not others:
        return _package_version()
    methods = sorted(
        (x.__qualname__, name, _method(value)) for x in others for name, value in vars(x).items()
    )
    text = f"{_package_version()}{methods}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def _method(value: Any) -> str:
    """Return what a method does, or a plain value; of others, nothing."""
    if isinstance(value, property):
        value = value.fget
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    if code is not None:
        return repr(_instructions(code))
    return repr(value) if isinstance(value, str | int | float | bool | tuple | NoneType) else ""


def _instructions(code: CodeType) -> tuple[Any, ...]:
    constants = (_instructions(x) if isinstance(x, CodeType) else x for x in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, *constants


@functools.cache
def _package_version() -> int:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in ("covariance", "evidence", "graph", "losses", "ops", "solvers"):
        for path in sorted((package / folder).glob("*.py")):
            digest.update(code_of(path.read_bytes()).encode())
    return int.from_bytes(digest.digest()[:6], "big")


def code_of(source: bytes) -> str:
    """Return what a module does, without what it says."""
    return ast.dump(_WithoutText().visit(ast.parse(source)))


class _WithoutText(ast.NodeTransformer):
    """Drop the statements that are a constant only, which is what docstrings are."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:  # the name that ast wants
        return None if isinstance(node.value, ast.Constant) else node


@graph_rewriter
def _teach_jax(fgraph: Any) -> None:
    """Import the JAX versions of the Ops when a graph that holds them is compiled by JAX.

    JAX itself is imported no earlier: its threads disturb samplers that fork.
    """
    for op in [node.op for node in fgraph.apply_nodes]:
        if (module := getattr(op, "jax_module", "")).startswith("pymc_bsvm."):
            importlib.import_module(module)


optdb.register("pymc_bsvm_teach_jax", _teach_jax, "jax", position=0.5)
