"""Classical Gaussian processes are pairs of a loss and an approximation, to 1e-8 of their peers.

Regression and the logistic classifier are compared with scikit-learn, whatever it does not have
with the algorithms of [RW06]. Other files compare the models of PyMC (`gp/test_marginal.py` and
`gp/test_ep.py`), published values of GPML (`evidence/test_laplace.py`), and fixed points of
expectation propagation in multiple precision (`evidence/test_ep.py`).
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge

from pymc_bsvm import ep_evidence, laplace_evidence, losses, solve_dual
from pymc_bsvm.approximations import EP
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, kernels
from pymc_bsvm.evidence import predictive
from tests.estimators import cases
from tests.oracle import textbook
from tests.solvers.problems import sinc, two_classes

GPML = Path(__file__).parent / "evidence" / "data" / "gpml_probit.json"
CLOSE = {"rtol": 1e-8, "atol": 1e-10}
APPROXIMATIONS = {"laplace": laplace_evidence, "ep": partial(ep_evidence, tol=1e-10)}

every_approximation = pytest.mark.parametrize("approximation", APPROXIMATIONS)


class Baseline(NamedTuple):
    """A classifier of the library, and its link and tilted moments in the textbook."""

    loss: losses.Loss
    link: Any
    tilted: Any

    def textbook(self, approximation, K, y):
        if approximation == "laplace":
            return textbook.laplace(K, y, self.link)
        return textbook.propagate(K, y, self.tilted)


LOGISTIC = Baseline(
    losses.Logistic(), textbook.logistic, partial(textbook.moments, textbook.logistic)
)
PROBIT = Baseline(losses.Probit(), textbook.probit, textbook.probit_moments)
BASELINES = {"logistic": LOGISTIC, "probit": PROBIT}

every_baseline = pytest.mark.parametrize("baseline", BASELINES.values(), ids=BASELINES)


# ---- regression ---------------------------------------------------------------------------------


@every_approximation
@pytest.mark.parametrize("sigma", [0.1, 2.0])
def test_gaussian_process_regression(approximation, sigma):
    """Evidence, gradient, posterior, and predictions of functions and targets."""
    X, y = sinc(50)
    new = np.linspace(-3.0, 3.0, 20)[:, None]
    kernel = ConstantKernel(1.3) * RBF(0.4) + ConstantKernel(0.5)
    peer = GaussianProcessRegressor(kernel, alpha=sigma**2, optimizer=None).fit(X, y)
    value, slope = peer.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    K, loss = kernel(X), losses.Gaussian(sigma)
    got = APPROXIMATIONS[approximation](K, y, loss)
    assert got.log_evidence == pytest.approx(value, rel=1e-8)
    _, D = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(got.gradient.rows, np.arange(50))
    np.testing.assert_allclose(np.einsum("ij,ijk->k", got.gradient.K, D), slope, **CLOSE)

    mean, sd = peer.predict(X, return_std=True)
    np.testing.assert_allclose(got.posterior.mean, mean, **CLOSE)
    np.testing.assert_allclose(got.posterior.variance, sd**2, **CLOSE)
    mean, sd = peer.predict(new, return_std=True)
    cross = kernel(X, new)
    np.testing.assert_allclose(got.posterior.predict_mean(cross), mean, **CLOSE)
    variance = got.posterior.predict_variance(cross, kernel.diag(new))
    np.testing.assert_allclose(variance, sd**2, **CLOSE)
    targets = predictive(loss, mean, variance)
    np.testing.assert_allclose(targets.variance, sd**2 + sigma**2, **CLOSE)
    normal = stats.norm(mean, np.hypot(sd, sigma))
    np.testing.assert_allclose(targets.logpdf(0.3), normal.logpdf(0.3), **CLOSE)
    np.testing.assert_allclose(targets.quantile(0.05), normal.ppf(0.05), **CLOSE)


def test_kernel_ridge_regression_is_the_mode_of_the_squared_loss():
    X, y = sinc(50)
    new = np.linspace(-3.0, 3.0, 20)[:, None]
    ridge, ls = 0.03, 0.4
    covariance = partial(kernels.RBF().matrix, np.array([1.0, ls]))
    a = solve_dual(covariance(X), y, losses.Gaussian(np.sqrt(ridge))).a
    peer = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5 / ls**2).fit(X, y)
    np.testing.assert_allclose(a, peer.dual_coef_, **CLOSE)
    np.testing.assert_allclose(covariance(new, X) @ a, peer.predict(new), **CLOSE)


def test_the_nadaraya_watson_estimate_is_the_mean_of_a_density_of_inputs_and_targets():
    """(6.42) and (6.43) of [PRML], integrated over the target."""
    X, y = sinc(30)
    new, width = np.array([[-1.3], [0.2], [3.0]]), 0.4
    weight = kernels.RBF().matrix(np.array([1.0, width]), new, X)
    t = np.linspace(-6.0, 6.0, 2001)
    parzen = stats.norm(scale=width)
    joint = parzen.pdf(new - X.T) @ parzen.pdf(t - y[:, None]) / y.size
    expected = np.trapezoid(t * joint, t) / np.trapezoid(joint, t)
    np.testing.assert_allclose(weight @ y / weight.sum(axis=1), expected, **CLOSE)


# ---- classification -----------------------------------------------------------------------------


def peer_of(kernel, X, y):
    """Return scikit-learn's classifier, at the mode to rounding.

    Its Newton steps end at a gain of 1e-10 nats; with `warm_start` those that precede predictions
    go on from there.
    """
    return GaussianProcessClassifier(kernel, optimizer=None, warm_start=True).fit(X, y)


def test_latent_values_of_logistic_classification_are_those_of_scikit_learn():
    """Their evidences are compared in `evidence/test_laplace.py`."""
    X, y = two_classes(120, seed=5)
    new = np.random.default_rng(0).uniform(-2.5, 2.5, (20, 2))
    kernel = ConstantKernel(1.7) * RBF(0.8)
    peer = peer_of(kernel, X, y)
    posterior = laplace_evidence(kernel(X), y, losses.Logistic()).posterior
    mean, variance = peer.latent_mean_and_variance(X)
    np.testing.assert_allclose(posterior.mean, mean, **CLOSE)
    np.testing.assert_allclose(posterior.variance, variance, **CLOSE)
    mean, variance = peer.latent_mean_and_variance(new)
    cross = kernel(X, new)
    np.testing.assert_allclose(posterior.predict_mean(cross), mean, **CLOSE)
    predicted = posterior.predict_variance(cross, kernel.diag(new))
    np.testing.assert_allclose(predicted, variance, **CLOSE)


@every_baseline
@every_approximation
def test_classification_is_that_of_the_textbook(baseline, approximation):
    """Evidence, posterior, new latent values and probabilities."""
    X, y = two_classes(40, seed=5)
    new = np.random.default_rng(0).uniform(-2.5, 2.5, (20, 2))
    kernel = ConstantKernel(4.0) * RBF(1.1) + ConstantKernel(0.5)
    K, cross, prior = kernel(X), kernel(X, new), kernel.diag(new)
    expected = baseline.textbook(approximation, K, y)
    got = APPROXIMATIONS[approximation](K, y, baseline.loss)
    assert got.log_evidence == pytest.approx(expected.log_evidence, rel=1e-8)
    np.testing.assert_allclose(got.posterior.mean, expected.mean, **CLOSE)
    np.testing.assert_allclose(got.posterior.variance, expected.variance, **CLOSE)
    moments = expected.predict(cross, prior)
    np.testing.assert_allclose(got.posterior.predict_mean(cross), moments[0], **CLOSE)
    predicted = got.posterior.predict_variance(cross, prior)
    np.testing.assert_allclose(predicted, moments[1], **CLOSE)
    probability = predictive(baseline.loss, *moments).probability(1)
    np.testing.assert_allclose(probability, textbook.average(baseline.link, *moments), **CLOSE)


def test_the_textbook_has_the_published_values_of_gpml():
    published = json.loads(GPML.read_text(encoding="utf-8"))
    X, y = np.array(published["x"]), np.array(published["y"])
    got = textbook.laplace(RBF(1.0)(X), y, textbook.probit)
    assert -got.log_evidence == pytest.approx(published["nlZ"], rel=0, abs=1e-11)
    np.testing.assert_allclose(got.mean, published["posterior_mean_f"], rtol=0, atol=1e-9)


# ---- without an approximation -------------------------------------------------------------------


def few_rows(n):
    x = np.array([-0.6, 0.2, 1.4])[:n, None]
    return 2.0 * np.exp(-0.5 * (x - x.T) ** 2), np.array([1.0, -1.0, 1.0])[:n]


@pytest.mark.parametrize("n", [2, 3])
def test_the_integral_has_the_probability_of_an_orthant(n):
    K, y = few_rows(n)
    got = textbook.integrate(K, y, textbook.probit, 0.2)
    assert np.exp(got.log_evidence) == pytest.approx(textbook.orthant(K, y), rel=1e-10)


@every_baseline
@pytest.mark.parametrize("n", [2, 3])
def test_expectation_propagation_is_near_the_integral(baseline, n):
    """Within a thousandth of a nat, where Laplace's method is off by hundredths."""
    K, y = few_rows(n)
    exact = textbook.integrate(K, y, baseline.link, 0.2)
    sd = np.sqrt(exact.variance)
    laplace, ep = (approximate(K, y, baseline.loss) for approximate in APPROXIMATIONS.values())
    assert abs(ep.log_evidence - exact.log_evidence) < 1e-3
    assert abs(laplace.log_evidence - exact.log_evidence) > 1e-2
    assert np.abs((ep.mean - exact.mean) / sd).max() < 1e-3
    assert np.abs(np.sqrt(ep.variance) / sd - 1.0).max() < 5e-3


