"""What the package may say to a user besides refusals of bad input, read off its source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pymc_bsvm

ROOT = Path(pymc_bsvm.__file__).parent
GAP = "…"
_LOGS = {"debug", "info", "warning", "error"}
# Refusals of what was passed in name value and remedy themselves; there are hundreds.
_OF_INPUT = {"ValueError", "TypeError", "AttributeError", "FileNotFoundError", "KeyboardInterrupt"}
# Objects whose text is the first part of a warning.
_WARNED = {"Peak"}
# What it holds are the second sentences of refusals of unknown arguments.
_OF_ARGUMENTS = "estimators/keywords.py"


def text_of(node: ast.expr) -> str | None:
    """Return the text of a literal with a gap in the place of values; None if there is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[-+.\d]*[sdgf]", GAP, node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [p.value if isinstance(p, ast.Constant) else GAP for p in node.values]
        return "".join(map(str, parts))
    return None


def _name(node: ast.expr) -> str:
    """Return the last part of a dotted name, or of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _warned(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the first arguments of warnings, logs, and errors that are no refusals of input."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            logs = isinstance(node.func, ast.Attribute) and _name(node.func.value) == "_LOGGER"
            if _name(node) == "warn" or (logs and _name(node) in _LOGS):
                yield node.args[0]
        error = getattr(node, "exc" if isinstance(node, ast.Raise) else "value", None)
        made = isinstance(node, ast.Raise) or (
            isinstance(node, ast.Return) and error is not None and _name(error).endswith("Error")
        )
        if made and isinstance(error, ast.Call) and error.args:
            if _name(error)[:1].isupper() and _name(error) not in _OF_INPUT:
                yield error.args[0]
        if isinstance(node, ast.ClassDef) and node.name in _WARNED:
            yield from (x.value for x in ast.walk(node) if isinstance(x, ast.Return) and x.value)


def _named(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the sentences of enumerations and of module constants, where they are sentences."""
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) and _is_enum(node) else [node]
        for item in inside:
            if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
                held = item.value
                yield from held.values if isinstance(held, ast.Dict) else [held]


def _is_enum(node: ast.ClassDef) -> bool:
    return any(_name(base) == "Enum" for base in node.bases)


def _is_sentence(text: str) -> bool:
    return bool(re.match(r"[A-Z].*\.$", text, re.DOTALL)) and " " in text


def _is_message(text: str) -> bool:
    return bool(re.search(r"[a-z]{2,}\W+[a-z]", text))


def messages() -> dict[str, str]:
    """Return the messages, and the file that each is from."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            _name(x): n.value for n in tree.body if isinstance(n, ast.Assign) for x in n.targets
        }
        warned = (named.get(_name(node) or None, node) for node in _warned(tree))
        texts = [t for node in warned if (t := text_of(node)) and _is_message(t)]
        sentences = [] if path.relative_to(ROOT).as_posix() == _OF_ARGUMENTS else _named(tree)
        texts += [t for node in sentences if (t := text_of(node)) and _is_sentence(t)]
        found |= dict.fromkeys(texts, str(path.relative_to(ROOT)))
    return found


def classes() -> dict[str, str]:
    """Return the classes of errors and warnings that the package defines, and their files."""
    bases = ("Error", "Warning", "Exception", "Interrupt")
    return {
        node.name: str(path.relative_to(ROOT))
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and any(_name(b).endswith(bases) for b in node.bases)
        if not node.name.startswith("_")  # those never leave the module
    }
