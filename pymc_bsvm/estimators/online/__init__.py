"""Gaussian processes that learn from one row at a time, on few basis vectors."""

from pymc_bsvm.estimators.online.classifier import OnlineSVC
from pymc_bsvm.estimators.online.regressor import OnlineSVR

__all__ = ["OnlineSVC", "OnlineSVR"]
