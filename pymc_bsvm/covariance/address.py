"""Compiled functions that are called at their address.

Numba links all that a compiled function calls into its code and optimises the whole once more, so
that deep code is optimised as often as it is called from above. What is called at its address is
compiled once, whoever calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, types

__all__ = ["address_of", "call"]


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
