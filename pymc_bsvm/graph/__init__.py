"""Approximations of the evidence as expressions of PyTensor, with exact gradients."""

from pymc_bsvm.graph.evidence import log_evidence, sites

__all__ = ["log_evidence", "sites"]
