"""Gaussian process models whose latent values are integrated out by Laplace's method."""

from pymc_bsvm.gp.bsvr import BSVR
from pymc_bsvm.gp.btsvc import BTSVC
from pymc_bsvm.gp.laplace import Laplace
from pymc_bsvm.gp.support_vectors import SupportVectors

__all__ = ["BSVR", "BTSVC", "Laplace", "SupportVectors"]
