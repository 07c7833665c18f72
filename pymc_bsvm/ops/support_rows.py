"""The rows on which an evidence lives."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.graph import Apply

from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.ops.base import BsvmOp, as_float

__all__ = ["SupportRows"]


class SupportRows(BsvmOp):
    """The rows with positive curvature, and the other support vectors.

    ``SupportRows()(a, W, index)`` returns the rows with ``W > 0`` followed by the others with
    ``a != 0``; the places of the first kind, which are 0, 1, ...; and for each row of ``index`` its
    place, or -1. Under JAX, whose shapes are static, all rows are of the first kind.
    """

    __props__ = ()

    def make_node(self, a: Any, W: Any, index: Any) -> Apply:
        """Build the node."""
        inputs = [as_float("a", a, 1), as_float("W", W, 1), pt.as_tensor_variable(index)]
        return Apply(self, inputs, [pt.lvector() for _ in range(3)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that rows cannot be differentiated."""
        return [[False] * 3] * 3

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Find the rows."""
        a, W, index = inputs
        curved, place = W > 0.0, np.full(a.size, -1)
        rows = np.concatenate([np.flatnonzero(curved), np.flatnonzero((a != 0.0) & ~curved)])
        place[rows] = np.arange(rows.size)
        found = rows, np.arange(np.count_nonzero(curved)), place[index]
        for storage, result in zip(output_storage, found, strict=True):
            storage[0] = result


@numba.njit(cache=True, fastmath=False, nogil=True)
def support_rows(a, W, index):
    """Return the outputs of `SupportRows`."""
    n, m = a.shape[0], 0
    rows, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):  # loops compile in a moment, functions of arrays do not
        place[i] = -1
        if W[i] > 0.0:
            rows[m], place[i] = i, m
            m += 1
    curved = np.empty(m, dtype=np.int64)
    for k in range(m):
        curved[k] = k
    for i in range(n):
        if a[i] != 0.0 and not W[i] > 0.0:
            rows[m], place[i] = i, m
            m += 1
    places = np.empty(index.shape[0], dtype=np.int64)
    for k in range(index.shape[0]):
        places[k] = place[index[k]]
    return rows[:m].copy(), curved, places


@compiled_by(SupportRows)
def _compile_support_rows(op: SupportRows) -> Any:
    return support_rows
