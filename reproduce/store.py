"""The measures that are there, in one file of JSON lines for each experiment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from reproduce.cell import Cell, Measured

__all__ = ["Found", "Store"]

type Found = dict[Cell, Measured]


class Store:
    """Keep measures in a folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there. A line that was cut off, as by a power failure, is measured again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._known = {
            (file.stem, key): measured
            for file in sorted(folder.glob("*.jsonl"))
            for key, measured in _lines(file)
        }

    def __contains__(self, cell: Cell) -> bool:
        return (cell.experiment, cell.key) in self._known

    def found(self, cells: Iterable[Cell]) -> Found:
        """Return the measures that are there, in the order of the cells."""
        return {cell: self._known[cell.experiment, cell.key] for cell in cells if cell in self}

    def keep(self, cell: Cell, measured: Measured) -> None:
        """Write a measure; it is on disk when this returns."""
        line, file = json.dumps([cell.key, asdict(measured)]), self._file(cell)
        cut = file.exists() and not file.read_bytes().endswith(b"\n")
        with file.open("a", encoding="utf-8") as out:
            out.write("\n" * cut + line + "\n")
        self._known[cell.experiment, cell.key] = measured

    def _file(self, cell: Cell) -> Path:
        """Return where the measures of a cell's experiment are."""
        return self.folder / f"{cell.experiment}.jsonl"


def _lines(file: Path) -> Iterator[tuple[str, Measured]]:
    """Yield what a file has, without lines that are not whole."""
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            key, fields = json.loads(line)
        except json.JSONDecodeError:
            continue
        yield key, Measured(**fields)
