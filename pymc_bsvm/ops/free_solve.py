"""The linear system on the free support vectors, which implicit derivatives solve."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph import Apply

from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.ops.base import BsvmOp, as_float
from pymc_bsvm.solvers import interpreted
from pymc_bsvm.solvers.kernel import solve_free

__all__ = ["FreeSolve", "no_factor"]


class FreeSolve(BsvmOp):
    """The solution of ``(K + diag(h)) u = c`` on the rows with a finite h, zero elsewhere.

    The last three inputs are the factor that the solver ended with: its rows, the square roots of
    the curvature, and L of ``B = I + W½ K W½ = L L'``. If it is of the same rows, no other
    factorisation is needed, even where the curvature has moved a little since.
    """

    __props__ = ()

    def make_node(
        self, K: Any, h: Any, c: Any, index: Any = None, root: Any = None, cholesky: Any = None
    ) -> Apply:
        """Build the node; without a factor, the matrix is factorised."""
        inputs = [as_float("K", K, 2), as_float("h", h, 1), as_float("c", c, 1)]
        factor = no_factor() if index is None else [index, root, cholesky]
        inputs += map(pt.as_tensor_variable, factor)
        return Apply(self, inputs, [inputs[2].type()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shape of the output."""
        return [input_shapes[2]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the factor is only a means."""
        return [[True]] * 3 + [[False]] * 3

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Solve."""
        output_storage[0][0] = interpreted.solve_free(*map(np.ascontiguousarray, inputs))

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Differentiate the linear system; K is taken to be symmetric."""
        K, h, _, *factor = inputs
        (u,) = outputs
        v = self(K, h, cotangents[0], *factor)
        return [-v[:, None] * u, -v * u, v, *(disconnected_type() for _ in factor)]


def no_factor() -> list[Any]:
    """Return the factor of no rows."""
    return [np.zeros(0, dtype="int64"), np.zeros(0), np.zeros((0, 0))]


@compiled_by(FreeSolve)
def _compile_free_solve(op: FreeSolve) -> Any:
    @numba.njit(fastmath=False, nogil=True)
    def free_solve(K, h, c, index, root, cholesky):
        return solve_free(
            np.ascontiguousarray(K),
            np.ascontiguousarray(h),
            np.ascontiguousarray(c),
            np.ascontiguousarray(index),
            np.ascontiguousarray(root),
            np.ascontiguousarray(cholesky),
        )

    return free_solve
