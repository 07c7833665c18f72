"""One object per model and point: nothing is solved, or compiled, twice."""

import numpy as np
import pymc as pm
import pytest
from pytensor.compile import maker

import pymc_bsvm as bsvm
from pymc_bsvm.covariance import dense_conditioned
from pymc_bsvm.evidence import approximation
from pymc_bsvm.reporting import plot_regression_band

POINT = {"ls": 0.9, "C": 8.0}


def model_of(n=40, data=False):
    rng = np.random.default_rng(5)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3.0, 3.0)
        C = pm.LogNormal("C", 2.0, 1.0)
        inputs, targets = (pm.Data("X", X), pm.Data("t", y)) if data else (X, y)
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=inputs, y=targets, C=C, epsilon=0.1)
    return model, gp, X, y


@pytest.fixture
def counts(monkeypatch):
    """Count the solves and the factorisations of the NumPy path."""
    seen = {"solves": 0, "factors": 0}

    def counted(kind, function):
        def call(*args, **kwargs):
            seen[kind] += 1
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(
        approximation, "solve_problem", counted("solves", approximation.solve_problem)
    )
    factorize = counted("factors", dense_conditioned.factorize)
    monkeypatch.setattr(dense_conditioned, "factorize", factorize)
    return seen


def test_nothing_is_solved_twice(counts):
    model, gp, X, _ = model_of()
    with model:
        fit = bsvm.fit_evidence(check=False, random_seed=1, progressbar=False)
        gp.predict(X[:4], fit.point)
        gp.predictive(X, fit.point)
        gp.support_vectors(fit.point)
        gp.log_predictive(fit.point)
        plot_regression_band(gp, fit.point)
        fit.at().predictive(X)
    assert counts == {"solves": 1, "factors": 1}  # of the evidence; the posterior has the solver's


def test_few_functions_are_compiled(monkeypatch):
    compiled = []
    make = maker.FunctionMaker.__init__

    def counted(self, *args, **kwargs):
        compiled.append(self)
        make(self, *args, **kwargs)

    monkeypatch.setattr(maker.FunctionMaker, "__init__", counted)
    model, gp, X, _ = model_of()
    with model:
        fit = bsvm.fit_evidence(random_seed=1, progressbar=False)
        gp.predict(X[:4], fit.point, diag=True)
    assert len(compiled) <= 6  # one of them without machine code, for the fit


def test_the_same_point_is_the_same_object():
    model, gp, _, _ = model_of()
    with model:
        first = gp.at(POINT)
        assert gp.at({name: np.array(x) for name, x in POINT.items()}) is first
        other = gp.at({**POINT, "C": 9.0})
        assert other is not first
        assert gp.at(POINT) is not first  # one point is kept
    assert other.evidence.log_evidence != first.evidence.log_evidence


def test_new_data_give_new_answers():
    model, gp, X, y = model_of(data=True)
    with model:
        before = gp.at(POINT)
        pm.set_data({"X": X, "t": y})
        assert gp.at(POINT) is before  # the same values
        pm.set_data({"X": X[:30], "t": y[:30]})
        after = gp.at(POINT)
    K = np.exp(-0.5 * (X[:30] - X[:30].T) ** 2 / 0.81)
    expected = bsvm.laplace_evidence(K, y[:30], bsvm.losses.SILF(8.0, 0.1, 0.3))
    assert after.evidence.log_evidence == pytest.approx(expected.log_evidence, rel=1e-10)
    assert before.mean.shape == (40,)
    assert after.mean.shape == (30,)


def test_moments_at_the_data():
    model, gp, X, y = model_of()
    at = gp.at(POINT, model=model)
    K = np.exp(-0.5 * (X - X.T) ** 2 / 0.81)
    loss = bsvm.losses.SILF(8.0, 0.1, 0.3)
    solution = bsvm.solve_dual(K, y, loss, tol=1e-12, on_failure="ignore")
    root = np.sqrt(loss.curvature(y, solution.f))
    B = np.eye(y.size) + root[:, None] * K * root
    expected = K - K @ (root[:, None] * np.linalg.inv(B) * root) @ K
    np.testing.assert_allclose(at.mean, solution.f, atol=1e-9)
    np.testing.assert_allclose(at.covariance, expected, atol=1e-10)
    mean, covariance = at.predict(X)
    np.testing.assert_allclose(mean, at.mean, atol=1e-9)
    np.testing.assert_allclose(covariance, at.covariance, atol=1e-9)
    m, cross, prior = at.prior_of(X[:3])
    np.testing.assert_allclose(m, 0.0)
    np.testing.assert_allclose(cross, K[:, :3], atol=1e-12)
    np.testing.assert_allclose(prior, 1.0)


def test_the_noise_of_new_targets_may_be_fitted():
    model, gp, X, y = model_of()
    with model:
        at = gp.at(POINT)
        posterior = at.evidence.posterior
        for kind in ("loss", "student", "contaminated", "auto"):
            noise = at.fitted_noise(kind)
            distribution = at.predictive(X[:3], noise=kind)
            assert distribution.loss == noise
            assert at.predictive(X[:3], noise=noise).logpdf(y[:3]) == pytest.approx(
                distribution.logpdf(y[:3])
            )
            cavity = posterior.cavity
            fitted = noise.convolution().log_density(y - cavity.mean, cavity.variance).sum()
            another = kind in ("student", "contaminated")
            assert fitted >= posterior.log_predictive.sum() - another
        assert at.predictive(X[:3]).loss.C == POINT["C"]
        assert at.predictive(X[:3], noise="model").loss == at.predictive(X[:3]).loss
    with pytest.raises(ValueError, match="noise must be"):
        at.predictive(X[:3], noise="t")


def test_labels_have_no_noise():
    X = np.linspace(-2.0, 2.0, 20)[:, None]
    with pm.Model() as model:
        gp = bsvm.gp.BTSVC(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        gp.marginal_likelihood("y", X=X, y=(X[:, 0] > 0.0).astype(int))
    with model, pytest.raises(ValueError, match="Labels have no noise"):
        gp.at({}).predictive(X, noise="auto")
