"""Approximations of the evidence, the posterior each stands for, and predictions from it.

All in NumPy; `pymc_bsvm.graph` has the same as expressions of PyTensor.
"""

from pymc_bsvm._moved import moved
from pymc_bsvm.evidence.approximation import Approximation, Evidence
from pymc_bsvm.evidence.contaminated import ContaminatedNoise
from pymc_bsvm.evidence.ep import EP, EPError, EPEvidence, EPWarning, ep_evidence
from pymc_bsvm.evidence.gao import Gao, GaoEvidence, gao_evidence
from pymc_bsvm.evidence.laplace import Laplace, LaplaceEvidence, laplace_evidence
from pymc_bsvm.evidence.noise import LeaveOneOut, fit_noise
from pymc_bsvm.evidence.posterior import Cavity, LaplacePosterior, Posterior
from pymc_bsvm.evidence.prediction import (
    ClassPredictive,
    RegressionPredictive,
    log_predictive_density,
    predictive,
)
from pymc_bsvm.evidence.student import StudentNoise

__all__ = [
    "EP",
    "Approximation",
    "Cavity",
    "ClassPredictive",
    "ContaminatedNoise",
    "EPError",
    "EPEvidence",
    "EPWarning",
    "Evidence",
    "Gao",
    "GaoEvidence",
    "Laplace",
    "LaplaceEvidence",
    "LaplacePosterior",
    "LeaveOneOut",
    "Posterior",
    "RegressionPredictive",
    "StudentNoise",
    "ep_evidence",
    "fit_noise",
    "gao_evidence",
    "laplace_evidence",
    "log_predictive_density",
    "predictive",
]

# The module; the name itself is that of the function.
__getattr__ = moved(__name__, {"predictive": "pymc_bsvm.evidence.prediction"})
