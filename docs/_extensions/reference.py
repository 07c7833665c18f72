"""Write the pages of the API reference: one for each public object, with its inherited members.

An object that several modules hand on has its page under its shortest name. The index of the site
knows it, and its members, under the other names too.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pymc as pm
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.environment import BuildEnvironment

PACKAGE = "pymc_bsvm"
HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "api"
LIST = HERE.parents[1] / "tests" / "api.txt"

# What functions return and no public module names.
RETURNED = (
    "graph.laplace.EvidenceTerms",
    "graph.laplace.MapEstimate",
    "evidence.margin.Margin",
    "evidence.sparse_posterior.SparsePosterior",
    "inference.rotation.Rotation",
)

# What PyMC asks a distribution for; users call `pm.logp` and its like.
HOOKS = ("icdf", "logccdf", "logcdf", "logp", "rv_op", "rv_type", "support_point")


def found(name: str) -> Any:
    """Return the object of a dotted name below the package."""
    place: Any = importlib.import_module(PACKAGE)
    for part in filter(None, name.split(".")):
        if not hasattr(place, part):
            importlib.import_module(f"{place.__name__}.{part}")
        place = getattr(place, part)
    return place


def members(cls: type) -> list[str]:
    """Return what the package gives to a class, and what is documented of it.

    Fields without a text of their own are in the docstring of the class.
    """
    own = [base for base in cls.__mro__ if base.__module__.startswith(PACKAGE)]
    names = {name for base in own for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    hooks = HOOKS if issubclass(cls, pm.Distribution) else ()
    return sorted(x for x in names if not re.match("_|set_.*_request$", x) and x not in hooks)


def is_module(thing: Any) -> bool:
    """Return whether a public name is that of a module."""
    return inspect.ismodule(thing)


@cache
def public() -> dict[str, Any]:
    """Return the objects of the list of public names, without members of classes."""
    names = LIST.read_text(encoding="utf-8").split()
    objects: dict[str, Any] = {}
    for name in names:
        parent, _, _ = name.rpartition(".")
        if not inspect.isclass(objects.get(parent)):
            objects[name] = found(name)
    return objects


def modules() -> list[str]:
    """Return the modules that the list names, or whose objects it names."""
    names = {name for name, thing in public().items() if is_module(thing)}
    names |= {name.rpartition(".")[0] for name, thing in public().items() if not is_module(thing)}
    return sorted(names - {""})


@cache
def homes() -> dict[str, str]:
    """Return, for each public name of an object that is no module, the name of its page."""
    objects = {name: thing for name, thing in public().items() if not is_module(thing)}
    first: dict[int, str] = {}
    for name in sorted(objects, key=lambda name: (name.count("."), name)):
        first.setdefault(id(objects[name]), name)
    return {name: first[id(thing)] for name, thing in objects.items()}


def page(name: str) -> str:
    """Return the name of the file; `losses.Formulas` is not `losses.formulas` on every disk."""
    same = [x for x in homes().values() if x.lower() == name.lower() and x != name]
    lower = same and not inspect.isclass(found(name))
    return f"{PACKAGE}.{name}" + ("-function" if lower else "")


def of_object(name: str) -> str:
    """Return the page of a class, a function or a constant."""
    thing = found(name)
    full = f"{PACKAGE}.{name}"
    module, _, short = full.rpartition(".")
    head = f"{short}\n{'=' * len(short)}\n\n.. currentmodule:: {module}\n\n"
    if inspect.isclass(thing):
        kind = "exception" if issubclass(thing, BaseException) else "class"
        options = f"   :members: {', '.join(members(thing))}\n" if members(thing) else ""
        return f"{head}.. auto{kind}:: {short}\n{options}"
    kind = "function" if callable(thing) else "data"
    return f"{head}.. auto{kind}:: {short}\n"


def of_module(name: str) -> str:
    """Return the page of a module: its text, and links to what it holds."""
    full = f"{PACKAGE}.{name}" if name else PACKAGE
    home = homes()
    held = sorted(x for x in home if x.rpartition(".")[0] == name)
    lines = [full, "=" * len(full), "", f".. automodule:: {full}", ""]
    groups = {
        "Classes": [x for x in held if inspect.isclass(found(x))],
        "Functions and constants": [x for x in held if not inspect.isclass(found(x))],
    }
    for title, names in groups.items():
        if names:
            lines += [f".. rubric:: {title}", "", ".. autosummary::", "   :nosignatures:", ""]
            # a name without the module is looked up in the module of the page
            own = [x.rpartition(".")[2] if home[x] == x else f"~{PACKAGE}.{home[x]}" for x in names]
            lines += [f"   {x}" for x in own] + [""]
    lines += [".. toctree::", "   :hidden:", ""]
    lines += [f"   {page(x)}" for x in held if home[x] == x]
    return "\n".join(lines) + "\n"


def write(app: Sphinx, _: object) -> None:
    """Write all pages; those that did not change keep their time."""
    pages = {page(name): of_object(name) for name in {*homes().values(), *RETURNED}}
    pages |= {
        f"{PACKAGE}.{name}" if name else PACKAGE: of_module(name) for name in ["", *modules()]
    }
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def hand_on(app: Sphinx, env: BuildEnvironment) -> None:
    """Let the other names of an object lead to its page."""
    known = env.domains.python_domain.objects
    for other, home in homes().items():
        if other != home:
            old, new = f"{PACKAGE}.{home}", f"{PACKAGE}.{other}"
            for name in [x for x in known if x == old or x.startswith(f"{old}.")]:
                docname, node_id, objtype, _ = known[name]
                alias = new + name.removeprefix(old)
                known.setdefault(alias, ObjectEntry(docname, node_id, objtype, True))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect both steps to Sphinx."""
    app.connect("config-inited", write)
    app.connect("env-updated", hand_on)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
