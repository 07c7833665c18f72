"""Whether kernel matrices fit in memory, before they are made."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["MATRICES", "available", "check_room"]

MATRICES = 6.0  # at a time: 5.6 were measured in a regression of 2500 rows
_GROUP = Path("/sys/fs/cgroup")
_GIGA = 2.0**30


def available() -> float | None:
    """Return the free memory in bytes as far as the system tells, or None."""
    known = [size for size in (_of_machine(), _of_group()) if size is not None]
    return min(known) if known else None


def check_room(n: int, matrices: float, remedy: str) -> None:
    """Raise ``MemoryError`` if matrices of n rows and columns take more memory than there is.

    Parameters
    ----------
    n : int
        Number of rows.
    matrices : float
        How many matrices there are at a time.
    remedy : str
        What to do.
    """
    need, there = 8.0 * matrices * float(n) ** 2, available()
    if there is not None and need > there:
        raise MemoryError(
            f"Kernel matrices of {n} rows take about {need / _GIGA:.3g} GiB, but "
            f"{there / _GIGA:.3g} GiB are free. {remedy}"
        )


def _of_machine() -> float | None:
    """Return what the kernel can give away, or all memory where it does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            name, _, size = line.partition(":")
            if name == "MemAvailable":
                return 1024.0 * float(size.split()[0])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def _of_group() -> float | None:
    """Return what is left of the limit of a container, if there is one."""
    try:
        most, used = ((_GROUP / f"memory.{name}").read_text("ascii") for name in ("max", "current"))
        return float(most) - float(used)
    except (OSError, ValueError):  # "max" is no limit
        return None
