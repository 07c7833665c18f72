"""How far an approximation is from the exact posterior, by annealed importance sampling."""

from pymc_bsvm.diagnosis.annealing import AnnealedEvidence, annealed_evidence
from pymc_bsvm.diagnosis.difference import Difference
from pymc_bsvm.diagnosis.judgement import Verdict, verdict
from pymc_bsvm.diagnosis.reweighting import Reweighted, reweight

__all__ = [
    "AnnealedEvidence",
    "Difference",
    "Reweighted",
    "Verdict",
    "annealed_evidence",
    "reweight",
    "verdict",
]
