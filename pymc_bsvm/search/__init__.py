"""The search for hyperparameters: what can be maximised, an ascent, and several starts."""

from pymc_bsvm.search.ascent import Ending, Restart, ascend
from pymc_bsvm.search.hyperparameter import Hyperparameter
from pymc_bsvm.search.objective import Objective, PortableObjective
from pymc_bsvm.search.starts import Ascents, Report, Start, multistart

__all__ = [
    "Ascents",
    "Ending",
    "Hyperparameter",
    "Objective",
    "PortableObjective",
    "Report",
    "Restart",
    "Start",
    "ascend",
    "multistart",
]
