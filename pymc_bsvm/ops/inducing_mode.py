"""The most probable values at inducing points, differentiable by the implicit function theorem."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type, grad
from pytensor.graph import Apply

from pymc_bsvm import losses, symbolic
from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.covariance.woodbury import WOODBURY, Parts
from pymc_bsvm.losses import Loss
from pymc_bsvm.ops.base import BsvmOp, WarmStarted, as_float, as_rows
from pymc_bsvm.ops.free_solve import FreeSolve
from pymc_bsvm.ops.mode import compiled_mode, interpreted_mode
from pymc_bsvm.ops.support_rows import SupportRows
from pymc_bsvm.solvers.newton import CONVERGED

__all__ = ["InducingMode", "gram"]


def gram(A: Any, W: Any) -> Any:
    """Return ``A'W A``, for which only the rows with ``W > 0`` are read."""
    rows, *_ = SupportRows()(pt.zeros_like(W), W, np.zeros(0, dtype="int64"))
    of_rows = A[rows]
    return of_rows.T @ (W[rows][:, None] * of_rows)


class InducingMode(WarmStarted, BsvmOp):
    """The whitened values w at the minimum of ``sum_i l(y_i, f_i) + w'w / 2``, ``f = m + A w``.

    ``InducingMode(loss_type)(A, y, m, parameters, a0)``, where the parameters are a vector, or a
    matrix with one column for each row, and the dual ``a0`` to start from may be left out or empty,

    Returns
    -------
    - the values ``w = A'a``, of shape (m,);
    - the dual ``a = -dl/df``, of shape (n,), without derivatives.

    Both are NaN, which a sampler takes for a divergence, for inputs that are not finite and where
    the duality gap, ``|w - A'a|² / 2`` for this dual, is not small enough.

    Parameters
    ----------
    loss_type : type of Loss
        The loss, which must have a curvature; its parameters are an input.
    tol, max_iter, accept
        As for `DualSolve`.

    Notes
    -----
    A step of the solver costs ``n m²`` operations at most, for rows with a curvature only.
    """

    __props__ = ("loss_type", "tol", "max_iter", "accept")
    start_output = 1

    def __init__(
        self,
        loss_type: type[Loss],
        tol: float = 1e-9,
        max_iter: int = 1000,
        accept: float | None = None,
    ) -> None:
        if not loss_type.differentiable:
            raise ValueError(
                f"{loss_type.__name__} has kinks, where InducingMode has no derivative. "
                "Use a loss with a curvature, such as SILF."
            )
        self.loss_type = loss_type
        self.tol = tol
        self.max_iter = max_iter
        self.accept = tol if accept is None else accept

    def make_node(self, A: Any, y: Any, m: Any, parameters: Any, a0: Any = None) -> Apply:
        """Build the node; ``parameters`` are in the order of the loss's formulas."""
        y = as_float("y", y, 1)
        a0 = pt.zeros((0,)) if a0 is None else as_float("a0", a0, 1)
        inputs = [as_float("A", A, 2), y, as_float("m", m, 1), as_rows(parameters, y), a0]
        return Apply(self, inputs, [pt.dvector(), pt.dvector()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs."""
        n, m = input_shapes[0]
        return [(m,), (n,)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that only the values can be differentiated."""
        return [[True, False]] * 4 + [[False, False]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Solve in Python, for the backends that do not compile the solver."""
        output_storage[0][0], output_storage[1][0] = self.solve(*inputs)

    def solve(self, A: Any, y: Any, m: Any, parameters: Any, a0: Any) -> tuple[Any, Any]:
        """Return the outputs for numbers, by the interpreted solver."""
        A, y, m, parameters, a0 = map(np.ascontiguousarray, (A, y, m, parameters, a0))
        n = y.shape[0]
        shapes = A.shape[0] == m.shape[0] == n and a0.shape[0] in (0, n)
        if not shapes or parameters.shape != (self.loss_type.n_parameters(), n):
            raise ValueError(_MISMATCH)
        if all(np.isfinite(x).all() for x in (A, y, m, parameters, a0)):
            mode = interpreted_mode(self.loss_type, WOODBURY)
            K, settings = Parts(A, np.zeros(n)), (self.tol, self.accept, self.max_iter)
            with np.errstate(all="ignore"):
                found, _, status = mode(K, y, m, parameters, a0, *settings)
            if status == CONVERGED:
                return A.T @ found.a, found.a
        return np.full(A.shape[1], np.nan), np.full(n, np.nan)

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Apply the implicit function theorem to ``w = A'a(m + A w)``.

        With the cotangent c, the curvature W and ``v = (I + A'W A)⁻¹ c``,

            A: a v' - W A v w',   m: -W A v,   y and parameters: the derivatives of -(A v)'l'(y, f).
        """
        c = cotangents[0]
        if isinstance(c.type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        A, y, m, parameters, _ = inputs
        w, _ = outputs
        stated = losses.formulas(self.loss_type, symbolic)
        p = [parameters[i] for i in range(self.loss_type.n_parameters())]
        f = m + A @ w
        W, slope = stated.curvature(y, f, *p), stated.derivative(y, f, *p)
        v = FreeSolve()(gram(A, W), pt.ones_like(w), c)
        moved = A @ v
        pulled = W * moved
        explicit = grad(
            -(moved * slope).sum(),
            [y, parameters],
            consider_constant=[moved, f],
            disconnected_inputs="ignore",
        )
        of_A = -slope[:, None] * v - pulled[:, None] * w
        return [of_A, explicit[0], -pulled, explicit[1], disconnected_type()]


_MISMATCH = (
    "The lengths of A, y, m and the parameters of InducingMode do not agree. "
    "Pass A of shape (n, m), y, m and a0 of shape (n,), and all k parameters of the loss's "
    "formulas, of shape (k,) or (k, n)."
)


@compiled_by(InducingMode)
def _compile_inducing_mode(op: InducingMode) -> Any:
    mode = compiled_mode(op.loss_type, WOODBURY)
    count = op.loss_type.n_parameters()
    tol, accept, max_iter = float(op.tol), float(op.accept), int(op.max_iter)

    @numba.njit(fastmath=False, nogil=True)
    def inducing_mode(A, y, m, parameters, a0):
        n = y.shape[0]
        shapes = A.shape[0] == n and m.shape[0] == n and (a0.shape[0] == n or a0.shape[0] == 0)
        if not (shapes and parameters.shape[0] == count and parameters.shape[1] == n):
            raise ValueError(_MISMATCH)
        A, y, m = np.ascontiguousarray(A), np.ascontiguousarray(y), np.ascontiguousarray(m)
        p, a0 = np.ascontiguousarray(parameters), np.ascontiguousarray(a0)
        finite = np.isfinite(A).all() and np.isfinite(y).all() and np.isfinite(m).all()
        if finite and np.isfinite(p).all() and np.isfinite(a0).all():
            K = Parts(A, np.zeros(n))
            found, _, status = mode(K, y, m, p, a0, tol, accept, max_iter)
            if status == CONVERGED:
                return A.T @ found.a, found.a
        return np.full(A.shape[1], np.nan), np.full(n, np.nan)

    return inducing_mode
