"""Inference on the hyperparameters: by evidence, by NUTS, and how far apart the two are."""

from pymc_bsvm.inference.committee import Committee
from pymc_bsvm.inference.comparison import compare_evidence
from pymc_bsvm.inference.fit import fit_evidence
from pymc_bsvm.inference.restart import Ending, Restart
from pymc_bsvm.inference.result import EvidenceFit, Hessian

__all__ = [
    "Committee",
    "Ending",
    "EvidenceFit",
    "Hessian",
    "Restart",
    "compare_evidence",
    "fit_evidence",
]
