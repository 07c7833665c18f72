"""Plots of what nobody else has: tubes, support vectors, evidence profiles, relevance."""

from pymc_bsvm.reporting.class_map import plot_class_map
from pymc_bsvm.reporting.marginals import plot_marginals
from pymc_bsvm.reporting.profile import plot_evidence_profile
from pymc_bsvm.reporting.regression_band import plot_regression_band
from pymc_bsvm.reporting.relevance import plot_relevance

__all__ = [
    "plot_class_map",
    "plot_evidence_profile",
    "plot_marginals",
    "plot_regression_band",
    "plot_relevance",
]
