"""Gaussian process models whose latent values are integrated out by an approximation."""

from pymc_bsvm.gp import cov
from pymc_bsvm.gp.bsvr import BSVR
from pymc_bsvm.gp.btsvc import BTSVC
from pymc_bsvm.gp.choice import default_priors
from pymc_bsvm.gp.conditioned import Conditioned
from pymc_bsvm.gp.labelled import LabelledPredictive
from pymc_bsvm.gp.laplace import Laplace
from pymc_bsvm.gp.priors import Prior, Priors
from pymc_bsvm.gp.sparse_bsvr import SparseBSVR
from pymc_bsvm.gp.sparse_btsvc import SparseBTSVC
from pymc_bsvm.gp.sparse_laplace import SparseLaplace
from pymc_bsvm.gp.support_vectors import SupportVectors

__all__ = [
    "BSVR",
    "BTSVC",
    "Conditioned",
    "LabelledPredictive",
    "Laplace",
    "Prior",
    "Priors",
    "SparseBSVR",
    "SparseBTSVC",
    "SparseLaplace",
    "SupportVectors",
    "cov",
    "default_priors",
]
