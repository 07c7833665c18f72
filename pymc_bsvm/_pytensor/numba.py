"""How an Op states its Numba code; apart because importing this takes half a second."""

# The public way has no key of the code, without which nothing of a graph is kept on disk.
from pytensor.link.numba.cache import compile_numba_function_src
from pytensor.link.numba.dispatch.basic import (
    get_numba_type,
    register_funcify_and_cache_key,
    register_funcify_default_op_cache_key,
)

__all__ = [
    "compile_numba_function_src",
    "get_numba_type",
    "register_funcify_and_cache_key",
    "register_funcify_default_op_cache_key",
]
