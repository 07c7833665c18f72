"""The rows on which an evidence lives."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from pymc_bsvm.ops.base import BsvmOp, as_float, code_version

__all__ = ["SupportRows"]


class SupportRows(BsvmOp):
    """``SupportRows()(a, W)``: the rows with positive curvature, then the other support vectors.

    Under JAX, whose shapes are static, the first output holds all rows and the second none.
    """

    __props__ = ()

    def make_node(self, a: Any, W: Any) -> Apply:
        """Build the node."""
        return Apply(self, [as_float("a", a, 1), as_float("W", W, 1)], [pt.lvector(), pt.lvector()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that rows cannot be differentiated."""
        return [[False, False]] * 2

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Find the rows."""
        for storage, rows in zip(output_storage, support_rows(*inputs), strict=True):
            storage[0] = rows


@numba.njit(cache=True, fastmath=False, nogil=True)
def support_rows(a, W):
    """Return the rows with ``W > 0``, and the other rows with ``a != 0``."""
    return np.flatnonzero(W > 0.0), np.flatnonzero((a != 0.0) & ~(W > 0.0))


@register_funcify_default_op_cache_key(SupportRows)
def _compile_support_rows(op: SupportRows, node: Apply, **_: Any) -> tuple[Any, int]:
    return support_rows, code_version()
