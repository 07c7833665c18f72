"""Arrays that Dask computes chunk by chunk; Dask is imported by those who have such an array."""

from __future__ import annotations

import math
from typing import Any

from pymc_bsvm.streamed.mapped import Mapped

__all__ = ["is_dask", "read_together", "row_chunks"]


def is_dask(array: Any) -> bool:
    """Return whether an array is still to be computed by Dask."""
    return hasattr(array, "__dask_graph__") and hasattr(array, "chunks")


def row_chunks(name: str, array: Any) -> tuple[int, ...]:
    """Return the numbers of rows in the chunks of a Dask array."""
    chunks: tuple[int, ...] = array.chunks[0]
    if any(math.isnan(size) for size in chunks):
        raise ValueError(
            f"The chunks of {name} are of unknown sizes. Call {name}.compute_chunk_sizes() first."
        )
    return chunks


def read_together(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arrays in memory: mapped ones from their files, Dask's computed in one go."""
    arrays = tuple(array.read() if isinstance(array, Mapped) else array for array in arrays)
    if any(map(is_dask, arrays)):
        from dask import compute

        return tuple(compute(*arrays))
    return arrays
