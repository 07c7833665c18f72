"""Expectation propagation as an Op that compiles, with the derivatives that come with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad, disconnected_type
from pytensor.graph import Apply

from pymc_bsvm import losses, symbolic
from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.covariance.address import call
from pymc_bsvm.evidence.compiled_marginals import (
    MARGINALS,
    SLOPES,
    covariance_slopes,
    dense_marginals,
    low_rank_marginals,
)
from pymc_bsvm.evidence.compiled_propagation import PROPAGATION, propagation
from pymc_bsvm.evidence.compiled_tilted import AVERAGES, ENDS, ends, slots
from pymc_bsvm.evidence.compiled_tilted import averages as averages_of
from pymc_bsvm.evidence.ep import EP
from pymc_bsvm.graph.integrate import Attach
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.tilted import tilted_density
from pymc_bsvm.ops.address import FAILED, compiled_at
from pymc_bsvm.ops.base import BsvmOp, WarmStarted, as_float

__all__ = ["Propagate", "Propagated", "compiles"]


class Propagate(WarmStarted, BsvmOp):
    """``Propagate(approximation, loss_type)(K, y, m, parameters, outline, *fields, start)``.

    Compiled code reads the parameters of the formulas, of shape (k, n), and the outline of the
    loss, of shape (pieces, 7, n); Python reads the fields.

    It returns the log evidence, its derivatives with respect to K, the dual and the precisions of
    the posterior, the means and variances of the cavities, the points of the tilted densities of
    all rows and their probabilities, and the start for a neighbouring problem. Where the residual
    stays above the tolerance, they are NaN, which a sampler takes for a divergence.

    None of the outputs can be differentiated; `Propagated` gives the value its derivatives.
    """

    __props__ = ("approximation", "loss_type")
    start_output = -1
    jax_module = "pymc_bsvm.graph.in_jax"

    def __init__(self, approximation: EP, loss_type: type[Loss]) -> None:
        self.approximation = approximation
        self.loss_type = loss_type

    def make_node(self, *inputs: Any) -> Apply:
        """Build the node."""
        K, y, m, parameters, outline, *fields, start = inputs
        tensors = [as_float("K", K, 2), as_float("y", y, 1), as_float("m", m, 1)]
        tensors += [as_float("parameters", parameters, 2), as_float("outline", outline, 3)]
        tensors += [pt.as_tensor_variable(x).astype("float64") for x in fields]
        rows = [pt.dvector() for _ in range(4)]
        outputs = [pt.dscalar(), pt.dmatrix(), *rows, pt.dmatrix(), pt.dmatrix(), pt.dvector()]
        return Apply(self, [*tensors, as_float("start", start, 1)], outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing is differentiated here."""
        return [[False] * len(node.outputs) for _ in node.inputs]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return no derivatives."""
        return [disconnected_type() for _ in inputs]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Approximate in Python, for the backends that do not compile the sweeps."""
        for storage, result in zip(output_storage, self.results(*inputs), strict=True):
            storage[0] = np.asarray(result, dtype=float)

    def results(self, *inputs: Any) -> tuple[Any, ...]:
        """Return the outputs for numbers."""
        K, y, m, p, outline, *fields, start = (np.asarray(x, dtype=float) for x in inputs)
        if not K.shape == (y.size, y.size) == (m.size, p.shape[1]):
            raise ValueError(_MISMATCH)
        try:
            loss = self.loss_type(**dict(zip(self.loss_type.domains, fields, strict=True)))
            found = self.approximation.evidence(
                K, y, loss, m=m, start=start if start.size else None, check_input=False
            )
        except (ValueError, ArithmeticError, RuntimeError):
            none, nothing = np.full(y.size, np.nan), np.zeros((y.size, 0))
            return np.nan, np.full(K.shape, np.nan), *[none] * 4, nothing, nothing, np.zeros(0)
        c, v = found.cavity.mean, found.cavity.variance
        points = density = np.zeros((y.size, 0))
        if outline.shape[0]:
            u = y - c if loss.task == "regression" else y * c
            rule = loss.tilted_rule(u, v)
            points, density = rule.points, tilted_density(loss, u, v, rule)[0]
        posterior = found.posterior.a, found.posterior.precision
        return found.log_evidence, found.gradient.K, *posterior, c, v, points, density, found.start


def compiles(approximation: EP, loss_type: type[Loss]) -> bool:
    """Whether the Op does what the approximation says, for a loss whose averages compile.

    They have a closed form, or an outline that fixes the points of a quadrature.
    """
    plain = type(approximation) is EP and approximation.on_failure == "raise"
    return plain and (loss_type.blurring is not None or loss_type.outline is not Loss.outline)


