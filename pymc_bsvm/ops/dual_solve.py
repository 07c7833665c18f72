"""The sparse dual solver as a PyTensor Op, differentiable by the implicit function theorem."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply

from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.losses import Loss
from pymc_bsvm.ops.base import BsvmOp, WarmStarted, as_float, as_rows
from pymc_bsvm.ops.implicit_dual import implicit_pullback
from pymc_bsvm.ops.mode import compiled_mode, interpreted_mode
from pymc_bsvm.solvers.newton import CONVERGED

__all__ = ["DualSolve"]


class DualSolve(WarmStarted, BsvmOp):
    """The dual at the MAP estimate, as a function of everything it depends on.

    ``DualSolve(loss_type)(K, y, m, parameters, a0)``, where the parameters are a vector, or a
    matrix with one column for each row, and the dual ``a0`` to start from may be left out or empty,

    Returns
    -------
    - the dual ``a = -dl/df`` at the minimum of ``sum_i l(y_i, f_i) + a'Ka / 2``, f = m + K a;
    - the status of the solve: zero if the duality gap is small enough, else the position in
      `pymc_bsvm.solvers.Status`, or -1 for inputs that are not finite. Then the dual and f are
      NaN, which a sampler takes for a divergence;
    - the latent values f, without derivatives;
    - the factor of the last step: its rows, the square roots of the curvature, and L; see
      `pymc_bsvm.solvers.Factor`. It serves derivatives; it may be empty.

    Parameters
    ----------
    loss_type : type of Loss
        The loss; its parameters are an input.
    tol : float, default 1e-9
        Duality gap that the solver aims at, relative to ``1 + |primal|``.
    max_iter : int, default 1000
        Largest number of Newton steps.
    accept : float, optional
        Duality gap that counts as converged if rounding stops the solver above `tol`.
        By default `tol`.

    Notes
    -----
    Derivatives are exact while no row changes its set; see
    `pymc_bsvm.ops.implicit_dual.implicit_pullback`. K is taken to be symmetric.
    """

    __props__ = ("loss_type", "tol", "max_iter", "accept")
    start_output = 0

    def __init__(
        self,
        loss_type: type[Loss],
        tol: float = 1e-9,
        max_iter: int = 1000,
        accept: float | None = None,
    ) -> None:
        self.loss_type = loss_type
        self.tol = tol
        self.max_iter = max_iter
        self.accept = tol if accept is None else accept

    def make_node(self, K: Any, y: Any, m: Any, parameters: Any, a0: Any = None) -> Apply:
        """Build the node; ``parameters`` are in the order of the loss's formulas."""
        y, m = as_float("y", y, 1), as_float("m", m, 1)
        a0 = pt.zeros((0,)) if a0 is None else as_float("a0", a0, 1)
        inputs = [as_float("K", K, 2), y, m, as_rows(parameters, y), a0]
        rows = pt.vector(shape=(inputs[1].type.shape[0],), dtype="float64").type
        outputs = [rows(), pt.lscalar(), rows(), pt.lvector(), pt.dvector(), pt.dmatrix()]
        return Apply(self, inputs, outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that only the dual can be differentiated."""
        return [[True, False, False, False, False, False]] * 4 + [[False] * 6]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Solve in Python, for the backends that do not compile the solver."""
        a, status, *rest = self.solve(*inputs)
        for storage, result in zip(output_storage, (a, np.asarray(status), *rest), strict=True):
            storage[0] = result

    def solve(self, K: Any, y: Any, m: Any, parameters: Any, a0: Any) -> tuple[Any, ...]:
        """Return the outputs for numbers, by the interpreted solver."""
        K, y, m, parameters, a0 = map(np.ascontiguousarray, (K, y, m, parameters, a0))
        n, count = y.shape[0], self.loss_type.n_parameters()
        a0 = a0 if a0.size else np.zeros(n)
        if K.shape != (n, n) or not m.shape == a0.shape == (n,) or parameters.shape != (count, n):
            raise ValueError(_MISMATCH)
        none = np.full(n, np.nan)
        nothing = (np.zeros(0, dtype="int64"), np.zeros(0), np.zeros((0, 0)))
        if not all(np.isfinite(x).all() for x in (K, y, m, parameters, a0)):
            return none, -1, none.copy(), *nothing
        mode = interpreted_mode(self.loss_type, DENSE)
        settings = self.tol, self.accept, self.max_iter
        with np.errstate(all="ignore"):
            found, factor, status = mode(K, y, m, parameters, a0, *settings)
        if status != CONVERGED:
            return none, int(status), none.copy(), *nothing
        free, root, L = factor
        return found.a, CONVERGED, found.f, free, root[free], L

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Apply the implicit function theorem."""
        if isinstance(cotangents[0].type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        K, y, m, parameters, _ = inputs
        a, _, _, *factor = outputs
        c = cotangents[0]
        explicit = implicit_pullback(self.loss_type, K, y, m, parameters, a, c, factor)
        return [*explicit, disconnected_type()]


_MISMATCH = (
    "The lengths of K, y, m and the parameters of DualSolve do not agree. "
    "Pass K of shape (n, n), y, m and a0 of shape (n,), and all k parameters of the loss's "
    "formulas, of shape (k,) or (k, n)."
)


@compiled_by(DualSolve)
def _compile_dual_solve(op: DualSolve) -> Any:
    mode = compiled_mode(op.loss_type, DENSE)
    count = op.loss_type.n_parameters()
    tol, accept, max_iter = float(op.tol), float(op.accept), int(op.max_iter)

    @numba.njit(fastmath=False, nogil=True)
    def dual_solve(K, y, m, parameters, a0):
        n = y.shape[0]
        shapes = K.shape[0] == n and K.shape[1] == n and m.shape[0] == n
        shapes = shapes and (a0.shape[0] == n or a0.shape[0] == 0)
        if not (shapes and parameters.shape[0] == count and parameters.shape[1] == n):
            raise ValueError(_MISMATCH)
        K, y, m = np.ascontiguousarray(K), np.ascontiguousarray(y), np.ascontiguousarray(m)
        p, a0 = np.ascontiguousarray(parameters), np.ascontiguousarray(a0)
        finite = np.isfinite(K).all() and np.isfinite(y).all()
        finite = finite and np.isfinite(m).all() and np.isfinite(a0).all()
        status = -1
        if finite and np.isfinite(p).all():
            found, factor, status = mode(K, y, m, p, a0, tol, accept, max_iter)
            if status == CONVERGED:
                free = factor.free
                root, certified = factor.root[free], np.asarray(status)
                return found.a, certified, found.f, free, root, factor.cholesky
        none, nothing, rows = np.full(n, np.nan), np.zeros(0), np.zeros(0, dtype=np.int64)
        return none, np.asarray(status), none.copy(), rows, nothing, np.zeros((0, 0))

    return dual_solve
