"""Functions stay short enough to be read at once."""

import ast
from pathlib import Path

import pytest

import pymc_bsvm

PACKAGE = Path(pymc_bsvm.__file__).parent
LONGEST = 60  # lines of a function, without its docstring and the functions inside it


def functions(tree):
    return [x for x in ast.walk(tree) if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function):
    """Return the number of lines that are the function's own."""
    lines = set(range(function.lineno, function.end_lineno + 1))
    inner = [x for x in functions(function) if x is not function]
    if ast.get_docstring(function) is not None:
        inner.append(function.body[0])
    for part in inner:
        lines -= set(range(part.lineno, part.end_lineno + 1))
    return len(lines)


def test_the_length_of_a_function_leaves_out_its_docstring_and_inner_functions():
    inner = "    def g(y):\n        return y\n"
    source = f'def f(x):\n    """One,\n    two."""\n\n{inner}\n    return g(x)\n'
    assert [length(x) for x in functions(ast.parse(source))] == [4, 2]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_function_is_longer_than_can_be_read_at_once(path):
    lengths = {x.name: length(x) for x in functions(ast.parse(path.read_text(encoding="utf-8")))}
    assert {name: n for name, n in lengths.items() if n > LONGEST} == {}
