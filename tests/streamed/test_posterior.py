"""Predictions from inducing points."""

import pickle

import numpy as np
import pytest

from pymc_bsvm import laplace_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.newton import find_mode
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed.problems import LOSSES, Gaussian, problem, rows
from tests.streamed.test_evidence import SPREAD, name

NEW = np.random.default_rng(5).uniform(-3.0, 3.0, size=(9, 2))


def posterior_of(passes, features, loss):
    mode = find_mode(passes, features, loss, tol=1e-16)
    return InducingPosterior(features, mode.w, mode.cholesky)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_all_rows_as_inducing_points_predict_as_the_dense_posterior(loss, offset):
    X, y, weight = rows(loss, n=40)
    features = Features.at(Gaussian(), SPREAD, X, offset, jitter=0.0)
    found = posterior_of(Passes(ArrayRows(X, y, weight)), features, loss)
    K, cross, prior = (
        Gaussian().matrix(SPREAD, *pair) + offset for pair in ((X,), (X, NEW), (NEW,))
    )
    dense = laplace_evidence(K, y, loss, sample_weight=weight).posterior
    mean, covariance = found.joint(NEW)
    np.testing.assert_allclose(mean, dense.predict_mean(cross), atol=1e-7)
    np.testing.assert_allclose(covariance, dense.predict_covariance(cross, prior), atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_mean_and_moments_are_those_of_the_joint_posterior(loss):
    found = posterior_of(*problem(loss), loss)
    mean, covariance = found.joint(NEW)
    np.testing.assert_allclose(found.mean(NEW), mean, rtol=1e-12)
    np.testing.assert_allclose(found.moments(NEW)[0], mean, rtol=1e-12)
    np.testing.assert_allclose(found.moments(NEW)[1], covariance.diagonal(), rtol=1e-9)
    assert np.linalg.eigvalsh(covariance).min() > 0.0


def test_far_from_the_points_the_variance_is_that_of_the_prior():
    loss = LOSSES[4]
    passes, features = problem(loss, offset=0.0)
    mean, variance = posterior_of(passes, features, loss).moments(np.array([[50.0, -40.0]]))
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(variance, features.values[0] ** 2, rtol=1e-12)


def test_a_posterior_is_small_and_survives_pickling():
    loss = LOSSES[0]
    found = posterior_of(*problem(loss, n=2000, m=5), loss)
    stored = pickle.dumps(found)
    assert len(stored) < 4000  # 16000 bytes are one column of the rows
    np.testing.assert_array_equal(pickle.loads(stored).moments(NEW), found.moments(NEW))
