"""The experiments, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from reproduce import (
    arm,
    gao,
    housing,
    landscape,
    laser,
    outlier,
    public,
    raetsch,
    sinc,
    sizes,
    two_classes,
)
from reproduce.cell import Cell
from reproduce.page import Section
from reproduce.plan import Plan
from reproduce.store import Found

__all__ = ["EXPERIMENTS", "Experiment"]


class Experiment(Protocol):
    """What a module of an experiment has."""

    def cells(self, plan: Plan) -> Iterable[Cell]:
        """Yield what to measure, the most important first."""

    def section(self, found: Found, plan: Plan) -> Section:
        """Return what there is to say, of whatever cells are there."""


EXPERIMENTS: dict[str, Experiment] = {
    "sinc": sinc,
    "sizes": sizes,
    "arm": arm,
    "laser": laser,
    "housing": housing,
    "outlier": outlier,
    "two_classes": two_classes,
    "raetsch": raetsch,
    "landscape": landscape,
    "gao": gao,
    "public": public,
}
