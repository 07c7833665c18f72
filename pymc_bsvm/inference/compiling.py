"""The graph of an evidence as a function, which is compiled once that pays."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import pytensor
from pytensor.compile import get_mode

from pymc_bsvm._pymc import compile as compile_for_pymc
from pymc_bsvm.gp.interpreted import INTERPRETED

__all__ = ["Announce", "GraphFunction"]

type Announce = Callable[[str], AbstractContextManager[object]]
"""Takes what is about to be done, and returns a context for the time that it takes."""

_LOGGER = logging.getLogger("pymc_bsvm")
_INTERPRETED = INTERPRETED.including("stabilize")
# Seconds of a model with one kernel matrix (ad hoc, of CPU); only their ratios count.
_COMPILING, _COMPILING_NODE = 50.0, 0.11  # a graph with empty caches, and each node of it
_NODE, _ELEMENT = 1e-5, 1.2e-8  # what a call loses by each node, and by each element of a matrix


class GraphFunction:
    """The outputs of a graph as a function of its inputs.

    The graph is interpreted at first. Before each call, what the calls to come would lose by that
    is weighed against what the compiler takes. Both are estimated from counts and not measured, so
    that runs repeat to the last digit. As many calls are taken to come as there have been, or as
    `expect` says if that is more: so the losses never exceed twice those of a choice with
    hindsight.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The graph.
    compile_kwargs : mapping or None
        How it is compiled at once. None leaves it to PyTensor's configuration if that was changed,
        else to the rule above.
    elements : int
        Number of elements of the matrices that a call makes.
    """

    def __init__(
        self,
        inputs: list[Any],
        outputs: list[Any],
        compile_kwargs: Mapping[str, Any] | None,
        elements: int,
    ) -> None:
        given, self._reason = _given(compile_kwargs)
        self.compile_kwargs = given
        """What the caller or the configuration asks for; None if the choice is free."""
        self.calls = 0
        self._until, self._elements, self._free = 0, elements, given is None
        self._announce: Announce = nullcontext
        # parameters outside their domain give -inf and no error
        self._made = partial(compile_for_pymc, inputs, outputs, on_unused_input="ignore")
        self._function = self._made(**({"mode": _INTERPRETED} if given is None else given))
        self._nodes = len(self._function.maker.fgraph.apply_nodes)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs for numbers."""
        if self._free and self.pays:
            self._reason = f"{self.left} evaluations left at {1e3 * self.loss:.0f} ms each"
            _LOGGER.info(
                "Compiling the evidence: some %d evaluations are left and lose %.0f ms each, in "
                "all more than the compiler takes.",
                self.left,
                1e3 * self.loss,
            )
        self.calls += 1
        if not self._reason:
            return self._function(*arguments)  # type: ignore[no-any-return]
        with self._announce(f"Compiling, {self._reason}"):
            if self._free:
                self._function, self._free = self._made(), False
            found: list[Any] = self._function(*arguments)  # compiles at its first call
        self._reason = ""
        return found

    def expect(self, calls: int) -> None:
        """Say how many calls will follow."""
        self._until = self.calls + calls

    @property
    def left(self) -> int:
        """The number of calls that are taken to follow."""
        return max(self._until - self.calls, self.calls)

    @property
    def loss(self) -> float:
        """Seconds by which an interpreted call is slower than a compiled one, estimated."""
        return _NODE * self._nodes + _ELEMENT * self._elements

    @property
    def pays(self) -> bool:
        """Whether the calls to come lose more than the compiler takes."""
        return self.left * self.loss > _COMPILING + _COMPILING_NODE * self._nodes

    @contextmanager
    def announced(self, announce: Announce) -> Iterator[None]:
        """Have it announced, inside of this context, when the graph is compiled."""
        self._announce = announce
        try:
            yield
        finally:
            self._announce = nullcontext


def _given(compile_kwargs: Mapping[str, Any] | None) -> tuple[Mapping[str, Any] | None, str]:
    """Return what the caller or PyTensor's configuration asks for, and who does.

    The second is empty for a mode that interprets.
    """
    config = pytensor.config
    who = "as compile_kwargs say"
    if compile_kwargs is None:
        if config.mode == "Mode" and config.linker == "auto":
            return None, ""
        compile_kwargs, who = {"mode": config.mode}, "as pytensor.config says"
    linker = get_mode(compile_kwargs.get("mode")).linker
    return compile_kwargs, who if hasattr(linker, "jit_compile") else ""
