"""What the solver needs of a covariance: a dense matrix, or one of low rank plus a diagonal."""

from pymc_bsvm import _numba as _numba  # before anything is compiled
from pymc_bsvm.covariance.factor import Factor, LowRankFactor
from pymc_bsvm.covariance.low_rank import LowRank

__all__ = ["Factor", "LowRank", "LowRankFactor"]
