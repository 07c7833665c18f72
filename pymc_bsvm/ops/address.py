"""Compiled functions under a symbol of their own, which Ops call at its address."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import pytensor

from pymc_bsvm._pytensor.numba import compile_numba_function_src
from pymc_bsvm.covariance.address import address_of, symbol_of

__all__ = ["FAILED", "compiled_at"]

FAILED = (
    "Compiled code ended with the error that is printed above. "
    "Mend its cause, such as too little memory or no rows, and try again."
)
"""What to say where a function at an address returns zero."""


@functools.lru_cache(maxsize=None, typed=True)  # 1 and 1.0 are symbols of their own
def compiled_at(make: Callable[..., Any], signature: Any, *properties: Any) -> Callable[..., Any]:
    """Return the address of a compiled function, as a function for compiled code.

    Parameters
    ----------
    make : callable
        Takes the properties and returns the function, which is compiled where it is not yet on
        disk.
    signature : Signature
        Its types; it takes numbers and pointers, and returns an int64. Numba prints an exception
        and goes on with zero, so that another number should say that all is well.
    *properties
        What it takes to make the function.
    """
    body = make(*properties)
    symbol, kept = symbol_of(body, signature)
    names = ", ".join(f"x{i}" for i in range(len(signature.args)))
    function = compile_numba_function_src(
        f"def {make.__name__}({names}): return function({names})",
        make.__name__,
        {"function": body, "__name__": __name__},
        cache_key=symbol if kept else None,
    )
    found = numba.cfunc(signature, cache=kept and pytensor.config.numba__cache)(function)
    llvm.add_symbol(symbol, found.address)
    _KEPT.append(found)
    return address_of(symbol)


_KEPT: list[Any] = []  # machine code lives as long as what it belongs to
