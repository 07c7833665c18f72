"""Paired comparisons with the better peer, corrected for their number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from benchmarks.estimators import Book

__all__ = ["holm", "with_better_peer"]

LEVEL = 0.05


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
    found = []
    for task, methods in book.entries.items():
        mine = methods[ours]
        known = [peer for peer in peers if peer in methods]
        peer = min(known, key=lambda name: np.mean([r[key] for r in methods[name].values()]))
        common = sorted(mine.keys() & methods[peer].keys())
        d = np.array([mine[s][key] - methods[peer][s][key] for s in common])
        p = float(stats.ttest_1samp(d, 0.0).pvalue) if np.ptp(d) > 0.0 else 1.0
        found.append((task, peer, d, p))
    corrected = holm([p for *_, p in found])
    for (task, peer, d, _), p in zip(found, corrected, strict=True):
        said = "as good" if p > LEVEL else "better" if d.mean() < 0.0 else "**worse**"
        error = d.std(ddof=1) / np.sqrt(d.size)
        shown = f"{d.mean():+.{digits}f} ± {error:.{digits}f}"
        yield [task, peer, shown, str(d.size), f"{p:.2g}", said]
