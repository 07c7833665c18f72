"""The Ops in JAX: solved on the host, differentiated by JAX or by PyTensor alike."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pymc_bsvm import jax_language, losses
from pymc_bsvm._pytensor.jax import jax_funcify
from pymc_bsvm.ops.dual_solve import DualSolve
from pymc_bsvm.ops.free_solve import FreeSolve
from pymc_bsvm.ops.implicit_dual import ImplicitDual
from pymc_bsvm.ops.inducing_mode import InducingMode
from pymc_bsvm.ops.log_det import LogDet, LogDetGradient
from pymc_bsvm.ops.support_rows import SupportRows
from pymc_bsvm.ops.whiten import Whiten, WhitenBack

__all__: list[str] = []


def _solve_free(K: Any, h: Any, c: Any) -> Any:
    """Solve on the rows with a finite h, with the others masked, because shapes are static."""
    free = jnp.isfinite(h)
    scale = jnp.where(free, 1.0 / jnp.sqrt(jnp.where(free, h, 1.0) + jnp.diag(K)), 0.0)
    A = scale[:, None] * K * scale
    A = A - jnp.diag(jnp.diag(A)) + jnp.eye(h.shape[0])
    return scale * jnp.linalg.solve(A, scale * c)


@jax_funcify.register(FreeSolve)
def _free_solve(op: FreeSolve, **_: Any) -> Any:
    return lambda K, h, c, *factor: _solve_free(K, h, c)


@jax_funcify.register(SupportRows)
def _support_rows(op: SupportRows, **_: Any) -> Any:
    def support_rows(a: Any, W: Any, index: Any) -> tuple[Any, ...]:
        rows = jnp.arange(a.shape[0])
        return rows, rows, jnp.arange(0)

    return support_rows


@jax_funcify.register(ImplicitDual)
def _implicit_dual(op: ImplicitDual, **_: Any) -> Any:
    # DualSolve, where the dual comes from, is differentiated by JAX itself
    return lambda K, y, m, parameters, a, *factor: a


@jax_funcify.register(LogDet)
def _log_det(op: LogDet, **_: Any) -> Any:
    def log_det(K: Any, W: Any) -> tuple[Any, Any]:
        """Return the determinant in a form that differentiates where W is zero, and no factor."""
        n = W.shape[0]
        sign, value = jnp.linalg.slogdet(jnp.eye(n) + W[:, None] * K)
        return jnp.where(sign > 0.0, value, jnp.nan), jnp.zeros((0, 0))

    return log_det


@jax_funcify.register(LogDetGradient)
def _log_det_gradient(op: LogDetGradient, **_: Any) -> Any:
    def log_det_gradient(K: Any, W: Any, cholesky: Any) -> tuple[Any, Any]:
        root = jnp.sqrt(W)
        B = jnp.eye(W.shape[0]) + root[:, None] * K * root
        R = root[:, None] * jnp.linalg.inv(B) * root
        return R, jnp.diag(K) - ((K @ R) * K).sum(axis=1)

    return log_det_gradient


@jax_funcify.register(DualSolve)
def _dual_solve(op: DualSolve, **_: Any) -> Any:
    if not op.loss_type.differentiable:
        raise NotImplementedError(
            f"{op.loss_type.__name__} has kinks, which DualSolve does not differentiate in JAX. "
            "Use the default backend, with PyMC's own sampler or nutpie."
        )
    stated = losses.formulas(op.loss_type, jax_language)
    count = op.loss_type.n_parameters()

    def host(*inputs: Any) -> tuple[Any, Any]:
        numbers = (np.asarray(x, dtype="float64") for x in inputs)
        a, status, *_ = op.solve(*numbers)
        return a, np.asarray(status, dtype="int64")

    def dual_solve(K: Any, y: Any, m: Any, parameters: Any, a0: Any) -> tuple[Any, ...]:
        """Solve on the host, then take one Newton step, which moves nothing but the derivative."""
        shapes = (jax.ShapeDtypeStruct(y.shape, y.dtype), jax.ShapeDtypeStruct((), "int64"))
        arguments = jax.lax.stop_gradient((K, y, m, parameters, a0))
        a, status = jax.pure_callback(host, shapes, *arguments, vmap_method="sequential")
        p = [parameters[i] for i in range(count)]
        f = m + K @ a
        balance = a + stated.derivative(y, f, *p)
        W = jax.lax.stop_gradient(stated.curvature(y, f, *p))
        h = jnp.where(W > 0.0, 1.0 / jnp.where(W > 0.0, W, 1.0), jnp.inf)
        off = jnp.where(W > 0.0, 0.0, balance)
        fixed = jax.lax.stop_gradient(K)
        right = jnp.where(W > 0.0, jnp.where(W > 0.0, h, 0.0) * balance - fixed @ off, 0.0)
        a = a - off - _solve_free(fixed, h, right)
        return a, status, m + K @ a, jnp.arange(0), jnp.zeros(0), jnp.zeros((0, 0))

    return dual_solve


@jax_funcify.register(InducingMode)
def _inducing_mode(op: InducingMode, **_: Any) -> Any:
    stated = losses.formulas(op.loss_type, jax_language)
    count = op.loss_type.n_parameters()

    def host(*inputs: Any) -> Any:
        return op.solve(*(np.asarray(x, dtype="float64") for x in inputs))

    def inducing_mode(A: Any, y: Any, m: Any, parameters: Any, a0: Any) -> tuple[Any, Any]:
        """Solve on the host, then take one Newton step, which moves nothing but the derivative."""
        shapes = tuple(jax.ShapeDtypeStruct((size,), y.dtype) for size in A.shape[::-1])
        arguments = jax.lax.stop_gradient((A, y, m, parameters, a0))
        w, a = jax.pure_callback(host, shapes, *arguments, vmap_method="sequential")
        p = [parameters[i] for i in range(count)]
        f = m + A @ w
        W, fixed = jax.lax.stop_gradient((stated.curvature(y, f, *p), A))
        B = jnp.eye(w.shape[0]) + fixed.T @ (W[:, None] * fixed)
        return w - jnp.linalg.solve(B, w + A.T @ stated.derivative(y, f, *p)), a

    return inducing_mode


def _whitened(*inputs: Any) -> Any:
    """Return the first outputs of `Whiten`, which JAX differentiates."""
    K, m, root, b, u, edges, labels, rows = inputs
    solve = jax.scipy.linalg.solve_triangular
    eye, c = jnp.eye(m.shape[0]), b - root**2 * m
    L, R = jnp.linalg.cholesky(K), jnp.linalg.cholesky(eye + root[:, None] * K * root)
    of_u = L @ u
    half = solve(R, root * (K @ c), lower=True) + solve(R + eye, root * of_u, lower=True)
    y, bent = c - root * solve(R, half, lower=True, trans=1), 0.0
    if rows.shape[0]:
        half = solve(R, (root * K[rows]).T, lower=True)
        factor = jnp.linalg.cholesky(K[rows][:, rows] - half.T @ half)
        sd = jnp.sqrt((factor**2).sum(axis=1))
        level = (edges - labels * (m + K @ y + of_u)[rows]) / sd
        moved = jax.nn.softplus(level)
        x = solve(factor, solve(factor, labels * sd * moved, lower=True), lower=True, trans=1)
        y = y.at[rows].add(x) - root * solve(R, half @ x, lower=True, trans=1)
        bent = moved.sum()
    w = L.T @ y + u
    constant = 0.5 * m.shape[0] * np.log(2.0 * np.pi)
    return m + L @ w, -0.5 * w @ w - jnp.log(jnp.diag(R)).sum() - bent - constant


@jax_funcify.register(Whiten)
def _whiten(op: Whiten, **_: Any) -> Any:
    def whiten(*inputs: Any) -> tuple[Any, ...]:
        *most, labels, edges, rows = inputs
        kept = (jnp.zeros((0, 0, 0)), *(jnp.zeros((0, 0)) for _ in range(3)))
        return *_whitened(*most, edges, labels, rows), *kept

    return whiten


@jax_funcify.register(WhitenBack)
def _whiten_back(op: WhitenBack, **_: Any) -> Any:
    def whiten_back(*inputs: Any) -> Any:
        *most, labels, edges, rows = inputs[:8]
        back = jax.vjp(lambda *x: _whitened(*x, labels, rows), *most, edges)[1]
        return back(tuple(inputs[-2:]))

    return whiten_back
