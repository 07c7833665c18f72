"""The Laplace evidence, the posterior it stands for, and predictions from it.

All in NumPy, except `pymc_bsvm.evidence.expression`, which is imported only with a graph at hand.
"""

from pymc_bsvm.evidence.laplace import LaplaceEvidence, laplace_evidence
from pymc_bsvm.evidence.posterior import Cavity, LaplacePosterior
from pymc_bsvm.evidence.predictive import (
    ClassPredictive,
    RegressionPredictive,
    log_predictive_density,
    predictive,
)

__all__ = [
    "Cavity",
    "ClassPredictive",
    "LaplaceEvidence",
    "LaplacePosterior",
    "RegressionPredictive",
    "laplace_evidence",
    "log_predictive_density",
    "predictive",
]
