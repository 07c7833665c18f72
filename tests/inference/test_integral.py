"""Hyperparameters integrated out, against fine grids of exact evidences."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm.inference import fit_evidence
from tests.gp import cases
from tests.inference.conftest import gaussian, line, log_evidence_of_gaussian, log_prior_of_two

pytestmark = pytest.mark.usefixtures("quick")
NEW = np.array([[-2.0], [0.3], [3.5]])
T = np.array([-0.5, 0.4, 0.1])


@pytest.fixture(scope="module")
def fit(quick):
    return fit_evidence(gaussian().model, hessian=True, progressbar=False)


@pytest.fixture(scope="module")
def integral(fit):
    return fit.integrate(progressbar=False)


def truth():
    """Return a fine grid over the logs of ls and sigma, its weights, and log p(y)."""
    axes = np.linspace(-1.4, 2.4, 60), np.linspace(-1.8, 0.5, 60)
    u = np.array(np.meshgrid(*axes, indexing="ij")).reshape(2, -1).T
    logs = np.array([log_evidence_of_gaussian(x) + log_prior_of_two(x) + x.sum() for x in u])
    cell = (axes[0][1] - axes[0][0]) * (axes[1][1] - axes[1][0])
    total = np.log(np.exp(logs - logs.max()).sum() * cell) + logs.max()
    weights = np.exp(logs - total) * cell
    return u, weights, total


@pytest.fixture(scope="module")
def exact():
    return truth()


@pytest.mark.parametrize("design", ["grid", "ccd"])
def test_moments_and_evidence(fit, exact, design):
    u, weights, total = exact
    result = fit.integrate(design, progressbar=False)
    assert result.weights.sum() == pytest.approx(1.0)
    tight = design == "grid"
    assert result.log_evidence == pytest.approx(total, abs=5e-3 if tight else 0.05)
    mean = weights @ u
    sd = np.sqrt(weights @ (u - mean) ** 2)
    assert np.abs(result.mean - mean).max() < (0.01 if tight else 0.05) * sd.min()
    np.testing.assert_allclose(
        np.sqrt(result.covariance.diagonal()), sd, rtol=0.01 if tight else 0.05
    )


def test_marginals(integral, exact):
    u, weights, _ = exact
    marginal = integral.marginals["ls_log__"]
    x = np.unique(u[:, 0])
    density = np.array([weights[u[:, 0] == a].sum() for a in x]) / (x[1] - x[0])
    assert np.abs(marginal.pdf(x) - density).max() < 0.1 * density.max()
    np.testing.assert_allclose(marginal.cdf(x)[-1] - marginal.cdf(x)[0], 1.0, atol=1e-3)
    low, high = marginal.interval(0.9)
    for end, tail in ((low, 0.05), (high, 0.95)):
        assert marginal.cdf(end) == pytest.approx(tail, abs=1e-9)
        assert weights[u[:, 0] <= end].sum() == pytest.approx(tail, abs=0.02)
    assert marginal.mean == pytest.approx(weights @ u[:, 0], abs=2e-3)


def test_summary_is_on_the_own_scale(integral, exact):
    u, weights, _ = exact
    table = integral.summary(0.9)
    assert list(table) == ["mean", "sd", "eti90_lb", "eti90_ub"]
    values = np.exp(u)
    mean = weights @ values
    np.testing.assert_allclose(table["mean"], mean, rtol=0.01)
    np.testing.assert_allclose(table["sd"], np.sqrt(weights @ (values - mean) ** 2), rtol=0.03)
    for k, name in enumerate(["ls", "sigma"]):
        inside = (values[:, k] > table.loc[name, "eti90_lb"]) & (
            values[:, k] < table.loc[name, "eti90_ub"]
        )
        assert weights[inside].sum() == pytest.approx(0.9, abs=0.02)


def test_predictions_are_averages(integral, exact):
    """Over the fine grid, thinned to what counts."""
    u, weights, _ = exact
    X, y = line()
    density, mean, total = np.zeros(3), np.zeros(3), 0.0
    for x, weight in zip(u[weights > 1e-4], weights[weights > 1e-4], strict=True):
        ls, noise = np.exp(x[0]), np.exp(2.0 * x[1])
        K = 1.4 * cases.expquad(X, X, ls) + noise * np.eye(30)
        cross = 1.4 * cases.expquad(X, NEW, ls)
        m = cross.T @ np.linalg.solve(K, y)
        v = 1.4 + noise - (cross * np.linalg.solve(K, cross)).sum(0)
        density += weight * stats.norm.pdf(T, m, np.sqrt(v))
        mean, total = mean + weight * m, total + weight
    predictive = integral.predictive(NEW)
    np.testing.assert_allclose(np.exp(predictive.logpdf(T)), density / total, rtol=0.01)
    np.testing.assert_allclose(predictive.mean, mean / total, atol=0.005)


def test_number_of_evaluations(fit):
    for design, count in (("auto", 121), ("ccd", 9)):
        before = fit._objective.evaluations
        result = fit.integrate(design, progressbar=False)
        assert fit._objective.evaluations - before == count
        assert result.weights.shape == result.log_evidences.shape == (count,)
        assert len(result.points) == count


def test_tree(integral):
    tree = integral.to_datatree(draws=3000, random_seed=1)
    assert set(tree.children) == {"posterior", "design"}
    design = tree["design"].dataset
    assert design["weight"].sizes == {"chain": 1, "draw": 121}
    weighted = float((design["weight"] * design["ls"]).sum())
    draws = tree["posterior"]["ls"].values.ravel()
    assert draws.mean() == pytest.approx(weighted, abs=4.0 * draws.std() / np.sqrt(3000))
    table = az.summary(tree, kind="stats")
    assert list(table.index) == ["ls", "sigma"]
    assert f"log p(y) {integral.log_evidence:.2f} by 121 points" in str(integral)


@pytest.mark.parametrize("approximation", ["laplace", "ep"])
def test_labels(approximation, quick):
    data = cases.plane(25, seed=2)
    model, gp = cases.classification(data.X, data.labels, approximation=approximation)
    result = fit_evidence(model, progressbar=False).integrate("ccd", progressbar=False)
    points = zip(result.points, result.weights, strict=True)
    expected = sum(w * gp.predict_proba(data.new, p, model=model) for p, w in points)
    np.testing.assert_allclose(result.predict_proba(data.new), expected, rtol=1e-4)
    with pytest.raises(ValueError, match=r"Labels have no distribution.*Use predict_proba"):
        result.predictive(data.new)


def test_an_interruption_leaves_the_fit(fit, monkeypatch):
    objective, calls = fit._objective, []
    density = type(objective).density

    def interrupted(self, x):
        calls.append(x)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return density(self, x)

    with monkeypatch.context() as patch:
        patch.setattr(type(objective), "density", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit.integrate("ccd", progressbar=False)
    assert len(fit.integrate("ccd", progressbar=False).points) == 9


def test_there_must_be_a_prior(quick):
    fit = fit_evidence(gaussian().model, include_prior=False, progressbar=False)
    with pytest.raises(ValueError, match=r"without a prior to integrate over\. Call"):
        fit.integrate()


def test_one_hyperparameter(quick):
    X, y = line()
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        gp = bsvm.gp.Laplace(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, y, loss=bsvm.losses.Gaussian(0.3))
    result = fit_evidence(model, hessian=True, progressbar=False).integrate(progressbar=False)
    u = np.linspace(-1.5, 2.0, 400)
    logs = [log_evidence_of_gaussian([a, np.log(0.3)]) for a in u]
    logs += stats.norm.logpdf(u, 0.0, 0.5)
    peak = logs.max()
    total = np.log(np.exp(logs - peak).sum() * (u[1] - u[0])) + peak
    assert len(result.points) == 15
    assert result.log_evidence == pytest.approx(total, abs=5e-3)
