"""What a run has to do: all of it or a quick part, with which data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """How much to measure, and where the public sets are.

    Attributes
    ----------
    quick : bool
        Whether few sizes and partitions do.
    data : Path or None
        The folder of the public sets, as `pymc_bsvm.datasets.load_folder` reads them.
    """

    quick: bool
    data: Path | None = None

    def choose[T](self, full: T, quick: T) -> T:
        """Return what belongs to this run."""
        return quick if self.quick else full

    def has(self, name: str) -> bool:
        """Tell whether a public set is there."""
        return self.data is not None and (self.data / name).is_dir()

    def missing(self, *names: str) -> str:
        """Say in a sentence which public sets are not there; nothing if all are."""
        absent = [name for name in names if not self.has(name)]
        if not absent:
            return ""
        return f"Left out, because the data folder does not have them: {', '.join(absent)}."
