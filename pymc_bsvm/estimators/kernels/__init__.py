"""The covariance functions of the estimators, in NumPy.

Each is a small frozen object with its structure only. The values of its hyperparameters are found
by the evidence. ``k1 + k2`` is the sum of two.
"""

from pymc_bsvm.estimators.kernels.arcsine import Arcsine
from pymc_bsvm.estimators.kernels.base import Kernel, Sum
from pymc_bsvm.estimators.kernels.dirichlet import Dirichlet
from pymc_bsvm.estimators.kernels.frozen import Frozen
from pymc_bsvm.estimators.kernels.linear import Linear
from pymc_bsvm.estimators.kernels.matern import Matern32, Matern52
from pymc_bsvm.estimators.kernels.named import kernel_of
from pymc_bsvm.estimators.kernels.periodic import Periodic
from pymc_bsvm.estimators.kernels.polynomial import Polynomial
from pymc_bsvm.estimators.kernels.precomputed import Precomputed
from pymc_bsvm.estimators.kernels.rbf import RBF
from pymc_bsvm.estimators.kernels.spline import BSpline
from pymc_bsvm.search import Hyperparameter

__all__ = [
    "RBF",
    "Arcsine",
    "BSpline",
    "Dirichlet",
    "Frozen",
    "Hyperparameter",
    "Kernel",
    "Linear",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Precomputed",
    "Sum",
    "kernel_of",
]
