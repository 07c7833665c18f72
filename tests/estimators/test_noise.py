"""The noise of a regressor's predictions, and the models that it chooses from."""

import warnings

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from pymc_bsvm.evidence import ContaminatedNoise, StudentNoise
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses import SILF
from tests.estimators import cases

pytestmark = cases.ANY_END


@pytest.fixture(scope="module")
def soiled():
    X, y = bsvm.datasets.sinc(150, noise="gaussian", sigma=0.1, outliers=0.1, random_state=2)
    X_new, y_new = bsvm.datasets.sinc(
        2000, noise="gaussian", sigma=0.1, outliers=0.1, random_state=3
    )
    return X, y, X_new, y_new


@pytest.fixture(scope="module")
def model(soiled):
    return BayesianSVR(random_state=0).fit(*soiled[:2])


def score(model, X, y):
    return model.log_predictive_density(X, y).mean()


def test_outliers_ask_for_a_share_that_is_wider(model, soiled):
    """Held out, too: by more than a tenth of a nat for each target; Student's t by less.

    The outliers of `sinc` are nine to one with a width of 0.1, and one: the ratio is 10.
    """
    assert isinstance(model.noise_, ContaminatedNoise)
    assert model.noise_.core.sigma == pytest.approx(0.1, rel=0.3)
    assert model.noise_.factor == pytest.approx(10.0, rel=0.5)
    student = BayesianSVR(noise="student", random_state=0).fit(*soiled[:2])
    assert isinstance(student.noise_, StudentNoise)
    assert score(model, *soiled[2:]) > score(student, *soiled[2:]) + 0.01
    of_loss = BayesianSVR(noise="loss", random_state=0).fit(*soiled[:2])
    assert isinstance(of_loss.noise_, SILF)
    assert score(model, *soiled[2:]) > score(of_loss, *soiled[2:]) + 0.1


def test_the_function_does_not_depend_on_the_noise(model, soiled):
    other = BayesianSVR(noise="loss", random_state=0).fit(*soiled[:2])
    np.testing.assert_array_equal(model.predict(soiled[2]), other.predict(soiled[2]))
    assert model.log_evidence_ == other.log_evidence_
    assert model.loss_ == other.loss_


def test_the_noise_may_be_that_of_the_evidence(model, soiled):
    kept = BayesianSVR(noise="model", random_state=0).fit(*soiled[:2])
    assert kept.noise_ == kept.loss_ == model.loss_ != model.noise_
    _, std = kept.predict(soiled[2][:5], return_std=True)
    assert np.all(std**2 > kept.loss_.variance())


def test_intervals_hold_what_they_say(model, soiled):
    low, high = model.predict_interval(soiled[2], coverage=0.9)
    inside = np.mean((low <= soiled[3]) & (soiled[3] <= high))
    assert inside == pytest.approx(0.9, abs=0.04)


def test_predictions_are_the_latent_values_plus_the_noise(model, soiled):
    X_new, y_new = soiled[2][:50], soiled[3][:50]
    machine, target = model._trained.machine, model._target
    mean, variance = machine.moments(model._scale(X_new))
    centre, unit = target.centre[0], target.spread[0]
    expected = RegressionPredictive(centre + unit * mean, unit**2 * variance, model.noise_)
    got = model.log_predictive_density(X_new, y_new)
    np.testing.assert_allclose(got, expected.logpdf(y_new), atol=1e-12)
    np.testing.assert_allclose(
        model.predict_quantiles(X_new, 0.1), expected.quantile(0.1), atol=1e-10
    )
    _, std = model.predict(X_new, return_std=True)
    np.testing.assert_allclose(std**2, expected.variance, rtol=1e-12)
    draws = model.sample_y(X_new[:1], 20_000)
    assert np.mean(draws < expected.quantile(0.1)[0]) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_noise_has_the_unit_of_the_targets(model, soiled, unit):
    X, y = soiled[:2]
    other = BayesianSVR(random_state=0).fit(X, unit * y)
    assert other.noise_.share == pytest.approx(model.noise_.share, rel=1e-2)
    assert other.noise_.factor == pytest.approx(model.noise_.factor, rel=1e-2)
    assert other.noise_.core.sigma == pytest.approx(unit * model.noise_.core.sigma, rel=1e-2)


def test_unknown_noise_is_refused_before_the_search():
    kinds = "'auto', 'loss', 'student', 'contaminated' or 'model', but it is 't'"
    with pytest.raises(ValueError, match=f"noise must be {kinds}"):
        BayesianSVR(noise="t").fit(np.zeros((5, 1)), np.arange(5.0))


# ---- what is chosen -----------------------------------------------------------------------------


