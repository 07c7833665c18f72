"""A cell: the smallest piece of an experiment that is measured, and kept, by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cell", "Measured"]

type Measure = Callable[..., Mapping[str, Any]]


@dataclass(frozen=True)
class Cell:
    """A function of a module, with its arguments.

    Attributes
    ----------
    measure : callable
        Called as `measure(data, **arguments)`, where `data` is the folder of the public sets or
        None, in a process with one BLAS thread. Returns numbers, strings and lists of them.
    arguments : dict
        What JSON can write. They name the cell, with the function.
    cost : float
        About how many CPU seconds it takes; the time left is reckoned from it.
    """

    measure: Measure
    arguments: Mapping[str, Any]
    cost: float = field(default=1.0, compare=False)

    @property
    def experiment(self) -> str:
        """Name the module of the function."""
        return self.measure.__module__.rpartition(".")[2]

    @property
    def key(self) -> str:
        """Name the cell."""
        return f"{self.measure.__name__} {json.dumps(dict(self.arguments), sort_keys=True)}"

    def __hash__(self) -> int:
        return hash((self.experiment, self.key))

    def __call__(self, data: Path | None) -> Mapping[str, Any]:
        """Take the measures."""
        return self.measure(data, **self.arguments)


@dataclass(frozen=True)
class Measured:
    """What a cell gave.

    Attributes
    ----------
    result : dict
        What its function returned.
    date : str
        The day, such as "2026-11-20".
    machine : str
        The processor.
    load : float
        Of the machine, when the cell ended.
    """

    result: Mapping[str, Any]
    date: str
    machine: str
    load: float
