"""Relevance vector machines: few basis functions, chosen one by one by the marginal likelihood."""

from pymc_bsvm.estimators.relevance.classifier import RelevanceVectorClassifier
from pymc_bsvm.estimators.relevance.regressor import RelevanceVectorRegressor

__all__ = ["RelevanceVectorClassifier", "RelevanceVectorRegressor"]