def test_beta_is_the_one_with_the_higher_evidence():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (120, 1))
    for noise, beta in ((rng.uniform(-0.5, 0.5, 120), 0.3), (0.25 * rng.normal(size=120), 1.0)):
        y = np.sin(1.7 * X[:, 0]) + noise
        model = BayesianSVR(random_state=0).fit(X, y)
        choices = model.choices_
        assert model.beta_ == beta
        assert choices["beta"].tolist() == [1.0, 0.3]
        best = choices["log_evidence"].idxmax()
        assert choices["chosen"].tolist() == [k == best for k in range(2)]
        fixed = BayesianSVR(beta=beta, random_state=0).fit(X, y)
        assert model.log_evidence_ == pytest.approx(fixed.log_evidence_, abs=0.3)
        assert len(fixed.choices_) == 1


def columns(relevant, n=100):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    f = np.sin(2.0 * X[:, 0]) if relevant else np.tanh(X.sum(axis=1))
    return X, f, f + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("relevant", [True, False])
def test_length_scales_by_column_are_worth_a_nat_each(relevant):
    X, f, y = columns(relevant)
    for estimator, target in ((BayesianSVR, y), (BayesianSVC, f > 0.0)):
        model = estimator(ard="auto", random_state=0).fit(X, target)
        choices = model.choices_
        rival = choices[choices["kernel"] == "RBF(ard=True)"].iloc[0]
        first = choices.iloc[0]
        gain = rival["log_evidence"] - first["log_evidence"]
        extra = rival["hyperparameters"] - first["hyperparameters"]
        assert extra == 5
        chosen = choices.loc[choices["chosen"], "kernel"].item() == "RBF(ard=True)"
        assert chosen == (gain > 5.0) == relevant
        assert hasattr(model, "relevance_") == relevant


@pytest.mark.parametrize(("kernel", "rows"), [("matern32", 300), ("rbf", 600)])
def test_many_rows_are_chosen_for_by_some(kernel, rows):
    """By all of them where the kernel matrix has a low rank."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(600, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=600)
    model = BayesianSVR(kernel, ard="auto", random_state=0, tol=1.0).fit(X, y)
    assert model.choices_["rows"].tolist() == [rows] * 3
    assert model.n_features_in_ == model.relevance_.size == 2


@pytest.mark.parametrize("kernel", ["precomputed", "one column"])
def test_nothing_to_choose(kernel):
    X = np.linspace(-2.0, 2.0, 30)[:, None]
    y = np.sin(X[:, 0])
    if kernel == "precomputed":
        model = BayesianSVR(kernel, ard="auto", beta=0.3).fit(np.exp(-0.5 * (X - X.T) ** 2), y)
    else:
        model = BayesianSVR(ard="auto", beta=0.3).fit(X, y)
    assert len(model.choices_) == 1


def test_ard_is_true_or_false_or_auto():
    with pytest.raises(ValueError, match="ard must be True, False or 'auto', but it is 'yes'"):
        BayesianSVR(ard="yes").fit(np.zeros((5, 2)), np.arange(5.0))


# ---- tubes that hold all ------------------------------------------------------------------------


def bimodal(n, rng):
    X = rng.normal(size=(n, 6))
    p = 1.0 / (1.0 + np.exp(-(2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1])))
    return X, 2.0 * (rng.random(n) < p) + 0.3 * rng.normal(size=n)


def squashed(n, rng):
    X = rng.normal(size=(n, 6))
    f = np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1] + 1.2 * rng.normal(size=n)
    return X, 10.0 / (1.0 + np.exp(-1.5 * f))


@pytest.mark.parametrize(("draw", "gpr"), [(bimodal, 0.9247), (squashed, 2.8671)])
def test_a_mean_that_explains(draw, gpr):
    """Within 3 % of the error of scikit-learn's Gaussian process, measured on the same rows."""
    rng = np.random.default_rng(3)
    X, y = draw(500, rng)
    X_new, y_new = draw(2000, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = BayesianSVR(random_state=0).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2)) < 1.03 * gpr


def test_a_tube_that_holds_all_is_a_warning():
    X, y = squashed(500, np.random.default_rng(3))
    with pytest.warns(UserWarning, match=r"The tube holds \d+% of the targets, and the function"):
        model = BayesianSVR(max_epsilon=2.0, beta=0.3, random_state=0).fit(X, y)
    assert model.loss_.epsilon > 0.5 * y.std()
    assert model.score(X, y) < 0.5


def test_the_bound_of_epsilon_is_in_units_of_the_targets_spread():
    X, y = squashed(100, np.random.default_rng(3))
    model = BayesianSVR(max_epsilon=0.2, random_state=0).fit(X, y)
    assert model.loss_.epsilon <= 0.2 * y.std() * (1.0 + 1e-9)
    with pytest.raises(ValueError, match="max_epsilon"):
        BayesianSVR(max_epsilon=0.0).fit(X, y)
