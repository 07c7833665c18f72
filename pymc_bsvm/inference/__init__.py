"""Inference on the hyperparameters: by evidence, by NUTS, and how far apart the two are."""

from pymc_bsvm.inference.annealing import AnnealedEvidence, annealed_evidence
from pymc_bsvm.inference.committee import Committee
from pymc_bsvm.inference.comparison import compare_evidence
from pymc_bsvm.inference.fit import fit_evidence
from pymc_bsvm.inference.hessian import Hessian
from pymc_bsvm.inference.latent import latent_model
from pymc_bsvm.inference.posteriors import PosteriorComparison, compare_posteriors
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.inference.reweighting import Reweighted, reweight
from pymc_bsvm.inference.verdict import Verdict, verdict
from pymc_bsvm.search import Ending, Restart

__all__ = [
    "AnnealedEvidence",
    "Committee",
    "Ending",
    "EvidenceFit",
    "Hessian",
    "PosteriorComparison",
    "Restart",
    "Reweighted",
    "Verdict",
    "annealed_evidence",
    "compare_evidence",
    "compare_posteriors",
    "fit_evidence",
    "latent_model",
    "reweight",
    "verdict",
]
