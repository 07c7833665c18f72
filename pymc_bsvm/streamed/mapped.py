"""Arrays in files, which a worker reads itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mapped", "mapped"]


class Mapped(NamedTuple):
    """A part of a memory-mapped array, by its place in the file."""

    file: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def read(self) -> NDArray[Any]:
        """Return the part; the operating system reads what is looked at."""
        whole = np.memmap(self.file, np.uint8, "r")
        return np.ndarray(self.shape, self.dtype, whole, self.offset, self.strides)


def mapped(array: Any) -> Any:
    """Return where an array is in a file, or the array if it is in none."""
    root, base = None, array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            root = base
        base = base.base
    if root is None or root.filename is None:
        return array
    offset = root.offset + _address(array) - _address(root)
    return Mapped(str(root.filename), offset, array.dtype, array.shape, array.strides)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
