"""Losses of the estimators, by name and as objects."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from pymc_bsvm.estimators.likelihood import classification_likelihood, regression_likelihood
from tests.estimators import cases

pytestmark = cases.ANY_END
NOISES = {"silf": losses.SILF, "huber": losses.Huber, "gaussian": losses.Gaussian}
LINKS = {
    "trigonometric": losses.Trigonometric(),
    "logistic": losses.Logistic(),
    "probit": losses.Probit(),
}


@pytest.fixture(scope="module")
def data():
    return cases.plane(40)


def regressor(**kwargs):
    return BayesianSVR(**{"tol": 1.0, "kernel": "rbf", **kwargs})


def evidence(data, h, loss, y, offset):
    """Return the evidence of the covariance that the hyperparameters say."""
    X = data.X / h["ls"]
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K = h["eta"] ** 2 * np.exp(-0.5 * distance) + offset
    return laplace_evidence(K, y, loss).log_evidence


@pytest.mark.parametrize("name", NOISES)
def test_noise_by_name(name, data):
    model = regressor(loss=name).fit(data.X, data.y)
    assert type(model.loss_) is NOISES[name]
    own = {k: v for k, v in model.loss_.fields.items() if k != "beta"}
    assert own == {k: model.hyperparameters_[0][k] for k in own}
    assert (model.beta_ in (0.3, 1.0)) if name == "silf" else model.beta_ is None
    target = data.y - data.y.mean()
    expected = evidence(data, model.hyperparameters_[0], model.loss_, target, 100.0 * data.y.var())
    assert model.log_evidence_ == pytest.approx(expected, abs=1e-6)
    mean, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(model.predict(data.new), mean, rtol=1e-12)
    assert np.all(std**2 > model.loss_.variance())


@pytest.mark.parametrize("name", LINKS)
def test_links_by_name(name, data):
    model = BayesianSVC(loss=name, approximation="laplace", tol=1.0).fit(data.X, data.labels)
    y = np.where(data.labels == "yes", 1.0, -1.0)
    expected = evidence(data, model.hyperparameters_[0], LINKS[name], y, 100.0)
    assert model.log_evidence_ == pytest.approx(expected, abs=1e-6)
    assert model.score(data.X, data.labels) > 0.7


def test_gaussian_noise_is_gaussian_process_regression(data):
    model = regressor(loss="gaussian").fit(data.X, data.y)
    X, new = (x / model.hyperparameters_[0]["ls"] for x in (data.X, data.new))

    def cov(A, B):
        distance = ((A[:, None] - B[None]) ** 2).sum(axis=2)
        eta = model.hyperparameters_[0]["eta"]
        return eta**2 * np.exp(-0.5 * distance) + 100.0 * data.y.var()

    K = cov(X, X) + model.loss_.variance() * np.eye(len(X))
    mean = data.y.mean() + cov(new, X) @ np.linalg.solve(K, data.y - data.y.mean())
    np.testing.assert_allclose(model.predict(data.new), mean, rtol=1e-9)


def test_defaults_are_those_of_the_papers(data):
    named = regressor(loss="silf").fit(data.X, data.y)
    assert (
        named.hyperparameters_[0]["C"] == regressor().fit(data.X, data.y).hyperparameters_[0]["C"]
    )
    assert BayesianSVR().loss == "silf"
    assert BayesianSVC().loss == "trigonometric"


def test_an_object_says_where_the_search_starts_and_what_is_kept():
    given = losses.SILF(C=2.0, epsilon=0.4, beta=0.7)
    likelihood = regression_likelihood(given, unit=4.0)
    starts = {h.name: h.start for h in likelihood.free}
    assert starts == pytest.approx({"C": 8.0, "epsilon": 0.1})
    assert likelihood.fixed == {"beta": 0.7}
    assert all(h.low < h.start < h.high for h in likelihood.free)
    far = regression_likelihood(losses.Gaussian(1e4), unit=1.0).free[0]
    assert far.low < 1e4 < far.high
    link = classification_likelihood(losses.Trigonometric(2.0))
    assert (link.free, link.fixed) == ((), {"delta": 2.0})


def test_the_squared_loss_has_two_names():
    assert regression_likelihood("squared", unit=2.0) == regression_likelihood("gaussian", unit=2.0)


def test_fits_around_an_object(data):
    given = losses.SILF(C=0.5, epsilon=0.4, beta=0.7)
    model = regressor(loss=given).fit(data.X, data.y)
    assert model.beta_ == 0.7
    assert model.loss_ != given
    assert model.loss is given
    twin = clone(model)
    assert twin.loss == given
    by_beta = regressor(beta=0.7, tol=1e-3).fit(data.X, data.y)
    around = regressor(loss=given, tol=1e-3).fit(data.X, data.y)
    assert around.log_evidence_ == pytest.approx(by_beta.log_evidence_, abs=0.5)


def test_searches_over_losses(data):
    found = GridSearchCV(regressor(), {"loss": ["gaussian", losses.Huber(1.0, 0.3)]}, cv=3)
    assert found.fit(data.X, data.y).best_score_ > 0.5


def test_the_model_has_the_loss(data):
    model, gp = regressor(loss="huber").fit(data.X, data.y).to_pymc()
    point = {"C": 2.0, "epsilon": 0.1, "eta": 1.0, "ls": 1.0}
    assert set(point) == {rv.name for rv in model.free_RVs}
    variance = gp.support_vectors(point, model=model).noise_variance
    assert variance == pytest.approx(losses.Huber(2.0, 0.1).variance())


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "error", "match"),
    [
        ("laplace", ValueError, "Laplace has no curvature, so that its laplace evidence is not"),
        (
            losses.EpsilonInsensitive(1.0, 0.1),
            ValueError,
            "EpsilonInsensitive has no curvature, so",
        ),
        ("hinge", ValueError, "'silf', 'huber', 'laplace', 'gaussian'.*but it is 'hinge'"),
        (losses.Logistic(), ValueError, "likelihood of regression, but it is Logistic"),
        (losses.Gaussian(np.ones(40)), ValueError, "Each parameter of the loss must be a number"),
        (0.3, TypeError, "name or an object of pymc_bsvm.losses, but it is 0.3"),
    ],
    ids=str,
)
def test_refused_noise(loss, error, match, data):
    with pytest.raises(error, match=match) as caught:
        regressor(loss=loss, approximation="laplace").fit(data.X, data.y)
    assert len(re.findall(r"\. [A-Z]", str(caught.value))) == 1


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        ("silf", "'trigonometric', 'logistic', 'probit'.*but it is 'silf'"),
        (losses.SoftMarginL1(1.0), "likelihood of classification, but it is SoftMarginL1"),
        (losses.Gaussian(1.0), "likelihood of classification, but it is Gaussian"),
    ],
    ids=str,
)
def test_refused_links(loss, match, data):
    with pytest.raises(ValueError, match=match):
        BayesianSVC(loss=loss).fit(data.X, data.labels)


def test_beta_is_for_silf_only(data):
    for loss in ("huber", losses.SILF(1.0, 0.1)):
        with pytest.raises(ValueError, match=r"beta is chosen for loss='silf' only"):
            regressor(loss=loss, beta=0.2).fit(data.X, data.y)
