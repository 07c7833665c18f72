"""The derivatives of the dual at the MAP estimate, by the implicit function theorem."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type, grad
from pytensor.graph import Apply

from pymc_bsvm import losses, symbolic
from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.losses import Loss
from pymc_bsvm.ops.base import BsvmOp, as_float, as_rows
from pymc_bsvm.ops.free_solve import FreeSolve

__all__ = ["ImplicitDual", "implicit_pullback"]

_solve_free_rows = FreeSolve()


def implicit_pullback(
    loss_type: type[Loss], K: Any, y: Any, m: Any, parameters: Any, a: Any, c: Any, factor: Any
) -> list[Any]:
    """Take a cotangent of the dual back to K, y, m and the parameters, of shape (k, n).

    On the free set the latent value is a smooth function of the dual with derivative -h:
    ``h = 1 / W`` with the curvature W, and ``h = 0`` at a kink. With the cotangent c,

        u = (K + diag(h))⁻¹ c on the free set, zero elsewhere;   v = c - K u
        K: -u a',   m: -u,   y and parameters: the derivatives of -v'l'(y, f) at fixed f and v

    and, for a loss with kinks, of ``-u' dl*(-a) / da`` on the free set, where v counts as zero.
    """
    stated = losses.formulas(loss_type, symbolic)
    p = [parameters[i] for i in range(loss_type.n_parameters())]
    f = m + K @ a
    if loss_type.differentiable:
        W = stated.curvature(y, f, *p)
        free = W > 0.0
        h = pt.where(free, 1.0 / pt.where(free, W, 1.0), np.inf)
        u = _solve_free_rows(K, h, c, *factor)
        balance = -((c - K @ u) * stated.derivative(y, f, *p)).sum()
    else:
        lower, upper = stated.dual_domain(y, *p)
        free = (a > lower) & (a < upper) & pt.neq(a, 0.0)
        u = _solve_free_rows(K, pt.where(free, 0.0, np.inf), c)
        v = pt.where(free, 0.0, c - K @ u)
        kink = grad(pt.where(free, stated.conjugate(y, a, *p), 0.0).sum(), a)
        balance = -(v * stated.derivative(y, f, *p)).sum() - (u * kink).sum()
    explicit = grad(
        balance, [y, parameters], consider_constant=[a, c, f, u], disconnected_inputs="ignore"
    )
    return [-u[:, None] * a, explicit[0], -u, explicit[1]]


class ImplicitDual(BsvmOp):
    """A dual that was found elsewhere, as a function of what it depends on.

    ``ImplicitDual(loss_type)(K, y, m, parameters, a, index, root, cholesky)`` returns ``a`` and
    knows its derivatives. All inputs but the last three are restricted to rows that hold all
    support vectors, which is all that the dual depends on; the last three are the solver's factor.
    The parameters are a vector, or a matrix with one column for each row.
    """

    __props__ = ("loss_type",)
    view_map = {0: [4]}  # noqa: RUF012

    def __init__(self, loss_type: type[Loss]) -> None:
        self.loss_type = loss_type

    def make_node(self, K: Any, y: Any, m: Any, parameters: Any, a: Any, *factor: Any) -> Apply:
        """Build the node."""
        y, m, a = as_float("y", y, 1), as_float("m", m, 1), as_float("a", a, 1)
        inputs = [as_float("K", K, 2), y, m, as_rows(parameters, y), a]
        inputs += map(pt.as_tensor_variable, factor)
        return Apply(self, inputs, [inputs[4].type()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shape of the output."""
        return [input_shapes[4]]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the dual that was found is a value, not a variable."""
        return [[True]] * 4 + [[False]] * 4

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Pass the dual on."""
        output_storage[0][0] = inputs[4]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Apply the implicit function theorem."""
        K, y, m, parameters, _, *factor = inputs
        c = cotangents[0]
        if isinstance(c.type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        explicit = implicit_pullback(self.loss_type, K, y, m, parameters, outputs[0], c, factor)
        return [*explicit, *(disconnected_type() for _ in range(4))]


@compiled_by(ImplicitDual)
def _compile_implicit_dual(op: ImplicitDual) -> Any:
    @numba.njit(fastmath=False, nogil=True)
    def implicit_dual(K, y, m, parameters, a, index, root, cholesky):
        return a

    return implicit_dual
