"""Inference on the hyperparameters: by evidence, by NUTS, and what several routes agree on."""

from pymc_bsvm._moved import moved
from pymc_bsvm.inference.committee import Committee
from pymc_bsvm.inference.comparison import compare_evidence
from pymc_bsvm.inference.fit import fit_evidence
from pymc_bsvm.inference.integral import HyperparameterMarginal, Integral
from pymc_bsvm.inference.latent import latent_model
from pymc_bsvm.inference.peak import Peak
from pymc_bsvm.inference.posteriors import PosteriorComparison, compare_posteriors
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.search import Ending, Restart
from pymc_bsvm.search.hessian import Hessian

__all__ = [
    "Committee",
    "Ending",
    "EvidenceFit",
    "Hessian",
    "HyperparameterMarginal",
    "Integral",
    "Peak",
    "PosteriorComparison",
    "Restart",
    "compare_evidence",
    "compare_posteriors",
    "fit_evidence",
    "latent_model",
]

_DIAGNOSIS = "pymc_bsvm.diagnosis"
_MODULES = ("annealing", "difference", "path", "propagation", "reweighting", "white_prior")
_NAMES = (
    "AnnealedEvidence",
    "Reweighted",
    "Verdict",
    "annealed_evidence",
    "reweight",
    "verdict",
)

__getattr__ = moved(
    __name__,
    {name: f"{_DIAGNOSIS}.{name}" for name in _MODULES}
    | {"verdict": f"{_DIAGNOSIS}.judgement", "hessian": "pymc_bsvm.search.hessian"},
    dict.fromkeys(_NAMES, _DIAGNOSIS),
)
