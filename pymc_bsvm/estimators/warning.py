"""Warnings at the line that called into the package."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import joblib
from sklearn.exceptions import ConvergenceWarning

__all__ = ["warn"]

_INSIDE = tuple(
    str(each) + os.sep for each in (Path(__file__).parents[1], Path(joblib.__file__).parent)
)


def warn(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn, with the innermost line outside of the package and of joblib as the place."""
    warnings.warn(message, category, skip_file_prefixes=_INSIDE)
