"""Processes of the epsilon-insensitive loss with the evidence of its margin support vectors."""

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses

POINT = {"ls": 0.9, "C": 3.0}


@pytest.fixture(autouse=True, scope="module")
def _interpreted():
    """Call the Op in Python, which computes the same and need not be compiled."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(8)
    x = np.sort(rng.uniform(-3.0, 3.0, 25))
    return x[:, None], np.sin(2.0 * x) + 0.5 * rng.normal(size=25)


@pytest.fixture(scope="module")
def process(data):
    X, y = data
    with pm.Model() as model:
        ls, C = pm.InverseGamma("ls", 3.0, 3.0), pm.HalfNormal("C", 10.0)
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        loss = losses.EpsilonInsensitive(C, 0.2)
        gp.marginal_likelihood("y", X=X, y=y, loss=loss, approximation="gao")
    return model, gp


def expected(X, y, ls=0.9, C=3.0):
    K = np.exp(-0.5 * (X - X.T) ** 2 / ls**2)
    return bsvm.gao_evidence(K, y, losses.EpsilonInsensitive(C, 0.2))


def test_log_probability_and_gradient(process, data):
    model, _ = process
    names = {"ls": "ls_log__", "C": "C_log__"}
    point = {names[k]: np.log(v) for k, v in POINT.items()}
    of_data = model.compile_logp(vars=model.observed_RVs)
    assert of_data(point) == pytest.approx(expected(*data).log_evidence, abs=1e-8)
    logp, slopes = model.compile_logp(), model.compile_dlogp()(point)
    rows, h = expected(*data).margin.rows, 1e-6
    assert rows.size > 2
    assert [v.name for v in model.value_vars] == list(names.values())
    for slope, (name, value) in zip(slopes, names.items(), strict=True):
        ends = [POINT | {name: POINT[name] * np.exp(t)} for t in (-h, h)]
        assert all(np.array_equal(expected(*data, **end).margin.rows, rows) for end in ends)
        low, high = (logp(point | {value: point[value] + t}) for t in (-h, h))
        assert slope == pytest.approx((high - low) / (2.0 * h), rel=1e-4)


def test_predictions(process, data):
    model, gp = process
    X, y = data
    new = np.linspace(-3.5, 3.5, 9)[:, None]
    got, cross = expected(X, y), np.exp(-0.5 * (X - new.T) ** 2 / 0.81)
    mean = got.posterior.predict_mean(cross)
    variance = got.posterior.predict_variance(cross, np.ones(9))
    with model:
        at = gp.at(POINT)
        found = at.predictive(new)
        f = gp.conditional("f", new, jitter=0.0)
    assert at.evidence.log_evidence == pytest.approx(got.log_evidence, abs=1e-8)
    np.testing.assert_allclose(found.latent_mean, mean, atol=1e-7)
    np.testing.assert_allclose(found.latent_variance, variance, atol=1e-6)
    dual = got.posterior.a[got.posterior.rows]
    np.testing.assert_allclose(at.support_vectors.dual, dual, atol=1e-7)
    mu, cov = f.owner.inputs[2:4]
    values = [model[name] for name in POINT]
    mu, cov = pm.compile(values, [mu, cov])(*POINT.values())
    np.testing.assert_allclose(mu, mean, atol=1e-7)
    np.testing.assert_allclose(np.diag(cov), variance, atol=1e-6)


def test_what_does_not_go_together(data, refuses):
    X, y = data
    cov = pm.gp.cov.ExpQuad(1, ls=1.0)
    with pm.Model(), refuses(ValueError, "SILF is not the epsilon-insensitive loss"):
        bsvm.gp.BSVR(cov_func=cov).marginal_likelihood(
            "y", X=X, y=y, C=1.0, epsilon=0.1, approximation="gao"
        )
    loss = losses.EpsilonInsensitive(1.0, 0.1)
    with pm.Model(), refuses(ValueError, "'gao', which sparse models do not have"):
        bsvm.gp.SparseLaplace(cov_func=cov).marginal_likelihood(
            "y", X, X[:4], y, loss=loss, approximation="gao"
        )
