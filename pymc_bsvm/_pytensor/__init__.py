"""What the package takes from the inside of PyTensor, so that a new version is met in one place.

`pytensor`, `pytensor.tensor`, `pytensor.graph`, `pytensor.gradient` and the few others that
``tests/test_layers.py`` names are public and imported as they are.
"""

# The database of rewrites by mode: the public `register_*` functions place a rewrite by kind, not
# before all others of one backend.
from pytensor.compile.mode import optdb

# Graphs that compare equal when they compute the same, and the order of their nodes.
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.traversal import toposort

# The classes of nodes: public names build such nodes and none recognises them.
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.random.op import RNGConsumerOp

# What a `size` may be, as PyTensor's own random variables read it.
from pytensor.tensor.random.utils import normalize_size_param

__all__ = [
    "CheckAndRaise",
    "Elemwise",
    "FrozenFunctionGraph",
    "RNGConsumerOp",
    "normalize_size_param",
    "optdb",
    "toposort",
]
