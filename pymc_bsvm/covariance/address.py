"""Compiled functions that are called, not taken into the code of those that call them.

Numba links all that a compiled function calls into its code and optimises the whole once more, so
that deep code is optimised as often as it is called from above. What is called by a
symbol of its own, or at its address, is compiled once, whoever calls it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, types

from pymc_bsvm._code import code_version
from pymc_bsvm._numba import names_of_their_own
from pymc_bsvm.losses.numba_language import COMPILED, inlined

__all__ = ["Apart", "address_of", "apart", "call", "symbol_of"]


class Apart(NamedTuple):
    """A function that is compiled by itself."""

    run: Callable[..., Any]
    """For Python."""
    call: Callable[..., Any]
    """For compiled code."""


def apart(function: Any, arguments: tuple[Any, ...]) -> Apart:
    """Return a compiled function by itself; it is compiled where it is not yet on disk.

    Parameters
    ----------
    function : compiled function
        What it does.
    arguments : tuple of types
        What it takes, in Numba's types.
    """
    body = inlined(function.py_func)
    symbol, kept = symbol_of(body, arguments)
    names = ", ".join(f"x{i}" for i in range(len(arguments)))
    # Numba knows compiled code on disk by the name of the function and by the file it is in.
    source = compile(f"def {symbol}({names}): return function({names})", __file__, "exec")
    scope = {"function": body, "__name__": __name__}
    exec(source, scope)
    with names_of_their_own():
        run = numba.njit([arguments], cache=kept, **COMPILED)(scope[symbol])
    found = run.overloads[arguments]
    pointer = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    llvm.add_symbol(symbol, pointer)
    _KEPT.append(run)
    return Apart(run, _caller(symbol, arguments, found.signature.return_type))


def symbol_of(function: Any, arguments: Any) -> tuple[str, bool]:
    """Return the name of a function in machine code, and whether it may be kept under it.

    It has one name for all that it does to these types, or one for this once.
    """
    version = code_version(function)
    known = f"{version or uuid.uuid4()}{arguments}"
    digest = hashlib.sha256(known.encode()).hexdigest()
    return f"{function.__name__}_{digest}", version is not None


_KEPT: list[Any] = []  # machine code lives as long as what it belongs to


def _caller(symbol: str, arguments: tuple[Any, ...], result: Any) -> Callable[..., Any]:
    """Return a function for compiled code that calls what a symbol stands for."""

    @intrinsic
    def called(typing_context, *given):  # type: ignore[no-untyped-def]
        _check_types(given, arguments)

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            unpacked = zip(cgutils.unpack_tuple(builder, values[0]), given, arguments, strict=True)
            passed = [context.cast(builder, x, kind, wanted) for x, kind, wanted in unpacked]
            convention = context.call_conv
            kind = convention.get_function_type(result, arguments)
            callee = cgutils.get_or_insert_function(builder.module, kind, symbol)
            status, value = convention.call_function(builder, callee, result, arguments, passed)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return value

        return result(types.StarArgTuple.from_types(given)), generate

    return called  # type: ignore[no-any-return]


def _check_types(given: tuple[Any, ...], wanted: tuple[Any, ...]) -> None:
    """Raise ``TypingError`` unless arguments have their types, or are integers for numbers."""
    if len(given) != len(wanted):
        raise TypingError(f"{len(given)} arguments are given. Pass {len(wanted)}.")
    for kind, other in zip(map(types.unliteral, given), wanted, strict=True):
        integer = isinstance(kind, types.Integer) and isinstance(other, types.Number)
        if kind != other and not integer:
            raise TypingError(f"An argument is {kind}. Convert it to {other} first.")


def address_of(symbol: str) -> Callable[..., Any]:
    """Return a function for compiled code, without arguments: the address of a symbol.

    It has to be known to LLVM before the code is loaded.
    """

    @intrinsic
    def address(typing_context):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            kind = ir.FunctionType(ir.IntType(64), ())
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
            return builder.ptrtoint(function, context.get_value_type(types.intp))

        return types.intp(), generate

    return address  # type: ignore[no-any-return]


@intrinsic
def call(typing_context, address, arguments):  # type: ignore[no-untyped-def]
    """Call a function that returns an int64 with a tuple of numbers and arrays in the order of C.

    Of an array it gets a pointer to the data, of a number the number itself.
    """
    arrays = [kind for kind in arguments if isinstance(kind, types.Array)]
    if any(kind.layout != "C" for kind in arrays):
        raise TypingError("An array is not contiguous. Pass a copy in the order of C.")
    if any(kind.dtype != types.float64 for kind in arrays):
        raise TypingError("An array does not hold float64. Convert it first.")

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        passed = list(cgutils.unpack_tuple(builder, values[1]))
        for i, kind in enumerate(arguments):
            if isinstance(kind, types.Array):
                passed[i] = context.make_array(kind)(context, builder, value=passed[i]).data
        kind = ir.FunctionType(ir.IntType(64), [value.type for value in passed])
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), passed)

    return types.int64(address, arguments), generate
