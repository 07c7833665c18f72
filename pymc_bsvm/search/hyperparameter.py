"""A positive number that the evidence chooses."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Hyperparameter"]


class Hyperparameter(NamedTuple):
    """A positive number that the evidence chooses."""

    stem: str
    """What it is: "eta", "ls", "C", ..."""
    start: float
    low: float
    high: float
    unit: tuple[int, int] = (0, 0)
    """Powers of the unit of the inputs and of the targets."""
    column: int | None = None
    """The column of the inputs that it belongs to, if it is one of a vector."""
    term: int = 1
    """The place, among the terms of a sum with this stem, of its own."""
    least: float | None = None
    """How far a search may lower its bound where the evidence still rises there."""
    most: float | None = None
    """How far it may raise the upper one."""

    @property
    def variable(self) -> str:
        """The name of the number, or of the vector over the columns that it is an element of."""
        return self.stem if self.term == 1 else f"{self.stem}_{self.term}"

    @property
    def name(self) -> str:
        """A name of its own, such as "ls", "ls[3]" or "ls[3]_2"."""
        column = "" if self.column is None else f"[{self.column}]"
        return self.stem + column + self.variable.removeprefix(self.stem)
