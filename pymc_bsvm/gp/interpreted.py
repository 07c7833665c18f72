"""How graphs of models are interpreted: at once, and without loops in Python over matrices."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pytensor.compile import get_mode
from pytensor.graph import Variable, graph_rewriter
from pytensor.scalar import Clip

from pymc_bsvm._pytensor import Elemwise, optdb

__all__ = ["INTERPRETED"]

_NAME = "pymc_bsvm_clip_whole_arrays"


@graph_rewriter
def _clip_whole_arrays(fgraph: Any) -> None:
    """Clip between constants by NumPy's extremes.

    PyTensor calls Python for each element, and PyMC clips squared distances at zero: at a thousand
    rows that was four fifths of an evaluation.
    """
    for node in list(fgraph.apply_nodes):
        if not (isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, Clip)):
            continue
        x, low, high = node.inputs
        ends = [
            pt.get_underlying_scalar_constant_value(end, raise_not_constant=False)
            for end in (low, high)
        ]
        if any(isinstance(end, Variable) for end in ends) or not ends[0] <= ends[1]:
            continue
        clipped = pt.minimum(pt.maximum(x, low), high)
        if clipped.type == node.outputs[0].type:
            fgraph.replace(node.outputs[0], clipped, reason=_NAME, import_missing=True)


optdb.register(_NAME, _clip_whole_arrays, position=1.9)
INTERPRETED = get_mode("FAST_COMPILE").including(_NAME)
"""The mode in which predictions are made, and models searched until compiling pays."""
