"""Any approximation as an Op: the evidence with numbers, and its gradient handed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_grad, disconnected_type
from pytensor.graph import Apply

from pymc_bsvm._pytensor.numba import (
    compiled_by,
    get_numba_type,
    register_funcify_and_cache_key,
)
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.losses import Loss
from pymc_bsvm.ops.base import BsvmOp, WarmStarted, as_float

__all__ = ["Attach", "Integrate", "Integrated", "integrated"]


class Integrate(WarmStarted, BsvmOp):
    """``Integrate(approximation, loss_type)(K, y, m, *fields, start)`` with numbers.

    It returns the log evidence; the rows on which it depends and its derivatives with respect to
    the covariance of these rows, the prior mean of these rows and the fields of the loss; the dual
    and the precisions of the posterior; and the start for a neighbouring problem. Where the
    approximation fails, they are NaN, which a sampler takes for a divergence.

    None of the outputs can be differentiated; `Attach` gives the value its derivatives.
    """

    __props__ = ("approximation", "loss_type")
    start_output = -1
    jax_module = "pymc_bsvm.graph.in_jax"

    def __init__(self, approximation: Approximation, loss_type: type[Loss]) -> None:
        self.approximation = approximation
        self.loss_type = loss_type

    def make_node(self, K: Any, y: Any, m: Any, *fields_and_start: Any) -> Apply:
        """Build the node."""
        *fields, start = fields_and_start
        fields = [pt.as_tensor_variable(x).astype("float64") for x in fields]
        square = [as_float("K", K, 2), as_float("y", y, 1), as_float("m", m, 1)]
        inputs = [*square, *fields, as_float("start", start, 1)]
        of_fields = [pt.tensor(dtype="float64", shape=(None,) * x.type.ndim) for x in fields]
        rows, vectors = pt.lvector(), [pt.dvector() for _ in range(3)]
        outputs = [pt.dscalar(), rows, pt.dmatrix(), pt.dvector(), *of_fields, *vectors]
        return Apply(self, inputs, outputs)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that nothing is differentiated here."""
        return [[False] * len(node.outputs) for _ in node.inputs]

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Return no derivatives."""
        return [disconnected_type() for _ in inputs]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Approximate."""
        for storage, result in zip(output_storage, self.results(*inputs), strict=True):
            storage[0] = result

    def results(self, K: Any, y: Any, m: Any, *fields_and_start: Any) -> tuple[Any, ...]:
        """Return the outputs for numbers."""
        *fields, start = (np.asarray(x, dtype=float) for x in fields_and_start)
        n = y.shape[0]
        try:
            loss = self.loss_type(**dict(zip(self.loss_type.domains, fields, strict=True)))
            found = self.approximation.evidence(
                K, y, loss, m=m, start=start if start.size else None, check_input=False
            )
            rows, G, g, of_fields = found.gradient
            value, a, precision = found.log_evidence, found.posterior.a, found.posterior.precision
            start = found.start
        except (ValueError, ArithmeticError, RuntimeError):
            rows, value, start = np.zeros(0, dtype="int64"), np.nan, np.zeros(0)
            G, g, a, precision = np.zeros((0, 0)), np.zeros(0), np.full(n, np.nan), np.zeros(n)
            of_fields = tuple(np.full(x.shape, np.nan) for x in fields)
        slopes = (np.asarray(x, dtype=float) for x in of_fields)
        rows = np.asarray(rows, dtype="int64")
        return np.asarray(value), rows, G, g, *slopes, a, precision, np.asarray(start, dtype=float)


class Attach(BsvmOp):
    """``Attach(sign)(value, G, g, *slopes, K, y, m, *fields)``: the value, with derivatives.

    The derivatives with respect to K, m and the fields are G, g and the slopes; that with respect
    to y is ``sign g``: -1 where the loss is one of ``y - f``, zero where y are labels.
    """

    __props__ = ("sign",)

    def __init__(self, sign: float) -> None:
        self.sign = sign

    def make_node(self, value: Any, *inputs: Any) -> Apply:
        """Build the node."""
        tensors = [pt.as_tensor_variable(x).astype("float64") for x in (value, *inputs)]
        return Apply(self, tensors, [pt.dscalar()])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shape of the output."""
        return [()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the gradient is only a means."""
        half = len(node.inputs) // 2
        of_y = half + 1
        return [[k >= half and (k != of_y or self.sign != 0.0)] for k in range(len(node.inputs))]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Pass the value on."""
        output_storage[0][0] = np.asarray(inputs[0])

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Multiply the gradient that came with the value."""
        (c,) = cotangents
        if isinstance(c.type, DisconnectedType):
            return [disconnected_type() for _ in inputs]
        half = len(inputs) // 2
        _, G, g, *slopes = inputs[:half]
        of_y = c * self.sign * g if self.sign else disconnected_type()
        passed = [disconnected_type() for _ in range(half)]
        return [*passed, c * G, of_y, c * g, *(c * slope for slope in slopes)]


@dataclass(frozen=True)
class Integrated:
    """The outputs of `Integrate` by name, and what they depend on."""

    inputs: tuple[Any, ...]
    """K, y, m and the fields of the loss."""
    outputs: list[Any]
    sign: float

    @property
    def a(self) -> Any:
        """Dual of the posterior's mean."""
        return self.outputs[-3]

    @property
    def precision(self) -> Any:
        """Precisions of the posterior's sites."""
        return self.outputs[-2]

    def value(self, minor: Callable[[Any], Any] | None) -> Any:
        """Return the log evidence with its derivatives; see `log_evidence` for ``minor``."""
        K, y, m, *fields = self.inputs
        value, rows, G, g, *slopes = self.outputs[:-3]
        minor = minor or (lambda rows: K[rows[:, None], rows])
        arguments = [minor(rows), y[rows], m[rows], *fields]
        return Attach(self.sign)(value, G, g, *slopes, *arguments)


def integrated(approximation: Approximation, K: Any, y: Any, loss: Loss, m: Any) -> Integrated:
    """Return what `Integrate` finds, as constants of the graph."""
    K, y = (pt.as_tensor_variable(x).astype("float64") for x in (K, y))
    m = pt.zeros_like(y) if m is None else pt.zeros_like(y) + m
    fields = [pt.as_tensor_variable(x).astype("float64") for x in loss.fields.values()]
    op = Integrate(approximation, type(loss))
    constants = map(disconnected_grad, (K, y, m, *fields))
    outputs = op(*constants, pt.zeros((0,)), return_list=True)
    return Integrated((K, y, m, *fields), outputs, -1.0 if loss.task == "regression" else 0.0)


@register_funcify_and_cache_key(Integrate)
def _call_integrate(op: Integrate, node: Apply, **_: Any) -> tuple[Any, None]:
    """Call Python from compiled code; that cannot be kept on disk."""
    returned = numba.types.Tuple([get_numba_type(output.type) for output in node.outputs])

    def approximate(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        results = op.results(*inputs)
        return tuple(np.ascontiguousarray(x) if x.ndim else x for x in results)

    @numba.njit
    def integrate(*inputs):  # type: ignore[no-untyped-def]
        with numba.objmode(results=returned):
            results = approximate(inputs)
        return results

    return integrate, None


@compiled_by(Attach)
def _compile_attach(op: Attach) -> Any:
    @numba.njit
    def attach(value, *others):  # type: ignore[no-untyped-def]
        return np.asarray(value)

    return attach
