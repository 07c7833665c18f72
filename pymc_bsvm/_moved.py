"""Earlier places of modules, which stay importable until version 1.0."""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = ["moved"]


class _Earlier(ModuleType):
    """A module at its earlier place, with all that the one at the new place has."""

    def __init__(self, name: str, place: str) -> None:
        super().__init__(name, f"The earlier place of `{place}`.")
        self._place = place

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of every module there is
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self._place), name)


def moved(
    package: str, modules: Mapping[str, str], names: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Keep the earlier places inside a package, and return its ``__getattr__``.

    Nothing is imported before it is asked for. A name goes before a module of the same name, which
    is then reached by its dotted path alone.

    Parameters
    ----------
    package : str
        Name of the package.
    modules : mapping of str to str
        The earlier name of each module inside the package, and its new place.
    names : mapping of str to str, optional
        The names that the package itself had, and the modules that have them now.
    """
    for name, place in modules.items():
        path = f"{package}.{name}"
        sys.modules[path] = _Earlier(path, place)

    def find(name: str) -> Any:
        if name in (names or {}):
            return getattr(importlib.import_module((names or {})[name]), name)
        if name in modules:
            return importlib.import_module(modules[name])
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
