"""Estimators with an approximation from outside the library."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from pymc_bsvm.approximations import Laplace
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from tests.gp.exact_inference import Exact


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-3.0, 3.0, (40, 1)), axis=0)
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=40)


def test_exact_inference_is_gaussian_process_regression(data):
    X, y = data
    ours = BayesianSVR(loss="gaussian", approximation=Exact(), offset=0.0, tol=1e-8).fit(X, y)
    values = ours.hyperparameters_[0]
    unit = y.std()
    kernel = ConstantKernel(values["eta"] ** 2) * RBF(values["ls"][0])
    kernel += WhiteKernel(values["sigma"] ** 2)
    peer = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y - y.mean())
    value, slope = peer.log_marginal_likelihood(peer.kernel_.theta, eval_gradient=True)
    assert ours.log_evidence_ == pytest.approx(value, abs=1e-6)
    np.testing.assert_allclose(slope, 0.0, atol=1e-2)  # the search ended at its maximum
    new = np.linspace(-4.0, 4.0, 7)[:, None]
    mean, std = peer.predict(new, return_std=True)
    got = ours.predict(new, return_std=True)
    np.testing.assert_allclose(got[0], y.mean() + mean, atol=1e-6 * unit)
    np.testing.assert_allclose(got[1] ** 2, std**2, rtol=1e-5)


def test_laplace_is_exact_there(data):
    X, y = data
    exact, laplace = (
        BayesianSVR(loss="gaussian", approximation=a).fit(X, y) for a in (Exact(), Laplace())
    )
    assert exact.log_evidence_ == pytest.approx(laplace.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(exact.predict(X), laplace.predict(X), atol=1e-6)
    np.testing.assert_array_equal(exact.support_, laplace.support_)
    np.testing.assert_allclose(exact.dual_coef_, laplace.dual_coef_, atol=1e-5)


def test_what_does_not_go_together(data):
    X, y = data
    with pytest.raises(ValueError, match=r"^SILF is not Gaussian, so that its exact gaussian ev"):
        BayesianSVR(approximation=Exact()).fit(X, y)
    with pytest.raises(ValueError, match=r"approximation must be one of .*'laplace'.*'annealing'"):
        BayesianSVC(approximation="annealing").fit(X, y > 0.0)
