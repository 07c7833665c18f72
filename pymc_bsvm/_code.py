"""What code does, as a text by which compiled code is known on disk."""

from __future__ import annotations

import ast
import functools
import hashlib
from pathlib import Path
from typing import Any

from pymc_bsvm._meaning import meaning

__all__ = ["code_of", "code_version"]


def code_version(function: Any) -> str | None:
    """Return a text that changes with the code of a function, which is to be compiled.

    That is the code of the package, without comments and docstrings, and what the function reaches;
    see `pymc_bsvm._meaning.meaning`. Where that cannot be told, or the package has changed since it
    was imported, it is None: what is compiled now must not be kept for later.
    """
    reached = meaning(function)
    if reached is None or _stamps() != _STAMPS:
        return None
    return hashlib.sha256(f"{_package_version()}{reached}".encode()).hexdigest()


def _stamps() -> dict[Path, int]:
    """Return the sources that are compiled, and when each was changed."""
    folders = ("covariance", "evidence", "graph", "losses", "ops", "solvers")
    paths = (p for folder in folders for p in (Path(__file__).parent / folder).glob("*.py"))
    return {path: path.stat().st_mtime_ns for path in sorted(paths)}


_STAMPS = _stamps()


@functools.cache
def _package_version() -> str:
    digest = hashlib.sha256()
    for path in _STAMPS:
        digest.update(code_of(path.read_bytes()).encode())
    return digest.hexdigest()


def code_of(source: bytes) -> str:
    """Return what a module does, without what it says."""
    return ast.dump(_WithoutText().visit(ast.parse(source)))


class _WithoutText(ast.NodeTransformer):
    """Drop the statements that are a constant only, which is what docstrings are."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:  # the name that ast wants
        return None if isinstance(node.value, ast.Constant) else node
