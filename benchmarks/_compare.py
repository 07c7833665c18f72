"""Paired comparisons with the better peer, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from benchmarks.estimators import Book

__all__ = ["Difference", "differences", "holm", "with_better_peer"]

LEVEL = 0.05

type Entries = Mapping[str, Mapping[str, Mapping[int, Mapping[str, float]]]]
"""Measures by set, method and partition."""


@dataclass(frozen=True)
class Difference:
    """Ours minus the peer's, on the partitions of a set that both have.

    Attributes
    ----------
    task, peer, key : str
        The set, the peer whose mean is better than that of the others, and the measure, of which
        less is better.
    values : ndarray
        Of each partition.
    """

    task: str
    peer: str
    key: str
    values: np.ndarray

    @property
    def mean(self) -> float:
        """The mean of the differences."""
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Its standard error; NaN of a single partition."""
        n = self.values.size
        return float(self.values.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan

    @property
    def p(self) -> float:
        """By a paired t test, before any correction; one if all differences are the same."""
        if np.ptp(self.values) <= 1e-12 * max(1.0, np.abs(self.values).max()):
            return 1.0
        return float(stats.ttest_1samp(self.values, 0.0).pvalue)

    def verdict(self, p: float) -> str:
        """Say what follows from a corrected p value."""
        return "as good" if p > LEVEL else "better" if self.mean < 0.0 else "**worse**"


def differences(
    entries: Entries, ours: str, peers: Sequence[str], key: str, least: int = 1
) -> Iterator[Difference]:
    """Yield the comparison with the better peer of each set, on so many partitions at least."""
    for task, methods in entries.items():
        mine = methods.get(ours, {})
        options = []
        for peer in peers:
            theirs = methods.get(peer, {})
            common = [s for s in sorted(mine) if s in theirs and key in theirs[s]]
            values = np.array([mine[s][key] - theirs[s][key] for s in common])
            if values.size >= least:
                options.append(Difference(task, peer, key, values))
        if options:
            yield max(options, key=lambda found: (found.values.size > 1, found.mean))


def holm(p: Sequence[float]) -> np.ndarray:
    """Return p values corrected by Holm's method."""
    corrected, largest = np.empty(len(p)), 0.0
    for k, place in enumerate(np.argsort(p)):
        largest = max(largest, min((len(p) - k) * p[place], 1.0))
        corrected[place] = largest
    return corrected


def with_better_peer(
    book: Book, ours: str, peers: Sequence[str], key: str, digits: int
) -> Iterator[list[str]]:
    """Yield, for each set, ours against the peer with the better mean; less is better."""
    found = list(differences(book.entries, ours, peers, key))
    for each, p in zip(found, holm([d.p for d in found]), strict=True):
        shown = f"{each.mean:+.{digits}f} ± {each.error:.{digits}f}"
        count = str(each.values.size)
        yield [each.task, each.peer, shown, count, f"{p:.2g}", each.verdict(p)]
