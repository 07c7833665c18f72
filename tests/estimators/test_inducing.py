"""Machines on inducing points: what holds for them beside what holds for all estimators."""

import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from pymc_bsvm import losses
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, kernels, ladder
from pymc_bsvm.estimators.induced import InducedEvidence
from pymc_bsvm.evidence import ContaminatedNoise, StudentNoise
from pymc_bsvm.streamed.passes import Passes
from tests.estimators import cases

BOTH = pytest.mark.parametrize("kind", [BayesianSVR, BayesianSVC])


@cases.ANY_END
@parametrize_with_checks(
    [
        BayesianSVR(inducing=20, tol=1.0),
        BayesianSVC(inducing=20, loss="logistic", tol=1.0),
    ]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def curve(n, seed=0, noise="student"):
    """Return rows in the plane, the function there, and targets with noise of heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2)) * [3.0, 0.1]
    f = 4.0 * (np.sin(0.5 * X[:, 0]) + 3.0 * X[:, 1])
    e = 0.4 * rng.standard_t(3, size=n)
    if noise == "outliers":
        e = 0.4 * rng.normal(size=n) * np.where(rng.random(n) < 0.05, 10.0, 1.0)
    return X, f, 50.0 + f + e


def target(kind, X, y):
    return y if kind is BayesianSVR else np.where(y > 50.0 + X[:, 1], "yes", "no")


def fast(kind, **settings):
    return kind(**{"inducing": 25, "tol": 0.5, "random_state": 0, **settings})


@pytest.fixture(scope="module", autouse=True)
def low_ladder():
    """Let few rows be many, to be fast."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder, "_DENSE", 200)
        patch.setattr(ladder, "_FEW", (800, 40))
        patch.setattr(ladder, "_POINTS_OF_SEARCH", 50)
        yield


@pytest.fixture(scope="module")
def many():
    """Return more rows than the first search has."""
    return curve(2500)


@pytest.fixture(scope="module")
def fitted(many):
    X, _, y = many
    return BayesianSVR(inducing=60, random_state=0).fit(X[:2000], y[:2000])


# ---- the same as with all rows ------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["silf", "huber", "gaussian", losses.SILF(C=2.0, epsilon=0.2)])
def test_few_rows_have_the_same_posterior_as_a_whole_kernel_matrix(loss):
    """With as many points as the function has, nothing is lost."""
    X, _, y = curve(300)
    one = BayesianSVR(loss=loss, inducing=120, random_state=0, tol=1e-4).fit(X, y)
    two = BayesianSVR(loss=loss, tol=1e-4).fit(X, y)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, abs=0.05)
    for ours, theirs in zip(*(m.predict(X, return_std=True) for m in (one, two)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.03 * y.std())
    assert one.support_.size == pytest.approx(two.support_.size, abs=6)
    for name, value in two.hyperparameters_[0].items():
        np.testing.assert_allclose(one.hyperparameters_[0][name], value, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("loss", ["trigonometric", "logistic", "probit"])
def test_classes_are_those_of_a_whole_kernel_matrix(loss):
    X, _, y = curve(300)
    labels = target(BayesianSVC, X, y)
    one = BayesianSVC(loss=loss, inducing=150, random_state=0, tol=1e-4).fit(X, labels)
    two = BayesianSVC(loss=loss, approximation="laplace", tol=1e-4).fit(X, labels)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, abs=0.3)
    assert one.sharpness_ == pytest.approx(two.sharpness_, rel=0.1)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0.03)


def test_several_classes():
    X, y = cases.three_classes(150)
    model = fast(BayesianSVC, loss="logistic").fit(X, y)
    assert model.score(X, y) > 0.8
    assert [Z.shape for Z in model.inducing_points_] == [(25, 2)] * 3
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.dual_coef_.shape == (3, model.support_.size)


