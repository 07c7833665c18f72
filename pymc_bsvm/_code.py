"""The version of the package's code, by which compiled code is known on disk."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path
from types import CodeType, NoneType
from typing import Any

__all__ = ["code_of", "code_version"]


def code_version(*kinds: type) -> int:
    """Return a number that changes with the code that is compiled.

    PyTensor keeps compiled code on disk under the type, the properties and this number. Comments
    and docstrings do not count. Classes from elsewhere, such as a user's loss, are known by name;
    with them the number changes with their methods as well.
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
    package = Path(__file__).parent
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
