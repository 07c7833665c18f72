"""The sparse dual solver as a PyTensor Op, differentiable by the implicit function theorem."""

from __future__ import annotations

import functools
import hashlib
import importlib
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.compile.mode import optdb
from pytensor.gradient import DisconnectedType, disconnected_type, grad
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import graph_rewriter
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from pymc_bsvm import losses, symbolic
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.numba_language import function
from pymc_bsvm.solvers.core import compiled_solver, interpreted_solver
from pymc_bsvm.solvers.kernel import solve_free

__all__ = ["DualSolve", "FreeSolve"]


class DualSolve(Op):
    """The dual at the MAP estimate, as a function of everything it depends on.

    ``DualSolve(loss_type)(K, y, m, parameters)`` returns the dual ``a = -dl/df`` at the minimum of
    ``sum_i l(y_i, f_i) + a'Ka / 2`` with ``f = m + K a``, and the status of the solve: zero if the
    duality gap is below ``tol``, else the position in `pymc_bsvm.solvers.Status`, or -1 for inputs
    that are not finite. Then the dual is NaN, which a sampler takes for a divergence.

    Parameters
    ----------
    loss_type : type of Loss
        The loss; its parameters are an input.
    tol : float, default 1e-9
        Largest duality gap, relative to ``1 + |primal|``.
    max_iter : int, default 1000
        Largest number of Newton steps.

    Notes
    -----
    Derivatives are exact while no row changes its set. On the free set the latent value is a smooth
    function of the dual with derivative -h: ``h = 1 / W`` with the curvature W, and ``h = 0`` at
    a kink. With a cotangent c of the dual,

        u = (K + diag(h))⁻¹ c on the free set, zero elsewhere;   v = c - K u
        K: -u a',   m: -u,   y and parameters: the derivatives of -v'l'(y, f) at fixed f and v

    and, for a loss with kinks, of ``-u' dl*(-a) / da`` on the free set, where v counts as zero.
    K is taken to be symmetric.
    """

    __props__ = ("loss_type", "tol", "max_iter")

    def __init__(self, loss_type: type[Loss], tol: float = 1e-9, max_iter: int = 1000) -> None:
        self.loss_type = loss_type
        self.tol = tol
        self.max_iter = max_iter

    def make_node(self, K: Any, y: Any, m: Any, parameters: Any) -> Apply:
        """Build the node; ``parameters`` is a vector in the order of the loss's formulas."""
        inputs = [_as_float("K", K, 2)]
        inputs += [
            _as_float(*named, 1) for named in (("y", y), ("m", m), ("parameters", parameters))
        ]
        n = inputs[1].type.shape[0]
        return Apply(self, inputs, [pt.vector(shape=(n,), dtype="float64"), pt.lscalar()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs."""
        return [input_shapes[1], ()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the status cannot be differentiated."""
        return [[True, False]] * 4

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Solve in Python, for the backends that do not compile the solver."""
        a, status = self.solve(*inputs)
        output_storage[0][0] = a
        output_storage[1][0] = np.asarray(status, dtype="int64")

    def solve(self, K: Any, y: Any, m: Any, parameters: Any) -> tuple[Any, int]:
        """Return the dual, NaN where the solve failed, and the status."""
        K, y, m, parameters = map(np.ascontiguousarray, (K, y, m, parameters))
        n, count = y.shape[0], self.loss_type.n_parameters()
        if K.shape != (n, n) or m.shape != (n,) or parameters.shape != (count,):
            raise ValueError(_MISMATCH)
        failed = np.full(n, np.nan)
        if not all(np.isfinite(x).all() for x in (K, y, m, parameters)):
            return failed, -1
        start = (np.ones_like(y), tuple(parameters), m, np.zeros_like(y), 0.0, False)
        with np.errstate(all="ignore"):
            a, _, _, _, _, status, *_ = interpreted_solver(self.loss_type)(
                K, y, *start, self.tol, 0, self.max_iter, None
            )
        return (a if status == 0 else failed), int(status)

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Apply the implicit function theorem."""
        K, y, m, parameters = inputs
        a, c = outputs[0], cotangents[0]
        if isinstance(c.type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        stated = losses.formulas(self.loss_type, symbolic)
        p = [parameters[i] for i in range(self.loss_type.n_parameters())]
        f = m + K @ a
        if self.loss_type.differentiable:
            W = stated.curvature(y, f, *p)
            free = W > 0.0
            h = pt.where(free, 1.0 / pt.where(free, W, 1.0), np.inf)
            u = solve_free_rows(K, h, c)
            balance = -((c - K @ u) * stated.derivative(y, f, *p)).sum()
        else:
            lower, upper = stated.dual_domain(y, *p)
            free = (a > lower) & (a < upper) & pt.neq(a, 0.0)
            u = solve_free_rows(K, pt.where(free, 0.0, np.inf), c)
            v = pt.where(free, 0.0, c - K @ u)
            kink = grad(pt.where(free, stated.conjugate(y, a, *p), 0.0).sum(), a)
            balance = -(v * stated.derivative(y, f, *p)).sum() - (u * kink).sum()
        explicit = grad(
            balance, [y, parameters], consider_constant=[a, c, f, u], disconnected_inputs="ignore"
        )
        return [-pt.outer(u, a), explicit[0], -u, explicit[1]]


class FreeSolve(Op):
    """The solution of ``(K + diag(h)) u = c`` on the rows with a finite h, zero elsewhere."""

    __props__ = ()

    def make_node(self, K: Any, h: Any, c: Any) -> Apply:
        """Build the node."""
        inputs = [_as_float("K", K, 2), _as_float("h", h, 1), _as_float("c", c, 1)]
        return Apply(self, inputs, [inputs[2].type()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shape of the output."""
        return [input_shapes[2]]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Solve with the compiled kernel."""
        output_storage[0][0] = solve_free(*map(np.ascontiguousarray, inputs))

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Differentiate the linear system; K is taken to be symmetric."""
        K, h, _ = inputs
        (u,) = outputs
        v = self(K, h, cotangents[0])
        return [-pt.outer(v, u), -v * u, v]


solve_free_rows = FreeSolve()


def _as_float(name: str, x: Any, ndim: int) -> Any:
    tensor = pt.as_tensor_variable(x).astype("float64")
    if tensor.type.ndim != ndim:
        raise ValueError(
            f"{name} must have {ndim} dimensions, but it has {tensor.type.ndim}. "
            "Pass a square matrix and vectors of its length."
        )
    return tensor


@functools.cache
def _code_version() -> int:
    """Return a number that changes with the code that is compiled into the Ops."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted([here / "ops.py", *here.glob("losses/*.py"), *here.glob("solvers/*.py")]):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")


_MISMATCH = (
    "The lengths of K, y, m and the parameters of DualSolve do not agree. "
    "Pass K of shape (n, n), y and m of shape (n,), and all parameters of the loss's formulas."
)
_AS_TUPLE = [
    function(lambda p: ()),
    function(lambda p: (p[0],)),
    function(lambda p: (p[0], p[1])),
    function(lambda p: (p[0], p[1], p[2])),
]


@register_funcify_default_op_cache_key(DualSolve)
def _compile_dual_solve(op: DualSolve, node: Apply, **_: Any) -> tuple[Any, int]:
    solve = compiled_solver(op.loss_type)
    count = op.loss_type.n_parameters()
    as_tuple = _AS_TUPLE[count]
    tol, max_iter = op.tol, op.max_iter

    @numba.njit(fastmath=False, nogil=True)
    def dual_solve(K, y, m, parameters):
        n = y.shape[0]
        shapes = K.shape[0] == n and K.shape[1] == n and m.shape[0] == n
        if not (shapes and parameters.shape[0] == count):
            raise ValueError(_MISMATCH)
        failed = np.full(n, np.nan)
        finite = np.isfinite(K).all() and np.isfinite(y).all()
        if not (finite and np.isfinite(m).all() and np.isfinite(parameters).all()):
            return failed, np.asarray(-1)
        a, _, _, _, _, status, _, _, _ = solve(
            np.ascontiguousarray(K),
            np.ascontiguousarray(y),
            np.ones(n),
            as_tuple(parameters),
            np.ascontiguousarray(m),
            np.zeros(n),
            0.0,
            False,
            tol,
            0,
            max_iter,
            None,
        )
        return (a if status == 0 else failed), np.asarray(status)

    return dual_solve, _code_version()


@register_funcify_default_op_cache_key(FreeSolve)
def _compile_free_solve(op: FreeSolve, node: Apply, **_: Any) -> tuple[Any, int]:
    @numba.njit(fastmath=False, nogil=True)
    def free_solve(K, h, c):
        return solve_free(np.ascontiguousarray(K), np.ascontiguousarray(h), np.ascontiguousarray(c))

    return free_solve, _code_version()


@graph_rewriter
def _teach_jax(fgraph: Any) -> None:
    """Import the JAX versions of the Ops when a graph that holds them is compiled by JAX.

    JAX itself is imported no earlier: its threads disturb samplers that fork.
    """
    if any(isinstance(node.op, DualSolve | FreeSolve) for node in fgraph.apply_nodes):
        importlib.import_module("pymc_bsvm.ops_jax")


optdb.register("pymc_bsvm_teach_jax", _teach_jax, "jax", position=0.5)
