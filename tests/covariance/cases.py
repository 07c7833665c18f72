"""Random covariances of low rank plus a diagonal, and what they are as matrices."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from pymc_bsvm import LowRank

# n, m: few columns, one, as many as rows, more than rows, more than a block of rows
SHAPES = ((30, 4), (7, 1), (12, 12), (9, 20), (1, 3), (2500, 3))
DIAGONALS = ("zero", "number", "vector")


def low_rank(n: int, m: int, diagonal: str, seed: int = 0) -> LowRank:
    """Draw a covariance; some rows are repeated."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, m))
    A[n // 2 :: 3] = A[0]
    d = {"zero": 0.0, "number": 0.3, "vector": rng.uniform(0.0, 2.0, n) * (np.arange(n) % 4 > 0)}
    return LowRank(A, d[diagonal])


def curvature(n: int, seed: int = 0) -> np.ndarray:
    """Draw a curvature that is zero on some rows."""
    rng = np.random.default_rng(seed)
    return np.where(rng.uniform(size=n) < 0.7, rng.uniform(0.1, 4.0, n), 0.0)


@st.composite
def covariances(draw: Any) -> LowRank:
    """Draw any small covariance, zero ones among them."""
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 15))
    size = draw(st.sampled_from([0.0, 1e-8, 1.0, 1e3]))
    K = low_rank(n, m, draw(st.sampled_from(DIAGONALS)), draw(st.integers(0, 99)))
    return LowRank(size * K.A, size * K.d)