@every_baseline
def test_expectation_propagation_of_one_row_is_exact(baseline):
    exact = baseline.tilted(-1.0, 0.3, 2.0)
    got = APPROXIMATIONS["ep"]([[2.0]], [-1.0], baseline.loss, m=0.3)
    assert got.log_evidence == pytest.approx(exact.log_z, rel=1e-10)
    assert got.mean[0] == pytest.approx(exact.mean, rel=1e-8)
    assert got.variance[0] == pytest.approx(exact.variance, rel=1e-8)


# ---- estimators ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return cases.plane(40)


@cases.ANY_END
@every_approximation
def test_the_regressor_with_the_squared_loss(approximation, data):
    """At the hyperparameters that it learned, in the units of the data."""
    settings = {"approximation": approximation, "ard": True, "random_state": 0}
    model = BayesianSVR(loss="squared", noise="model", **settings).fit(data.X, data.y)
    found, centre = model.hyperparameters_[0], data.y.mean()
    assert model.noise_ == model.loss_ == losses.Gaussian(found["sigma"])
    kernel = ConstantKernel(found["eta"] ** 2) * RBF(found["ls"])
    kernel += ConstantKernel(100.0 * data.y.var())
    peer = GaussianProcessRegressor(kernel, alpha=found["sigma"] ** 2, optimizer=None)
    peer.fit(data.X, data.y - centre)
    assert model.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-8)
    mean, sd = peer.predict(data.new, return_std=True)
    normal = stats.norm(centre + mean, np.hypot(sd, found["sigma"]))
    got = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(got, [normal.mean(), normal.std()], **CLOSE)
    np.testing.assert_allclose(
        model.predict_interval(data.new, coverage=0.9), normal.interval(0.9), **CLOSE
    )
    density = model.log_predictive_density(data.new, np.full(len(data.new), 52.0))
    np.testing.assert_allclose(density, normal.logpdf(52.0), **CLOSE)


