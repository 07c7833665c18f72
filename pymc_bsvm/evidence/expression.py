"""The earlier place of `pymc_bsvm.graph.laplace`."""

from pymc_bsvm.graph.laplace import (
    EvidenceTerms,
    MapEstimate,
    evidence_terms,
    map_dual,
    map_estimate,
)

__all__ = ["EvidenceTerms", "MapEstimate", "evidence_terms", "map_dual", "map_estimate"]