@BOTH
def test_weights_are_repetitions(kind):
    X, _, y = curve(200)
    times = np.random.default_rng(1).integers(0, 4, size=200)
    chosen = np.repeat(np.arange(200), times)
    settings = {"inducing": 60, "tol": 1e-4, "loss": "huber" if kind is BayesianSVR else "logistic"}
    y = target(kind, X, y)
    weighted = fast(kind, **settings).fit(X, y, sample_weight=times)
    repeated = fast(kind, **settings).fit(X[chosen], y[chosen])
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=0.1)
    if kind is BayesianSVR:
        np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=0.1)
    else:
        assert (weighted.predict(X) == repeated.predict(X)).mean() > 0.99


def test_class_weights_are_weights_of_rows():
    X, _, y = curve(200)
    labels = target(BayesianSVC, X, y)
    by_class = fast(BayesianSVC, loss="logistic", class_weight={"yes": 2.0}).fit(X, labels)
    by_row = fast(BayesianSVC, loss="logistic").fit(X, labels, 1.0 + (labels == "yes"))
    assert by_class.log_evidence_ == by_row.log_evidence_


# ---- many rows ----------------------------------------------------------------------------------


def test_the_function_is_found(fitted, many):
    X, f, _ = many
    error = fitted.predict(X[2000:]) - 50.0 - f[2000:]
    assert np.sqrt(np.mean(error**2)) < 0.08
    assert fitted.converged_
    assert fitted.gap_ < 1e-5
    assert fitted.inducing_points_.shape[0] <= 60
    low, high = X.min(axis=0), X.max(axis=0)
    assert ((fitted.inducing_points_ >= low) & (fitted.inducing_points_ <= high)).all()


def test_support_vectors_are_those_whose_dual_is_not_zero(fitted, many):
    X, _, y = many
    residual = y[:2000] - fitted._means(fitted._rows(X[:2000])) + fitted.noise_.mean()
    epsilon, beta = fitted.hyperparameters_[0]["epsilon"], fitted.beta_
    outside = np.flatnonzero(np.abs(residual) > (1.0 - beta) * epsilon)
    assert np.isin(fitted.support_, outside).mean() > 0.999
    assert fitted.dual_coef_.shape == fitted.support_.shape == fitted.free_.shape
    assert np.abs(fitted.dual_coef_).max() <= fitted.hyperparameters_[0]["C"] * (1.0 + 1e-9)
    assert (np.sign(fitted.dual_coef_) == np.sign(residual[fitted.support_])).mean() > 0.999


@pytest.mark.parametrize(
    ("noise", "family"), [("student", StudentNoise), ("outliers", ContaminatedNoise)]
)
def test_intervals_hold_what_they_say(noise, family):
    """Up to three standard errors: the noise is known from 2000 rows, to one percent."""
    X, _, y = curve(6000, seed=5, noise=noise)
    model = BayesianSVR(inducing=60, random_state=0, tol=0.1).fit(X[:2000], y[:2000])
    assert isinstance(model.noise_, family)
    low, high = model.predict_interval(X[2000:])
    assert np.mean((low <= y[2000:]) & (y[2000:] <= high)) == pytest.approx(0.9, abs=0.03)


def test_intervals_of_friedman1_with_outliers_hold_what_they_say():
    """Student's t holds more and has less density; 4000 new rows leave 0.5 %, the noise 1 %."""
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(6000, 5))
    f = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20.0 * (X[:, 2] - 0.5) ** 2
    f += 10.0 * X[:, 3] + 5.0 * X[:, 4]
    y = f + rng.normal(size=6000) * np.where(rng.random(6000) < 0.05, 10.0, 1.0)
    model = BayesianSVR(inducing=100, random_state=0, tol=0.1).fit(X[:2000], y[:2000])
    assert isinstance(model.noise_, ContaminatedNoise)
    assert model.noise_.core.sigma == pytest.approx(1.0, rel=0.1)
    assert model.noise_.share == pytest.approx(0.05, abs=0.02)
    assert model.noise_.factor == pytest.approx(10.0, rel=0.3)
    low, high = model.predict_interval(X[2000:])
    assert 0.88 <= np.mean((low <= y[2000:]) & (y[2000:] <= high)) <= 0.92
    by_mixture = model.log_predictive_density(X[2000:], y[2000:]).mean()
    again = pickle.loads(pickle.dumps(model))
    assert again.log_predictive_density(X[2000:2010], y[2000:2010]) == pytest.approx(
        model.log_predictive_density(X[2000:2010], y[2000:2010])
    )
    model.set_params(noise="student").fit(X[:2000], y[:2000])
    low, high = model.predict_interval(X[2000:])
    assert np.mean((low <= y[2000:]) & (y[2000:] <= high)) > 0.92
    assert by_mixture > model.log_predictive_density(X[2000:], y[2000:]).mean() + 0.02


