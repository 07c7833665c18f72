"""Types that all layers share."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Parameter"]

type Array = NDArray[np.float64]
type Parameter = float | Array
"""Of a loss: one number that all rows share, or a vector of one for each row."""
