"""Every public name, compared with the list in ``tests/api.txt``."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

LIST = Path(__file__).with_name("api.txt")
PACKAGE = "pymc_bsvm"
MODULES = (
    "",
    "approximations",
    "covariance",
    "datasets",
    "diagnosis",
    "distributions",
    "estimators",
    "estimators.kernels",
    "evidence",
    "gp",
    "gp.cov",
    "graph",
    "inference",
    "losses",
    "ops",
    "reporting",
    "search",
    "solvers",
)


def members(cls: type) -> set[str]:
    """Return the public methods, properties and fields that the package gives to a class."""
    own = [base for base in cls.__mro__ if base.__module__.startswith(PACKAGE)]
    names = {name for base in own for name in vars(base)}
    if dataclasses.is_dataclass(cls):
        names |= {field.name for field in dataclasses.fields(cls)}
    # scikit-learn gives its estimators methods such as set_fit_request.
    return {name for name in names if not re.match("_|set_.*_request$", name)}


def public_names() -> Iterator[str]:
    """Yield the dotted names, without that of the package."""
    for place in MODULES:
        module = importlib.import_module(f"{PACKAGE}.{place}".rstrip("."))
        for name in module.__all__:
            path = f"{place}.{name}".lstrip(".")
            yield path
            found = getattr(module, name)
            if inspect.isclass(found):
                yield from (f"{path}.{member}" for member in members(found))


def changes(listed: set[str], found: set[str]) -> str:
    """Say which names came and which went, one line each."""
    added, gone = sorted(found - listed), sorted(listed - found)
    return "\n".join(
        ["", *(f"added: {name}" for name in added), *(f"gone: {name}" for name in gone)]
    )


def test_public_names_are_those_of_the_list():
    lines = LIST.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    different = changes(set(lines), set(public_names()))
    assert not different.strip(), different


def test_a_change_names_what_came_and_what_went():
    assert changes({"a", "b"}, {"b", "c"}).splitlines() == ["", "added: c", "gone: a"]


def test_members_are_those_of_the_package():
    class Foreign:
        def foreign(self) -> None: ...

    class Own(Foreign):
        __module__ = "pymc_bsvm.somewhere"

        def own(self) -> None: ...
        def _private(self) -> None: ...
        def set_fit_request(self) -> None: ...

    assert members(Own) == {"own"}