class Propagated:
    """The evidence of expectation propagation in a graph, by an Op that compiles."""

    def __init__(self, approximation: EP, K: Any, y: Any, loss: Loss, m: Any) -> None:
        K, y = (pt.as_tensor_variable(x).astype("float64") for x in (K, y))
        m = pt.zeros_like(y) if m is None else pt.zeros_like(y) + m
        fields = [pt.as_tensor_variable(x).astype("float64") for x in loss.fields.values()]
        arguments = K, y, m, _by_row(loss.parameters, y), _outline(loss, y), *fields
        op = Propagate(approximation, type(loss))
        self._outputs = op(*map(disconnected_grad, arguments), pt.zeros((0,)), return_list=True)
        self._loss, self._inputs = loss, (K, y, m, *fields)

    @property
    def a(self) -> Any:
        """Dual of the posterior's mean."""
        return self._outputs[2]

    @property
    def precision(self) -> Any:
        """Precisions of the posterior's sites."""
        return self._outputs[3]

    @property
    def value(self) -> Any:
        """The log evidence with its derivatives."""
        value, of_K = self._outputs[:2]
        sign = -1.0 if self._loss.task == "regression" else 0.0
        return Attach(sign)(value, of_K, self.a, *self._slopes(), *self._inputs)

    def _slopes(self) -> list[Any]:
        """Return the derivatives with respect to the fields: those of all ``log Z_i``."""
        kind = type(self._loss)
        _, y, _, *fields = self._inputs
        c, v, points, density = self._outputs[4:8]
        copies = [x.copy() for x in fields]  # one may be a function of another
        parameters = [pt.as_tensor_variable(x) for x in kind.complete(*copies)]
        if kind.blurring is not None:
            u = y - c if kind.task == "regression" else y * c
            total = kind.blurring(symbolic)(u, v, *parameters).log_z.sum()
        else:
            stated = losses.formulas(kind, symbolic)
            columns = [x[:, None] if x.type.ndim else x for x in parameters]
            points = pt.where(density > 0.0, points, 0.0)  # the others may be behind a wall
            at = (points, 0.0) if kind.task == "regression" else (1.0, points)
            normalizer = stated.log_normalizer(*parameters)  # type: ignore[misc]
            total = -(density * stated.value(*at, *columns)).sum() - (normalizer + 0.0 * y).sum()
        constants = [y, c, v, points, density]
        return pytensor.grad(total, copies, constants, disconnected_inputs="ignore")  # type: ignore[no-any-return]


def _by_row(parameters: Sequence[Any], y: Any) -> Any:
    """Return parameters, scalars and vectors, as a matrix of shape (k, n)."""
    if not parameters:
        return pt.zeros((0, y.shape[0]))
    rows = [pt.as_tensor_variable(x).astype("float64") for x in parameters]
    if any(row.type.ndim for row in rows):
        return pt.stack([row + 0.0 * y for row in rows])
    return pt.stack(rows)[:, None] + 0.0 * y  # joined as numbers, which compiles faster


def _outline(loss: Loss, y: Any) -> Any:
    """Return the outline of the loss for all rows; see `pymc_bsvm.evidence.compiled_tilted`."""
    pieces = ends(loss)
    rows = _by_row([end for piece in pieces for end in piece], y)
    return rows.reshape((len(pieces), ENDS, y.shape[0]))


_MISMATCH = (
    "The lengths of K, y, m and the parameters of Propagate do not agree. "
    "Pass K of shape (n, n), y and m of shape (n,), and the k parameters of the loss's formulas as "
    "a matrix of shape (k, n)."
)


@compiled_by(Propagate)
def _compile_propagate(op: Propagate) -> Any:
    dense, low_rank = (compiled_at(f, MARGINALS) for f in (dense_marginals, low_rank_marginals))
    averages = compiled_at(averages_of, AVERAGES, op.loss_type)
    propagate = compiled_at(propagation, PROPAGATION)
    slopes = compiled_at(covariance_slopes, SLOPES)
    tol, max_iter = op.approximation.tol, op.approximation.max_iter
    n_parameters = op.loss_type.n_parameters()

    @numba.njit(fastmath=False, nogil=True)
    def compiled(K, y, m, p, outline, *fields_and_start):  # type: ignore[no-untyped-def]
        n, pieces, start = y.size, outline.shape[0], fields_and_start[-1]
        K, y, m = np.ascontiguousarray(K), np.ascontiguousarray(y), np.ascontiguousarray(m)
        p, outline = np.ascontiguousarray(p), np.ascontiguousarray(outline)
        start = np.ascontiguousarray(start)
        square = K.shape[0] == n and K.shape[1] == n and m.size == n
        if not (square and p.shape == (n_parameters, n) and outline.shape[1:] == (ENDS, n)):
            raise ValueError(_MISMATCH)
        value, of_K, rows = np.full(1, np.nan), np.full((n, n), np.nan), np.full((4, n), np.nan)
        count = slots(outline)
        points, density = np.empty((n, count)), np.empty((n, count))
        after = np.empty(2 * n)
        finite = np.isfinite(K).all() and np.isfinite(y).all() and np.isfinite(m).all()
        if finite and np.isfinite(p).all():
            addresses = dense(), low_rank(), averages()
            given, outputs = (K, y, m, p, outline), (value, rows, points, density, after)
            for begin in (start, start[:0]):  # anew, where the start fails
                numbers = n, p.shape[0], pieces, begin.size, max_iter, tol
                if (begin.size > 0 or start.size == 0) and not np.isfinite(value[0]):
                    done = call(propagate(), (*addresses, *numbers, *given, begin, *outputs))
                    if done == 0:
                        raise RuntimeError(FAILED)
        a, precision, centre, width = rows[0], rows[1], rows[2], rows[3]
        if np.isfinite(value[0]):  # which is written last
            if call(slopes(), (n, K, precision, a, of_K)) == 0:
                raise RuntimeError(FAILED)
        else:
            points, density, after = points[:, :0].copy(), density[:, :0].copy(), after[:0].copy()
        return np.asarray(value[0]), of_K, a, precision, centre, width, points, density, after

    return compiled
