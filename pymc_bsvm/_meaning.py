"""What a function means to compiled code: its instructions and all that they reach."""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import sys
from collections.abc import Iterator
from types import (
    CellType,
    CodeType,
    EllipsisType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

__all__ = ["meaning"]

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = {*sys.stdlib_module_names, "llvmlite", "numba", "numpy", "pymc", "pytensor", "scipy"}


class _UnknownError(Exception):
    """A function reaches a value of a kind whose meaning is not known."""


def meaning(value: Any) -> str | None:
    """Return a text that is equal for functions that do the same, in each process.

    Functions mean their instructions, their defaults, the values that they enclose and, outside the
    package, the globals that they read; the code of the package is known by its sources. Libraries
    that Numba knows are known by the names of what they hold. None is returned where an object of a
    class of somebody else's is reached. What `numba.extending` registers is not seen.
    """
    try:
        return repr(_read(value, {}))
    except _UnknownError:
        return None


@functools.singledispatch
def _read(value: Any, seen: dict[int, int]) -> Any:
    """Return what a value means as strings, numbers and tuples of them; functions are numbered."""
    named = hasattr(value, "__qualname__") and not isinstance(value, MethodType)
    if not named or not _at_home(value, {_PACKAGE} | _LIBRARIES):
        raise _UnknownError(type(value).__qualname__)
    return value.__module__, value.__qualname__


@_read.register(np.generic | np.dtype | np.ufunc)
@_read.register(NoneType | bool | int | float | complex | str | bytes | EllipsisType)
def _read_plain(value: Any, seen: dict[int, int]) -> Any:
    return type(value).__qualname__, repr(value)


@_read.register
def _read_type(value: types.Type, seen: dict[int, int]) -> Any:
    if " at 0x" in str(value):  # that of a function, known by its place in memory
        raise _UnknownError(str(value))
    return type(value).__qualname__, str(value)


@_read.register
def _read_slice(value: slice, seen: dict[int, int]) -> Any:
    return "slice", *(_read(x, seen) for x in (value.start, value.stop, value.step))


@_read.register
def _read_member(value: enum.Enum, seen: dict[int, int]) -> Any:
    return type(value).__qualname__, value.name, _read(value.value, seen)


@_read.register
def _read_array(value: np.ndarray, seen: dict[int, int]) -> Any:
    if value.dtype.hasobject:
        raise _UnknownError(str(value.dtype))
    return str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()


@_read.register(tuple | list)
def _read_sequence(value: Any, seen: dict[int, int]) -> Any:
    items = [_read(x, seen) for x in value]
    return type(value).__qualname__, getattr(value, "_fields", ()), *items


@_read.register(dict)
def _read_mapping(value: dict[Any, Any], seen: dict[int, int]) -> Any:
    return "dict", _read([*value], seen), _read([*value.values()], seen)


@_read.register(set | frozenset)
def _read_set(value: Any, seen: dict[int, int]) -> Any:
    return type(value).__qualname__, *sorted(repr(_read(x, seen)) for x in value)


@_read.register(enum.EnumMeta)
def _read_members(value: Any, seen: dict[int, int]) -> Any:
    return value.__qualname__, *(_read(x, seen) for x in value.__members__.values())


@_read.register
def _read_class(value: type, seen: dict[int, int]) -> Any:
    fields = getattr(value, "_fields", None)
    if fields is None and not _at_home(value, {_PACKAGE} | _LIBRARIES):
        raise _UnknownError(repr(value))
    return value.__module__, value.__qualname__, fields


@_read.register
def _read_module(value: ModuleType, seen: dict[int, int]) -> Any:
    return "module", value.__name__


@_read.register(Dispatcher)
def _read_compiled(value: Any, seen: dict[int, int]) -> Any:
    options = _read(value.targetoptions, seen), _read(value.locals, seen)
    stated = () if value._can_compile else sorted(map(str, value.nopython_signatures))
    return *options, *stated, _read(value.py_func, seen)


@_read.register
def _read_intrinsic(value: _Intrinsic, seen: dict[int, int]) -> Any:
    return "intrinsic", _read(value._defn, seen)


@_read.register
def _read_code(value: CodeType, seen: dict[int, int]) -> Any:
    counts = value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount, value.co_flags
    names = value.co_names, value.co_varnames, value.co_freevars
    return value.co_code, value.co_exceptiontable, counts, names, _read(value.co_consts, seen)


@_read.register
def _read_function(value: FunctionType, seen: dict[int, int]) -> Any:
    if _at_home(value, _LIBRARIES):
        return value.__globals__["__name__"], value.__qualname__
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    defaults = _read(value.__defaults__, seen), _read(value.__kwdefaults__, seen)
    reached = [(name, _read(x, seen)) for name, x in _reached(value)]
    place = (value.__module__, value.__qualname__) if _at_home(value, {_PACKAGE}) else ()
    code = value.__code__
    if code.co_consts[:1] == (value.__doc__,):
        code = code.replace(co_consts=(None, *code.co_consts[1:]))
    return place, _read(code, seen), defaults, reached


def _at_home(value: Any, places: set[str]) -> bool:
    """Whether a function, a class or a module belongs to one of these packages."""
    if isinstance(value, FunctionType):  # a decorator may have changed what it says of itself
        name = value.__globals__.get("__name__")
    else:
        name = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None)
    return (name or "").partition(".")[0] in places


def _reached(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the values that a function encloses, and those that it reads by name."""
    code, cells = function.__code__, function.__closure__ or ()
    enclosed = {
        name: cell.cell_contents
        for name, cell in zip(code.co_freevars, cells, strict=True)
        if cell != CellType()  # nothing was put into it yet
    }
    yield from enclosed.items()
    if not _at_home(function, {_PACKAGE}):
        yield from _named(code, {**function.__globals__, **enclosed})


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values that instructions load by name, and by attribute of a module."""
    module: Any = None
    for instruction in dis.get_instructions(code):
        action, name = instruction.opname, instruction.argval
        if action == "EXTENDED_ARG":
            continue
        found = None
        if module is not None:
            if action not in ("LOAD_ATTR", "LOAD_METHOD") or not hasattr(module, name):
                raise _UnknownError(module.__name__)  # whatever is read of it
            found = getattr(module, name)
        elif action in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF") and name in names:
            found = names[name]
        if found is not None:
            yield name, found
        foreign = isinstance(found, ModuleType) and not _at_home(found, {_PACKAGE} | _LIBRARIES)
        module = found if foreign else None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant, names)