def test_error_bars_of_the_function_widen_away_from_the_data(fitted):
    here, there = np.array([[0.0, 0.0]]), np.array([[60.0, 2.0]])
    (_, near), (_, far) = (fitted._trained.machine.moments(fitted._scale(x)) for x in (here, there))
    prior = fitted._trained.machine.named["eta"] ** 2
    assert near < 1e-2 * prior
    assert far > prior


def test_draws_of_targets(fitted, many):
    X = many[0][:4]
    draws = fitted.sample_y(X, 3000, random_state=1)
    mean, _ = fitted.predict(X, return_std=True)
    np.testing.assert_allclose(np.median(draws, axis=1), mean, atol=0.05)


def test_a_share_of_the_rows_tells_of_the_noise(many, monkeypatch):
    X, _, y = many
    monkeypatch.setattr(ladder, "_OF_NOISE", 1200)
    model = fast(BayesianSVR).fit(X, y)
    assert model.noise_.nu == pytest.approx(3.0, abs=1.0)


def test_search_goes_on_from_a_share_to_all_rows(many, monkeypatch):
    X, _, y = many
    monkeypatch.setattr(ladder, "_ROWS_OF_SEARCH", 1500)
    some = fast(BayesianSVR, tol=0.01).fit(X, y)
    monkeypatch.setattr(ladder, "_ROWS_OF_SEARCH", 50_000)
    whole = fast(BayesianSVR, tol=0.01).fit(X, y)
    assert some.log_evidence_ == pytest.approx(whole.log_evidence_, abs=3.0)


def test_irrelevant_columns():
    X, _, y = curve(1500, seed=2)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=1500)])
    model = fast(BayesianSVR, ard="auto", inducing=60).fit(X, y)
    assert model.choices_.kernel.str.contains("True").any()
    assert model.relevance_[2] < 0.1 * model.relevance_.max()
    assert model.relevance_[2] < model.relevance_[:2].min()


