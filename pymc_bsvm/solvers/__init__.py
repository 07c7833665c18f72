"""The sparse dual solver: MAP latent values of a Gaussian process with any loss, certified."""

from pymc_bsvm.covariance import Factor
from pymc_bsvm.solvers.dual import solve_dual
from pymc_bsvm.solvers.solution import (
    DualSolution,
    DualSolveError,
    DualSolveWarning,
    Progress,
    Status,
)

__all__ = [
    "DualSolution",
    "DualSolveError",
    "DualSolveWarning",
    "Factor",
    "Progress",
    "Status",
    "solve_dual",
]
