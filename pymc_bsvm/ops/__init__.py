"""PyTensor Ops: the sparse dual solver and the determinant of the evidence, with derivatives."""

from pymc_bsvm.ops.dual_solve import DualSolve
from pymc_bsvm.ops.free_solve import FreeSolve
from pymc_bsvm.ops.implicit_dual import ImplicitDual
from pymc_bsvm.ops.inducing_mode import InducingMode
from pymc_bsvm.ops.log_det import LogDet
from pymc_bsvm.ops.support_rows import SupportRows

__all__ = ["DualSolve", "FreeSolve", "ImplicitDual", "InducingMode", "LogDet", "SupportRows"]
