"""Blocks of rows that stay near the processor, and out of which no second matrix is made."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["blocks"]

_NEAR = 2**19  # numbers


def blocks(n: int, length: int, least: int = 1) -> Iterator[slice]:
    """Cut n rows into blocks that stay near the processor with ``length`` numbers for each."""
    size = max(least, _NEAR // max(length, 1))
    return (slice(start, start + size) for start in range(0, n, size))