def test_an_interruption_on_all_rows_keeps_the_best(many, monkeypatch):
    X, _, y = many
    evaluate = InducedEvidence.__call__

    def interrupted(self, x):
        if self.n == 2500 and self.evaluations == 1:
            raise KeyboardInterrupt
        return evaluate(self, x)

    monkeypatch.setattr(InducedEvidence, "__call__", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = fast(BayesianSVR, tol=1e-6).fit(X, y)
    assert not model.converged_
    assert model.support_.max() > 2000


def test_an_interruption_before_all_rows_is_raised(many, monkeypatch):
    X, _, y = many

    def interrupted(self, x):
        raise KeyboardInterrupt

    monkeypatch.setattr(InducedEvidence, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fast(BayesianSVR).fit(X, y)


def test_all_rows_are_passed_over_few_times(many, monkeypatch):
    X, _, y = many
    taken = []
    run = Passes.run

    def counted(self, *arguments, **settings):
        taken.append(self.rows.n)
        return run(self, *arguments, **settings)

    monkeypatch.setattr(Passes, "run", counted)
    BayesianSVR(inducing=60, ard=True, random_state=0).fit(X, y)
    assert len(taken) < 1500
    assert taken.count(len(X)) < 100


# ---- how many points ----------------------------------------------------------------------------


def test_auto_is_the_whole_kernel_matrix_of_few_rows():
    X, _, y = curve(150)
    auto, dense = (
        BayesianSVR(inducing=i, tol=0.5, random_state=0).fit(X, y) for i in ("auto", None)
    )
    assert auto.log_evidence_ == dense.log_evidence_
    assert not hasattr(auto, "inducing_points_")
    assert hasattr(auto, "support_vectors_")


def test_auto_says_how_many_points_are_enough(many):
    X, _, y = many
    model = BayesianSVR(inducing="auto", random_state=0, tol=0.1).fit(X, y)
    tried = model.choices_.dropna(subset="points")
    assert tried.points.iloc[0] <= 125
    assert len(model.inducing_points_) <= 250
    assert (tried.log_evidence.diff().dropna() > -1.0).all()


def test_a_kernel_of_few_functions_needs_few_points():
    X, _, y = curve(400)
    model = fast(BayesianSVR, kernel="linear", inducing=60).fit(X, y)
    dense = BayesianSVR(kernel="linear", tol=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict(X), dense.predict(X), atol=0.05)


# ---- blocks -------------------------------------------------------------------------------------


@BOTH
def test_blocks_are_as_good_as_arrays(kind, many):
    X, _, y = many
    y = target(kind, X, y)

    def blocks():
        for start in range(0, 2500, 700):
            yield X[start : start + 700], y[start : start + 700]

    settings = {"loss": "logistic", "class_weight": "balanced"} if kind is BayesianSVC else {}
    settings["tol"] = 0.1  # by rounding, a rougher search may end nats apart
    one, two = fast(kind, **settings).fit(blocks), fast(kind, **settings).fit(X, y)
    assert one.log_evidence_ == pytest.approx(two.log_evidence_, rel=1e-3)
    assert one.n_features_in_ == 2
    np.testing.assert_array_equal(one.support_.shape, two.support_.shape)


def test_no_copy_of_the_rows(many):
    X, _, y = many
    model = fast(BayesianSVR).fit(X, y)
    content = pickle.dumps(model)
    held = sum(np.float64(value).tobytes() in content for value in X[:500, 0])
    assert held < 20
    copy = pickle.loads(content)
    np.testing.assert_array_equal(copy.predict(X[:9]), model.predict(X[:9]))
    assert copy.datatree_["posterior"]["C"].item() == model._trained.machine.named["C"]


# ---- misuse -------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("value", [0, -3, 2.5, "many", True])
def test_a_number_of_points_is_an_integer(kind, value):
    X, _, y = curve(30)
    with cases.refused(ValueError, "inducing", repr(value)):
        kind(inducing=value).fit(X, target(kind, X, y))


@BOTH
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "precomputed"}, ("Gram matrix", "inducing=None")),
        ({"kernel": kernels.Precomputed()}, ("Gram matrix", "Pass the kernel")),
        ({"full_bayes": True}, ("full_bayes=True", "inducing=None")),
        ({"approximation": "exact"}, ("expectation propagation", "'exact'", "inducing=None")),
    ],
    ids=str,
)
def test_what_does_not_go_with_inducing_points(kind, settings, words):
    X, _, y = curve(30)
    with cases.refused(ValueError, *words):
        kind(inducing=10, **settings).fit(X @ X.T, target(kind, X, y))


def test_a_kink_is_refused():
    X, _, y = curve(30)
    with cases.refused(ValueError, "kink", "approximation='ep'", "loss='silf'"):
        BayesianSVR(inducing=10, loss="laplace").fit(X, y)


def test_there_is_no_model_of_pymc(fitted):
    with cases.refused(ValueError, "2000 rows", "inducing=None"):
        fitted.to_pymc()


def test_blocks_take_inducing_points():
    X, _, y = curve(30)
    with cases.refused(ValueError, "block by block", "inducing='auto'"):
        BayesianSVR().fit(lambda: iter([(X, y)]))


def test_noise_of_the_best_student(many, fitted):
    """The noise that was fitted is that which the residuals from the function would have."""
    _, f, y = many
    nu, _, scale = stats.t.fit((y - 50.0 - f)[:2000], floc=0.0)
    assert fitted.noise_.nu == pytest.approx(nu, rel=0.1)
    assert fitted.noise_.scale == pytest.approx(scale, rel=0.05)
