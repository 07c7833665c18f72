"""The earlier place of `pymc_bsvm.evidence.mixture`."""

from pymc_bsvm.evidence.mixture import RegressionMixture

__all__ = ["RegressionMixture"]
