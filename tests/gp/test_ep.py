"""Processes whose latent values are integrated out by expectation propagation."""

from typing import ClassVar

import numpy as np
import pymc as pm
import pytensor
import pytest
from arviz_base import from_dict
from pytensor.compile.mode import get_mode
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.approximations import EP
from pymc_bsvm.evidence import EPError
from pymc_bsvm.inference.objective import LogPosterior
from pymc_bsvm.solvers import DualSolveError
from tests.oracle import textbook

PYTHON = get_mode("FAST_COMPILE")
COMPILED = pytensor.config.mode


@pytest.fixture(scope="module", autouse=True)
def interpreted():
    """Call the Op in Python, which computes the same and need not be compiled for each loss."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(-3.0, 3.0, 20))
    return x[:, None], np.sin(2.0 * x) + 0.2 * rng.laplace(size=x.size)


def regression(X, y, approximation="ep"):
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3.0, 3.0), pm.HalfNormal("eta", 1.0)
        C, level = pm.HalfNormal("C", 10.0), pm.Normal("level", 0.0, 1.0)
        gp = bsvm.gp.BSVR(
            mean_func=pm.gp.mean.Constant(level), cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)
        )
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=0.1, approximation=approximation)
    return model, gp


def of_loss(loss, X, y, approximation="ep"):
    with pm.Model() as model:
        X, y = pm.Data("inputs", X), pm.Data("targets", y)
        ls = pm.InverseGamma("ls", 3.0, 3.0)
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, loss=loss, approximation=approximation)
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


# ---- classical machines -------------------------------------------------------------------------


def test_gaussian_process_regression_is_that_of_scikit_learn(data):
    X, y = data
    model, gp = of_loss(losses.Gaussian(0.3), X, y)
    peer = GaussianProcessRegressor(RBF(0.9), alpha=0.09, optimizer=None).fit(X, y)
    new = np.linspace(-3.5, 3.5, 6)[:, None]
    mean, sd = peer.predict(new, return_std=True)
    with model:
        at = gp.at({"ls": 0.9})
    value = peer.log_marginal_likelihood_value_
    assert at.evidence.log_evidence == pytest.approx(value, rel=1e-8)
    got = at.predict(new, diag=True, pred_noise=True)
    np.testing.assert_allclose(got, [mean, sd**2 + 0.09], rtol=1e-8)


def test_probit_classification_is_that_of_the_textbook(data):
    X, labels = data[0], data[1] > 0.0
    model, gp = of_loss(losses.Probit(), X, labels.astype(int), EP(tol=1e-10))
    new = np.linspace(-3.5, 3.5, 6)[:, None]
    kernel = RBF(0.9)
    sign = np.where(labels, 1.0, -1.0)
    expected = textbook.propagate(kernel(X), sign, textbook.probit_moments)
    moments = expected.predict(kernel(X, new), np.ones(6))
    with model:
        at = gp.at({"ls": 0.9})
    assert at.evidence.log_evidence == pytest.approx(expected.log_evidence, rel=1e-8)
    np.testing.assert_allclose(at.predict(new, diag=True), moments, rtol=1e-8, atol=1e-10)
    probability = textbook.average(textbook.probit, *moments)
    np.testing.assert_allclose(at.predict_proba(new), probability, rtol=1e-8)


# ---- losses with kinks --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [losses.EpsilonInsensitive(6.0, 0.1), losses.Laplace(4.0)])
def test_losses_with_kinks(loss, data):
    X, y = data
    model, gp = of_loss(loss, *data)
    K = np.exp(-0.5 * (X - X.T) ** 2 / 0.81)
    expected = bsvm.ep_evidence(K, y, loss)
    logp = model.compile_logp(vars=model.observed_RVs, mode=PYTHON)
    assert logp({"ls_log__": np.log(0.9)}) == pytest.approx(expected.log_evidence, abs=1e-6)
    new = np.array([[0.1], [4.0]])
    with model:
        at = gp.at({"ls": 0.9})
        f = gp.conditional("f", new, jitter=0.0)
    np.testing.assert_allclose(at.log_predictive, expected.log_predictive, atol=1e-6)
    moments = pm.compile([model["ls"]], f.owner.inputs[2:4], mode=PYTHON)(0.9)
    for got, known in zip(moments, at.predict(new), strict=True):
        np.testing.assert_allclose(got, known, atol=1e-6)
    targets = at.predictive(new)
    np.testing.assert_allclose(targets.cdf(targets.quantile(0.9)), 0.9, atol=1e-8)
    with pytest.raises(ValueError, match="has no curvature, so that its laplace evidence"):
        of_loss(loss, *data, approximation="laplace")


# ---- what is done with a model ------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(data):
    model, gp = regression(*data)
    return model, gp, bsvm.fit_evidence(model, gtol=1e-3, progressbar=False)


def test_a_fit_is_a_mode_of_evidence_and_prior(fitted, data):
    X, y = data
    _, _, fit = fitted
    at = {name: float(value) for name, value in fit.point.items()}

    def height(ls, eta, C, level):
        K = eta**2 * np.exp(-0.5 * (X - X.T) ** 2 / ls**2)
        evidence = bsvm.ep_evidence(K, y, losses.SILF(C, 0.1), m=level).log_evidence
        prior = stats.invgamma.logpdf(ls, 3.0, scale=3.0) + stats.norm.logpdf(level)
        return evidence + prior + stats.halfnorm.logpdf([eta, C], scale=[1.0, 10.0]).sum()

    assert fit.converged
    assert fit.objective == pytest.approx(height(**at), abs=1e-5)
    for name in at:
        for factor in (0.9, 1.1):
            assert height(**at | {name: factor * at[name]}) < fit.objective
    assert fit.evidence.certificate.residual <= 1e-6
    assert fit.check is None


def test_fits_by_two_approximations_are_told_apart(fitted, data):
    _, _, fit = fitted
    other = bsvm.fit_evidence(regression(*data, "laplace")[0], progressbar=False)
    table = bsvm.compare_evidence({"one": fit, "two": other})
    assert table.loc["one", "approximation"] == "ep"
    assert table["warning"].str.contains("approximations differ: ep, laplace").all()


def test_pointwise_log_likelihood_of_draws(fitted, data):
    X, y = data
    model, gp, _ = fitted
    draws = {"ls": [1.1, 0.8], "eta": [1.2, 0.9], "C": [7.0, 9.0], "level": [0.3, -0.1]}
    idata = from_dict({"posterior": {name: np.array([x]) for name, x in draws.items()}})
    gp.compute_log_likelihood(idata, model=model, progressbar=False)
    for k, (ls, eta, C, level) in enumerate(zip(*draws.values(), strict=True)):
        K = eta**2 * np.exp(-0.5 * (X - X.T) ** 2 / ls**2)
        expected = bsvm.ep_evidence(K, y, losses.SILF(C, 0.1), m=level).log_predictive
        np.testing.assert_allclose(idata["log_likelihood"]["y"][0, k], expected, atol=1e-5)


def test_other_data(data):
    X, y = data
    model, gp = of_loss(losses.SILF(6.0, 0.1), X, y)
    with model:
        logp = model.compile_logp(vars=model.observed_RVs, mode=PYTHON)
        before = gp.at({"ls": 1.0}).evidence.log_evidence
        pm.set_data({"inputs": X[:12], "targets": y[:12]})
        after = gp.at({"ls": 1.0}).evidence.log_evidence
    K = np.exp(-0.5 * (X[:12] - X[:12].T) ** 2)
    expected = bsvm.ep_evidence(K, y[:12], losses.SILF(6.0, 0.1)).log_evidence
    assert after == pytest.approx(expected, abs=1e-6)
    assert before != pytest.approx(after, abs=0.1)
    assert logp({"ls_log__": 0.0}) == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("build", [regression, classification])
def test_sampling(build, data):
    model, gp = build(*data)
    with model, pytensor.config.change_flags(mode=COMPILED):
        idata = pm.sample(
            100, tune=200, chains=1, cores=1, random_seed=1, nuts_sampler="pymc", progressbar=False
        )
        gp.compute_log_likelihood(idata, progressbar=False)
    assert idata["sample_stats"]["diverging"].sum() <= 2
    assert np.isfinite(idata["log_likelihood"]["y"].values).all()
    assert 0.3 < float(idata["posterior"]["ls"].mean()) < 4.0


# ---- starts and failures ------------------------------------------------------------------------


class Counted(EP):
    """Expectation propagation that remembers how many sweeps it took."""

    sweeps: ClassVar[list[int]] = []

    def approximate(self, problem, start=None):
        found = super().approximate(problem, start)
        self.sweeps.append(found.n_iter)
        return found


def test_a_walk_takes_fewer_sweeps_from_where_it_was(data):
    """Steps of a twentieth along all hyperparameters, as those of a sampler's leapfrog."""
    model, _ = regression(*data, Counted())
    objective = LogPosterior(model, include_prior=True)
    walk = np.cumsum(np.random.default_rng(0).normal(scale=0.05, size=(20, 4)), axis=0)
    counts, values = {}, {}
    for warm in (False, True):
        Counted.sweeps.clear()
        values[warm] = []
        for step in walk:
            if not warm:
                objective.forget()
            values[warm].append(objective(np.array([0.0, 0.0, 1.5, 0.0]) + step)[0])
        counts[warm] = sum(Counted.sweeps)
        assert len(Counted.sweeps) == len(walk)
    np.testing.assert_allclose(values[True], values[False], atol=1e-6)
    assert counts[True] < 0.9 * counts[False]


def test_failures_are_those_of_the_dual(data):
    model, gp = of_loss(losses.SILF(6.0, 0.1), *data, approximation=EP(tol=1e-9, max_iter=1))
    assert np.isnan(model.compile_logp(vars=model.observed_RVs, mode=PYTHON)({"ls_log__": 0.0}))
    assert LogPosterior(model, include_prior=True)(np.zeros(1))[0] == -np.inf
    with pytest.raises(DualSolveError, match="largest number of sweeps was reached"):
        gp.at({"ls": 1.0}, model=model)
    idata = from_dict({"posterior": {"ls": np.ones((1, 1))}})
    with pytest.raises(EPError) as caught:
        gp.compute_log_likelihood(idata, model=model, progressbar=False)
    assert "chain 0, draw 0" in caught.value.__notes__[0]


@pytest.mark.filterwarnings("ignore:JAX does not check:UserWarning")
def test_jax_is_told_what_works(data):
    jax_mode = pytest.importorskip("pytensor.compile.mode").get_mode("JAX")
    model, _ = of_loss(losses.Laplace(4.0), *data)
    with pytest.raises(NotImplementedError, match=r"'ep' has no form in JAX\. Sample with PyMC's"):
        model.compile_logp(mode=jax_mode)
