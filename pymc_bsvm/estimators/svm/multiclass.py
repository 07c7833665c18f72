"""How machines that tell two classes apart tell several."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array

__all__ = ["SCHEMES", "DecisionDAG", "OneAgainstRest", "Scheme"]


class Scheme(Protocol):
    """The machines of several classes, and what their functions say together."""

    def labels(self, which: NDArray[np.intp]) -> Iterator[Array]:
        """Yield the labels -1 and +1 of the rows for each machine; zero leaves a row out."""

    def scores(self, decisions: Array) -> Array:
        """Return a number for each row and class, the largest for the class that is predicted."""


@dataclass(frozen=True)
class OneAgainstRest:
    """A machine for each class, or one for two classes."""

    count: int

    def labels(self, which: NDArray[np.intp]) -> Iterator[Array]:
        """Yield the labels for each machine."""
        for k in range(self.count) if self.count > 2 else [1]:
            yield np.where(which == k, 1.0, -1.0)

    def scores(self, decisions: Array) -> Array:
        """Return the functions themselves."""
        return decisions


@dataclass(frozen=True)
class DecisionDAG:
    """A machine for each pair of classes, in a directed acyclic graph, section 7.1.3 of [PRML]_.

    A row is asked for the first against the last of the classes that are left; the loser goes.
    """

    count: int

    def labels(self, which: NDArray[np.intp]) -> Iterator[Array]:
        """Yield the labels for each machine, whose second class is the positive one."""
        for i, j in itertools.combinations(range(self.count), 2):
            yield (which == j).astype(float) - (which == i)

    def scores(self, decisions: Array) -> Array:
        """Return the least margin of the winner, and minus that with which others have lost."""
        pairs = list(itertools.combinations(range(self.count), 2))
        place = np.zeros((self.count, self.count), dtype=int)
        place[tuple(np.transpose(pairs))] = np.arange(len(pairs))
        every = np.arange(decisions.shape[0])
        first, last = np.zeros(every.size, dtype=int), np.full(every.size, self.count - 1)
        scores = np.full((every.size, self.count), np.inf)
        for _ in range(self.count - 1):
            decision = decisions[every, place[first, last]]
            later = decision > 0.0
            winner, loser = np.where(later, (last, first), (first, last))
            margin = np.abs(decision)
            scores[every, winner] = np.minimum(scores[every, winner], margin)
            scores[every, loser] = -margin
            first, last = np.where(later, first + 1, first), np.where(later, last, last - 1)
        return scores


SCHEMES: Mapping[str, type[OneAgainstRest] | type[DecisionDAG]] = MappingProxyType(
    {"ovr": OneAgainstRest, "dag": DecisionDAG}
)
