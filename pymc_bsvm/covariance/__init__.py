"""Covariances as the solver reads them."""

from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.covariance.dense import DENSE

__all__ = ["DENSE", "Covariance"]
