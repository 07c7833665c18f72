"""Estimators whose hyperparameters and posterior come from expectation propagation."""

import numpy as np
import pytest

from pymc_bsvm import datasets
from pymc_bsvm.approximations import EP
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR


def test_regression_is_close_to_that_by_laplace():
    X, y = datasets.sinc(60, random_state=2)
    ours = BayesianSVR(approximation="ep").fit(X, y)
    other = BayesianSVR().fit(X, y)
    assert ours.log_evidence_ == pytest.approx(other.log_evidence_, abs=3.0)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=0.1)
    assert 0 < ours.support_.size <= 60


def test_gaussian_noise_is_the_same_as_by_laplace():
    X, y = datasets.sinc(40, random_state=2)
    ours, other = (
        BayesianSVR(loss="gaussian", approximation=name, tol=1e-6).fit(X, y)
        for name in ("ep", "laplace")
    )
    assert ours.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-5)
    np.testing.assert_allclose(ours.predict(X), other.predict(X), atol=1e-3)


def test_classification():
    X, y = datasets.two_gaussians(80, random_state=1)
    ours = BayesianSVC(approximation=EP(tol=1e-5)).fit(X, y)
    assert ours.score(X, y) > 0.75
    probability = ours.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    chosen = probability[np.arange(80), (y == ours.classes_[1]).astype(int)]
    assert -np.log(chosen).mean() < 0.5
