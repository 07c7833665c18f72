"""Approximations of the evidence: what ``approximation=`` takes, and what a new one is made of."""

from pymc_bsvm.evidence.approximation import (
    CURVATURE,
    NORMALIZER,
    Approximation,
    Evidence,
    EvidenceCertificate,
    Need,
    Problem,
    approximation_of,
)
from pymc_bsvm.evidence.ep import EP, EPEvidence
from pymc_bsvm.evidence.gao import Gao, GaoEvidence
from pymc_bsvm.evidence.gradient import EvidenceGradient
from pymc_bsvm.evidence.laplace import Laplace, LaplaceEvidence
from pymc_bsvm.evidence.posterior import Cavity, Posterior

__all__ = [
    "CURVATURE",
    "EP",
    "NORMALIZER",
    "Approximation",
    "Cavity",
    "EPEvidence",
    "Evidence",
    "EvidenceCertificate",
    "EvidenceGradient",
    "Gao",
    "GaoEvidence",
    "Laplace",
    "LaplaceEvidence",
    "Need",
    "Posterior",
    "Problem",
    "approximation_of",
]