def classifier(loss, approximation, data):
    """Return a fit, and its kernel as scikit-learn writes it."""
    model = BayesianSVC(loss=loss, approximation=approximation, tol=1.0, random_state=0)
    found = model.fit(data.X, data.labels).hyperparameters_[0]
    return model, ConstantKernel(found["eta"] ** 2) * RBF(found["ls"]) + ConstantKernel(100.0)


@cases.ANY_END
@pytest.mark.parametrize("loss", BASELINES)
@pytest.mark.parametrize("approximation", ["laplace", EP(tol=1e-10)], ids=["laplace", "ep"])
def test_the_classifier_with_another_link(loss, approximation, data):
    model, kernel = classifier(loss, approximation, data)
    baseline, y = BASELINES[loss], np.where(data.labels == "yes", 1.0, -1.0)
    expected = baseline.textbook(model.approximation_.name, kernel(data.X), y)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence, rel=1e-8)
    moments = expected.predict(kernel(data.X, data.new), kernel.diag(data.new))
    probability = textbook.average(baseline.link, *moments)
    np.testing.assert_allclose(model.predict_proba(data.new)[:, 1], probability, **CLOSE)


@cases.ANY_END
def test_the_classifier_with_the_logistic_link_is_that_of_scikit_learn(data):
    """Its probabilities are those of its latent values: it approximates their integral itself."""
    model, kernel = classifier("logistic", "laplace", data)
    peer = peer_of(kernel, data.X, data.labels)
    assert model.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-8)
    moments = peer.latent_mean_and_variance(data.new)
    probability = textbook.average(textbook.logistic, *moments)
    np.testing.assert_allclose(model.predict_proba(data.new)[:, 1], probability, **CLOSE)
