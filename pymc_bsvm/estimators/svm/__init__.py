"""Classical support vector machines: fixed C and kernel, an offset, and a certificate."""

from pymc_bsvm.estimators.svm.classifier import SVMClassifier
from pymc_bsvm.estimators.svm.one_class import SVMOneClass
from pymc_bsvm.estimators.svm.regressor import SVMRegressor

__all__ = ["SVMClassifier", "SVMOneClass", "SVMRegressor"]
