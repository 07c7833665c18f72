"""Wall time, CPU time and anonymous memory of a block, with those of its child processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Meter"]

_PAUSE = 0.05


class Meter:
    """Measure a block.

    Attributes
    ----------
    wall, cpu : float
        Seconds. CPU seconds are those of all threads, and of child processes that have ended.
    memory : float
        Largest sum of the anonymous memory of this process and its descendants, in GiB.
    """

    def __enter__(self) -> Self:
        self.memory = 0.0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        self._wall, self._cpu = time.perf_counter(), _cpu()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.wall, self.cpu = time.perf_counter() - self._wall, _cpu() - self._cpu
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        while True:
            total = sum(_anonymous(process) for process in _family(os.getpid()))
            self.memory = max(self.memory, total / 2**20)
            if self._over.wait(_PAUSE):
                return


def _cpu() -> float:
    """Return the CPU seconds of this process, of ended children and of living descendants."""
    times = os.times()
    tick = os.sysconf("SC_CLK_TCK")
    living = 0.0
    for process in list(_family(os.getpid()))[1:]:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        living += sum(int(field) for field in fields[11:15]) / tick
    return sum(times[:4]) + living


def _family(process: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = thread.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _anonymous(process: int) -> int:
    """Return the anonymous memory in KiB; nothing of a process that has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
