"""Bayesian support vector machines as a first-class citizen of PyMC.

Likelihoods for PyMC models (`SILF`, `EpsilonInsensitive`, `Trigonometric`), the family of losses
they come from (`losses`), the sparse solver for their MAP estimates (`solve_dual`), for dense
covariances and for those of low rank (`LowRank`), the evidence (`laplace_evidence`, `ep_evidence`,
`gao_evidence`) and the Gaussian process models that are marginalised with it (`gp`), the estimators
for scikit-learn (`BayesianSVR`, `BayesianSVC`), and the simulated data of the papers (`datasets`).
Names are imported when they are first used, so that importing the package is cheap.
"""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymc_bsvm import (
        approximations,
        datasets,
        diagnosis,
        estimators,
        evidence,
        gp,
        inference,
        losses,
        reporting,
        solvers,
    )
    from pymc_bsvm.covariance import LowRank
    from pymc_bsvm.diagnosis import reweight, verdict
    from pymc_bsvm.distributions import SILF, EpsilonInsensitive, Trigonometric
    from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, BayesianSVRCommittee
    from pymc_bsvm.evidence import ep_evidence, gao_evidence, laplace_evidence
    from pymc_bsvm.gp import default_priors
    from pymc_bsvm.inference import (
        compare_evidence,
        compare_posteriors,
        fit_evidence,
        latent_model,
    )
    from pymc_bsvm.solvers import solve_dual

__version__ = version("pymc-bsvm")
__all__ = [
    "SILF",
    "BayesianSVC",
    "BayesianSVR",
    "BayesianSVRCommittee",
    "EpsilonInsensitive",
    "LowRank",
    "Trigonometric",
    "approximations",
    "compare_evidence",
    "compare_posteriors",
    "datasets",
    "default_priors",
    "diagnosis",
    "ep_evidence",
    "estimators",
    "evidence",
    "fit_evidence",
    "gao_evidence",
    "gp",
    "inference",
    "laplace_evidence",
    "latent_model",
    "losses",
    "reporting",
    "reweight",
    "solve_dual",
    "solvers",
    "verdict",
]

_MODULES = {
    "LowRank": "covariance",
    "SILF": "distributions",
    "EpsilonInsensitive": "distributions",
    "Trigonometric": "distributions",
    "BayesianSVC": "estimators",
    "BayesianSVR": "estimators",
    "BayesianSVRCommittee": "estimators",
    "approximations": "",
    "datasets": "",
    "diagnosis": "",
    "reweight": "diagnosis",
    "verdict": "diagnosis",
    "estimators": "",
    "evidence": "",
    "compare_evidence": "inference",
    "compare_posteriors": "inference",
    "inference": "",
    "reporting": "",
    "fit_evidence": "inference",
    "latent_model": "inference",
    "gp": "",
    "default_priors": "gp",
    "ep_evidence": "evidence",
    "gao_evidence": "evidence",
    "laplace_evidence": "evidence",
    "losses": "",
    "solve_dual": "solvers",
    "solvers": "",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    if not module:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
