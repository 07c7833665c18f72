"""Products with a covariance as if computed in twice the working precision."""

from __future__ import annotations

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.interpreted import DENSE
from pymc_bsvm.covariance.low_rank import LowRank
from pymc_bsvm.covariance.woodbury import WOODBURY

__all__ = ["exact_product"]


def exact_product(K: Array | LowRank, x: Array) -> Array:
    """Return ``K x`` for x of shape (n,), rounded once."""
    high, low = np.zeros(x.size), np.zeros(x.size)
    add, parts = (
        (WOODBURY.add_product_exactly, K.parts)
        if isinstance(K, LowRank)
        else (DENSE.add_product_exactly, K)
    )
    add(parts, np.flatnonzero(x), x, high, low)
    return np.asarray(high + low)
