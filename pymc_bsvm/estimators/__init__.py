"""Bayesian support vector machines with the habits of scikit-learn.

No PyMC model is compiled for a fit. Numba compiles the solver's kernels when they are first used,
and keeps them on disk; a regression on fewer than 300 rows by a loss without kinks needs none.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        "The estimators need scikit-learn, which is not installed. "
        "Install it with: pip install pymc-bsvm[sklearn]."
    ) from error

from pymc_bsvm.estimators import kernels
from pymc_bsvm.estimators.classifier import BayesianSVC
from pymc_bsvm.estimators.committee import BayesianSVRCommittee
from pymc_bsvm.estimators.online import OnlineSVC, OnlineSVR
from pymc_bsvm.estimators.regressor import BayesianSVR
from pymc_bsvm.estimators.relevance import RelevanceVectorClassifier, RelevanceVectorRegressor
from pymc_bsvm.estimators.svm import SVMClassifier, SVMOneClass, SVMRegressor
from pymc_bsvm.estimators.threads import blas_threads

__all__ = [
    "BayesianSVC",
    "BayesianSVR",
    "BayesianSVRCommittee",
    "OnlineSVC",
    "OnlineSVR",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "SVMClassifier",
    "SVMOneClass",
    "SVMRegressor",
    "blas_threads",
    "kernels",
]
