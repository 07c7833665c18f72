"""Ops with a graph inside that is interpreted where the graph around it is."""

from __future__ import annotations

from typing import Any

from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.basic import SequentialGraphRewriter
from pytensor.link.vm import VMLinker

__all__ = ["Interpretable"]


class Interpretable:
    """A random variable, or another Op with a graph inside, that can be interpreted.

    Where the graph around it is, PyTensor hands the inner graph to a compiler of C, if there is
    one, only to draw a model or to know a shape.
    """

    def link_mode(self, impl: str | None) -> Any:
        """Return the mode of the inner graph, whose nodes are run by ``impl``."""
        if impl == "py":
            return Mode(VMLinker(use_cloop=False, c_thunks=False), SequentialGraphRewriter())
        return super().link_mode(impl)  # type: ignore[misc]
