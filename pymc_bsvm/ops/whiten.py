"""Latent values from coordinates of the posterior, with one matrix factorised in each of two ways.

The expression in PyTensor's own Ops, that of `pymc_bsvm.inference.rotation.Rotation`, has the same
values and derivatives; its gradient takes twice as long.
"""

from __future__ import annotations

import functools
from typing import Any

import numba
import numpy as np
import pytensor.tensor as pt
from numba import types
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph import Apply

from pymc_bsvm._pytensor.numba import compiled_by
from pymc_bsvm.covariance.address import Apart, apart
from pymc_bsvm.ops.base import BsvmOp, as_float
from pymc_bsvm.solvers.whiten import whiten, whiten_back

__all__ = ["Whiten", "WhitenBack"]

_NAMES = ("K", "mean", "root", "shift", "u", "labels", "edges")


class Whiten(BsvmOp):
    """``Whiten()(K, mean, root, shift, u, labels, edges, rows)``: latent values, and a log density.

    The sites have roots of precisions and shifts; rows, with labels -1 or 1, stay on the side of
    their edges where ``label * f > edge``. The other outputs are for the gradient.
    """

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Build the node."""
        floats = [as_float(*of) for of in zip(_NAMES, inputs[:-1], (2, *[1] * 6), strict=True)]
        rows = pt.as_tensor_variable(inputs[-1]).astype("int64")
        kept = [pt.dtensor3(), pt.dmatrix(), pt.dmatrix(), pt.dmatrix()]
        return Apply(self, [*floats, rows], [floats[1].type(), pt.dscalar(), *kept])

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs."""
        (n, _), k = input_shapes[0], input_shapes[-1][0]
        return [(n,), (), (2, n, n), (9, n), (k + 1, n), (k + 3, k)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the latent values and the density can be differentiated, but not for labels."""
        smooth = [True, True] + [False] * 4
        return [smooth] * 5 + [[False] * 6, smooth, [False] * 6]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Map."""
        for storage, value in zip(output_storage, _there().run(*_own(inputs)), strict=True):
            storage[0] = np.asarray(value)

    def pullback(self, inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        """Differentiate, with the factors that are known."""
        f_bar, value_bar = (
            pt.zeros_like(output) if isinstance(c.type, DisconnectedType) else c
            for output, c in zip(outputs[:2], cotangents[:2], strict=True)
        )
        *most, edges = WhitenBack()(*inputs, *outputs[2:], f_bar, value_bar)
        return [*most, disconnected_type(), edges, disconnected_type()]


class WhitenBack(BsvmOp):
    """Adjoints of K, mean, root, shift, u and edges, from those of the outputs of `Whiten`."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Build the node from the inputs of `Whiten`, its last outputs, and two adjoints."""
        tensors = [pt.as_tensor_variable(x) for x in inputs]
        outputs = [tensors[i].type() for i in (0, 1, 2, 3, 4, 6)]
        return Apply(self, tensors, outputs)

    def infer_shape(self, node: Apply, input_shapes: list[Any]) -> list[Any]:
        """Return the shapes of the outputs."""
        return [input_shapes[i] for i in (0, 1, 2, 3, 4, 6)]

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[Any]) -> None:
        """Go back."""
        numbers = [*_own(inputs[:-1]), float(inputs[-1])]
        for storage, value in zip(output_storage, _back().run(*numbers), strict=True):
            storage[0] = value


def _own(inputs: list[Any]) -> list[Any]:
    """Return arrays as compiled code takes them."""
    return [np.require(x, requirements=["C", "W"]) for x in inputs]


_ROW, _MATRIX = types.float64[::1], types.float64[:, ::1]
_INPUTS = _MATRIX, *[_ROW] * 6, types.int64[::1]
_KEPT = types.float64[:, :, ::1], *[_MATRIX] * 3


@functools.cache
def _there() -> Apart:
    """Return `whiten`, compiled by itself."""
    return apart(whiten, _INPUTS)


@functools.cache
def _back() -> Apart:
    """Return `whiten_back`, compiled by itself."""
    return apart(whiten_back, (*_INPUTS, *_KEPT, _ROW, types.float64))


@compiled_by(Whiten)
def _compile_whiten(op: Whiten) -> Any:
    whitened = _there().call

    @numba.njit(fastmath=False, nogil=True)
    def compiled(K, m, root, shift, u, labels, edges, rows):
        f, value, factors, vectors, solved, bent = whitened(
            np.ascontiguousarray(K),
            np.ascontiguousarray(m),
            np.ascontiguousarray(root),
            np.ascontiguousarray(shift),
            np.ascontiguousarray(u),
            np.ascontiguousarray(labels),
            np.ascontiguousarray(edges),
            np.ascontiguousarray(rows),
        )
        return f, np.asarray(value), factors, vectors, solved, bent

    return compiled


@compiled_by(WhitenBack)
def _compile_whiten_back(op: WhitenBack) -> Any:
    back = _back().call

    @numba.njit(fastmath=False, nogil=True)
    def compiled(K, m, root, b, u, labels, edges, rows, L, vectors, solved, bent, f_bar, bar):
        return back(
            np.ascontiguousarray(K),
            np.ascontiguousarray(m),
            np.ascontiguousarray(root),
            np.ascontiguousarray(b),
            np.ascontiguousarray(u),
            np.ascontiguousarray(labels),
            np.ascontiguousarray(edges),
            np.ascontiguousarray(rows),
            np.ascontiguousarray(L),
            np.ascontiguousarray(vectors),
            np.ascontiguousarray(solved),
            np.ascontiguousarray(bent),
            np.ascontiguousarray(f_bar),
            bar[()],
        )

    return compiled
