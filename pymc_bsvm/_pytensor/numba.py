"""How an Op states its Numba code; apart because importing this takes half a second."""

from collections.abc import Callable
from typing import Any

# The public way has no key of the code, without which nothing of a graph is kept on disk.
from pytensor.link.numba.cache import compile_numba_function_src
from pytensor.link.numba.dispatch.basic import get_numba_type, register_funcify_and_cache_key

from pymc_bsvm._code import code_version

__all__ = [
    "compile_numba_function_src",
    "compiled_by",
    "get_numba_type",
    "register_funcify_and_cache_key",
]


def compiled_by[F: Callable[..., Any]](op_type: type) -> Callable[[F], F]:
    """Register a function of an Op of this type that returns what it does as a Numba function.

    PyTensor keeps the machine code on disk under all that the latter does, not under the class and
    the properties of the Op, which may be those of a user and then cannot be pickled.
    """

    def register(make: F) -> F:
        @register_funcify_and_cache_key(op_type)
        def keyed(op: Any, **_: Any) -> tuple[Any, str | None]:
            function = make(op)
            return function, code_version(function)

        return make

    return register
