"""Cells for the tests, in a module of their own that other processes can import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info


def square(data: Path | None, x: float) -> dict[str, Any]:
    return {"value": x * x, "data": None if data is None else data.name}


def threads(data: Path | None) -> dict[str, Any]:
    import scipy.linalg  # noqa: F401 - loads a BLAS

    return {"threads": [pool["num_threads"] for pool in threadpool_info()]}


def broken(data: Path | None) -> dict[str, Any]:
    raise ValueError("The set is bent.")
