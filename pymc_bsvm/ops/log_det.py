"""The determinant in the Laplace evidence."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply

from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.ops.base import BsvmOp, as_float
from pymc_bsvm.solvers import interpreted
from pymc_bsvm.solvers.determinant import log_det, log_det_gradient

__all__ = ["LogDet", "LogDetGradient"]


class LogDet(BsvmOp):
    """``LogDet()(K, W)``: the value of ``log |I + W½ K W½|``, and the lower Cholesky factor.

    K is symmetric and W nonnegative. NaN tells that the matrix is not positive definite.
    """

    __props__ = ()

    def make_node(self, K: Any, W: Any) -> Apply:
        """Build the node."""
        inputs = [as_float("K", K, 2), as_float("W", W, 1)]
        return Apply(self, inputs, [pt.dscalar(), pt.dmatrix()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs."""
        return [(), input_shapes[0]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that only the value can be differentiated."""
        return [[True, False]] * 2

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Factorise."""
        value, L = interpreted.log_det(*map(np.ascontiguousarray, inputs))
        output_storage[0][0], output_storage[1][0] = np.asarray(value), L

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Differentiate the determinant: ``R = W½ B⁻¹ W½`` for K, and the diagonal for W."""
        if isinstance(cotangents[0].type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        R, q = LogDetGradient()(*inputs, outputs[1])
        return [cotangents[0] * R, cotangents[0] * q]


class LogDetGradient(BsvmOp):
    """``R = (K + W⁻¹)⁻¹`` and the diagonal q of ``(K⁻¹ + W)⁻¹``, from the factor of `LogDet`."""

    __props__ = ()

    def make_node(self, K: Any, W: Any, cholesky: Any) -> Apply:
        """Build the node."""
        inputs = [as_float("K", K, 2), as_float("W", W, 1), as_float("cholesky", cholesky, 2)]
        return Apply(self, inputs, [pt.dmatrix(), pt.dvector()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs."""
        return [input_shapes[0], input_shapes[1]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the factor is only a means."""
        return [[True, True], [True, True], [False, False]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Invert."""
        R, q = interpreted.log_det_gradient(*map(np.ascontiguousarray, inputs))
        output_storage[0][0], output_storage[1][0] = R, q

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Differentiate once more, with ``h = 1 / W``: ``dR = -R (dK + dh) R`` and the like."""
        _, W, _ = inputs
        R, _ = outputs
        G, g = (
            pt.zeros_like(output) if isinstance(c.type, DisconnectedType) else c
            for output, c in zip(outputs, cotangents, strict=True)
        )
        h = 1.0 / W
        left = R @ G @ R
        posterior = pt.diag(h) - h[:, None] * R * h
        of_K = (R * (h * h * g)) @ R - left
        of_W = h * h * pt.diagonal(left) - pt.sqr(posterior) @ g
        return [of_K, of_W, disconnected_type()]


@compiled_by(LogDet)
def _compile_log_det(op: LogDet) -> Any:
    @numba.njit(fastmath=False, nogil=True)
    def compiled(K, W):
        value, L = log_det(np.ascontiguousarray(K), np.ascontiguousarray(W))
        return np.asarray(value), L

    return compiled


@compiled_by(LogDetGradient)
def _compile_log_det_gradient(op: LogDetGradient) -> Any:
    @numba.njit(fastmath=False, nogil=True)
    def compiled(K, W, cholesky):
        return log_det_gradient(
            np.ascontiguousarray(K), np.ascontiguousarray(W), np.ascontiguousarray(cholesky)
        )

    return compiled
