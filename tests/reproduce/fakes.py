"""Measures for tests of pages, without the measuring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reproduce.cell import Cell, Measured

MACHINE = "A machine"


def pretended(
    cells: Iterable[Cell], results: Callable[[Cell], Mapping[str, Any]]
) -> dict[Cell, Measured]:
    return {cell: Measured(results(cell), "2026-03-02", MACHINE, 0.5) for cell in cells}
