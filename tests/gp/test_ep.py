"""Processes whose latent values are integrated out by expectation propagation."""

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(-3.0, 3.0, 20))
    return x[:, None], np.sin(2.0 * x) + 0.2 * rng.laplace(size=x.size)


def regression(X, y):
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3.0, 3.0), pm.HalfNormal("eta", 1.0)
        C, level = pm.HalfNormal("C", 10.0), pm.Normal("level", 0.0, 1.0)
        gp = bsvm.gp.BSVR(
            mean_func=pm.gp.mean.Constant(level), cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)
        )
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=0.1, approximation="ep")
    return model, gp


def classification(X, y):
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3.0, 3.0), pm.HalfNormal("eta", 1.0)
        gp = bsvm.gp.BTSVC(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=(y > 0.0).astype(int), approximation="ep")
    return model, gp


@pytest.mark.parametrize("build", [regression, classification])
def test_log_probability_and_gradient(build, data):
    model, _ = build(*data)
    point = {"ls_log__": 0.1, "eta_log__": 0.2}
    if build is regression:
        point |= {"C_log__": 2.0, "level": 0.3}
    logp, slopes = model.compile_logp(), model.compile_dlogp()(point)
    h = 1e-4
    for slope, value in zip(slopes, model.value_vars, strict=True):
        up, down = (logp(point | {value.name: point[value.name] + k * h}) for k in (1, -1))
        assert slope == pytest.approx((up - down) / (2.0 * h), rel=1e-5, abs=1e-5)


def test_evidence_and_predictions_at_a_point(data):
    X, y = data
    model, gp = regression(X, y)
    values = {"ls": 1.1, "eta": 1.2, "C": 7.0, "level": 0.3}
    K = 1.44 * np.exp(-0.5 * (X - X.T) ** 2 / 1.21)
    loss = losses.SILF(7.0, 0.1)
    expected = bsvm.ep_evidence(K, y, loss, m=0.3)
    with model:
        at = gp.at(values)
    got = at.evidence
    assert got.log_evidence == pytest.approx(expected.log_evidence, abs=1e-6)
    new = np.linspace(-3.5, 3.5, 6)[:, None]
    cross = 1.44 * np.exp(-0.5 * (X - new.T) ** 2 / 1.21)
    mean, variance = at.predict(new, diag=True)
    np.testing.assert_allclose(mean, 0.3 + cross.T @ expected.posterior.a, atol=1e-5)
    R = np.linalg.inv(K + np.diag(1.0 / expected.posterior.precision))
    np.testing.assert_allclose(variance, 1.44 - np.diag(cross.T @ R @ cross), atol=1e-5)
