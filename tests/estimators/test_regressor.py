"""`BayesianSVR` in the units of the data, against dense matrices and integration."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from sklearn.exceptions import ConvergenceWarning

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import BayesianSVR, kernels
from pymc_bsvm.estimators.likelihood import betas_of
from pymc_bsvm.losses import SILF
from tests.estimators import cases

pytestmark = cases.ANY_END


# Covariances of rows X with Z as hyperparameters in the units of the data say.
OF_DATA = {
    "rbf": (lambda X, Z, m, h: cases.rbf(X, Z, h["eta"], h["ls"]), "rbf", False),
    "rbf ard": (lambda X, Z, m, h: cases.rbf(X, Z, h["eta"], h["ls"]), "rbf", True),
    "matern32": (lambda X, Z, m, h: cases.matern32(X, Z, h["eta"], h["ls"]), "matern32", False),
    "matern52 ard": (lambda X, Z, m, h: cases.matern52(X, Z, h["eta"], h["ls"]), "matern52", True),
    "poly": (lambda X, Z, m, h: cases.cubic(X - m, Z - m, h["eta"], h["ls"]), "poly", False),
    "periodic": (
        lambda X, Z, m, h: cases.periodic(X, Z, h["eta"], h["period"], h["ls"]),
        "periodic",
        False,
    ),
    "periodic ard": (
        lambda X, Z, m, h: cases.periodic(X, Z, h["eta"], h["period"], h["ls"]),
        "periodic",
        True,
    ),
    "linear ard": (lambda X, Z, m, h: cases.linear(X - m, Z - m, h["ls"]), "linear", True),
    "sum": (
        lambda X, Z, m, h: (
            cases.rbf(X, Z, h["eta"], h["ls"]) + cases.matern32(X, Z, h["eta_2"], h["ls_2"])
        ),
        kernels.RBF() + kernels.Matern32(),
        False,
    ),
}


@pytest.fixture(scope="module")
def data():
    return cases.plane(40)


@pytest.fixture(scope="module")
def model(data):
    return fitted(data)


def fitted(data, weight=None, **kwargs):
    return BayesianSVR(**{"tol": 1.0, **kwargs}).fit(data.X, data.y, sample_weight=weight)


def dense(data, h, cov, new, beta):
    """Return log evidence, mean and covariance of the function from hyperparameters of the data."""
    m, offset = data.X.mean(axis=0), 100.0 * data.y.var()
    loss = SILF(h["C"], h["epsilon"], beta)
    K = cov(data.X, data.X, m, h) + offset
    y = data.y - data.y.mean()
    evidence = bsvm.laplace_evidence(K, y, loss)
    cross, prior = cov(data.X, new, m, h) + offset, cov(new, new, m, h) + offset
    mean, covariance = cases.moments(K, y, loss, cross, prior)
    return evidence.log_evidence, mean + data.y.mean(), covariance


# ---- the units of the data ----------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_DATA)
def test_hyperparameters_are_in_the_units_of_the_data(name, data):
    """They say by themselves what the evidence and the predictions are."""
    cov, kernel, ard = OF_DATA[name]
    model = fitted(data, kernel=kernel, ard=ard)
    evidence, mean, covariance = dense(data, model.hyperparameters_[0], cov, data.new, model.beta_)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    got, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(got, mean, rtol=1e-6)
    np.testing.assert_allclose(std**2, np.diag(covariance) + model.noise_.variance(), rtol=1e-5)
    np.testing.assert_allclose(model.predict(data.new), got, rtol=1e-12)


def test_hyperparameters_of_a_linear_function(data):
    """Their slopes have the standard deviation eta, in units of y by units of each column."""
    model = fitted(data, kernel="linear")
    eta = np.broadcast_to(model.hyperparameters_[0]["eta"], 2)
    m = data.X.mean(axis=0)
    evidence, *_ = dense(
        data,
        model.hyperparameters_[0],
        lambda X, Z, *_: cases.linear(X - m, Z - m, 1.0 / eta),
        data.new,
        model.beta_,
    )
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)


def test_two_kernels_with_scales_for_each_column(data):
    model = fitted(data, kernel=kernels.RBF(ard=True) + kernels.Matern32(ard=True))
    assert np.isfinite(model.predict(data.new)).all()
    assert set(model.hyperparameters_[0]) == {"C", "epsilon", "eta", "ls", "eta_2", "ls_2"}
    assert model.hyperparameters_[0]["ls_2"].shape == (2,)


def test_two_kernels_of_which_one_has_scales_for_each_column(data):
    """The one length-scale, in two units, and the two of the other are four numbers."""
    model = fitted(data, kernel=kernels.RBF() + kernels.RBF(ard=True), tol=1.0)
    values, h = model._trained.machine.named, model.hyperparameters_[0]
    spread = data.X.std(axis=0)
    np.testing.assert_allclose(h["ls"], values["ls"] * spread, rtol=1e-12)
    expected = [values["ls[0]_2"], values["ls[1]_2"]] * spread
    np.testing.assert_allclose(h["ls_2"], expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "linear"])
def test_units_of_the_targets_do_not_matter(kernel, data, model):
    one = fitted(data, kernel=kernel)
    moved = data._replace(y=1000.0 * data.y + 7.0)
    other = fitted(moved, kernel=kernel)
    shift = -data.y.size * np.log(1000.0)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ + shift, abs=1e-3)
    mean, std = one.predict(data.new, return_std=True)
    got = other.predict(data.new, return_std=True)
    np.testing.assert_allclose(got[0], 1000.0 * mean + 7.0, rtol=1e-4)
    np.testing.assert_allclose(got[1], 1000.0 * std, rtol=1e-3)
    a, b = one.hyperparameters_[0], other.hyperparameters_[0]
    assert b["C"] == pytest.approx(a["C"] / 1000.0, rel=1e-2)
    assert b["epsilon"] == pytest.approx(1000.0 * a["epsilon"], rel=1e-2)
    assert b["eta"] == pytest.approx(1000.0 * a["eta"], rel=1e-2)
    np.testing.assert_array_equal(other.support_, one.support_)
    density = one.log_predictive_density(data.X, data.y)
    moved_density = other.log_predictive_density(moved.X, moved.y)
    np.testing.assert_allclose(moved_density, density - np.log(1000.0), rtol=1e-3, atol=1e-3)


def test_units_of_the_inputs_do_not_matter(data, model):
    factor, shift = np.array([1e4, 1e-3]), np.array([-3.0, 5.0])
    other = fitted(data._replace(X=factor * data.X + shift))
    assert other.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(
        other.predict(factor * data.new + shift), model.predict(data.new), rtol=1e-4
    )
    np.testing.assert_allclose(
        other.hyperparameters_[0]["ls"], factor * model.hyperparameters_[0]["ls"], rtol=1e-2
    )


def test_without_standardisation(data):
    """What comes in standardised gives the same machine."""
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    y = (data.y - data.y.mean()) / data.y.std()
    inside = fitted(data)
    outside = BayesianSVR(standardize=False, tol=1.0).fit(X, y)
    shift = y.size * np.log(data.y.std())
    assert outside.log_evidence_ - shift == pytest.approx(inside.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(
        data.y.mean() + data.y.std() * outside.predict(X), inside.predict(data.X), rtol=1e-4
    )


# ---- the machine --------------------------------------------------------------------------------


def test_support_vectors_carry_the_function(data, model):
    h = model.hyperparameters_[0]
    K = cases.rbf(data.new, model.support_vectors_, h["eta"], h["ls"]) + 100.0 * data.y.var()
    np.testing.assert_allclose(
        K @ model.dual_coef_ + data.y.mean(), model.predict(data.new), rtol=1e-9
    )
    np.testing.assert_array_equal(model.support_vectors_, data.X[model.support_])
    assert model.dual_coef_.shape == model.free_.shape == model.support_.shape
    assert (np.abs(model.dual_coef_) <= h["C"] * (1.0 + 1e-9)).all()
    inside = np.abs(model.dual_coef_) < h["C"] * (1.0 - 1e-6)
    np.testing.assert_array_equal(model.free_, inside)
    residual = np.abs(data.y - model.predict(data.X))
    others = np.setdiff1d(np.arange(data.y.size), model.support_)
    assert (residual[others] <= 0.7 * h["epsilon"] * (1.0 + 1e-6)).all()


def test_attributes(data):
    model = BayesianSVR(restarts=3, random_state=0, tol=1.0).fit(data.X, data.y)
    assert len(model.restarts_) >= 3
    assert (np.diff(model.restarts_["objective"]) <= 1e-9).all()
    assert abs(model.gap_) < 1e-8
    assert model.n_iter_ == model.restarts_["evaluations"].iloc[0] > 0
    assert model.converged_ == (model.restarts_["ending"].iloc[0] == "converged")
    posterior = model.datatree_["posterior"]
    assert set(posterior.data_vars) == {"C", "epsilon", "eta", "ls"}
    assert float(posterior["C"].item()) == pytest.approx(
        model.hyperparameters_[0]["C"] * data.y.std(), rel=1e-12
    )
    stats = model.datatree_["sample_stats"]
    assert stats["n_support"].item() == model.support_.size
    assert not hasattr(model, "relevance_")


def test_outliers_do_little_harm():
    data = cases.line(60, seed=0)
    wild = data.y.copy()
    wild[[7, 23, 41]] += 40.0
    clean, robust = fitted(data), fitted(data._replace(y=wild))
    truth = np.sin(data.X[:, 0])
    error = np.sqrt(np.mean((robust.predict(data.X) - truth) ** 2))
    assert error < 0.15
    assert error < 2.0 * np.sqrt(np.mean((clean.predict(data.X) - truth) ** 2))


def test_relevance_is_the_spread_by_the_length_scale(data):
    for standardize in (True, False):
        X = data.X if standardize else (data.X - data.X.mean(axis=0)) * [0.3, 20.0]
        y = data.y if standardize else (data.y - data.y.mean()) / data.y.std()
        model = BayesianSVR(ard=True, standardize=standardize, tol=1.0).fit(X, y)
        expected = X.std(axis=0) / model.hyperparameters_[0]["ls"]
        np.testing.assert_allclose(model.relevance_, expected, rtol=1e-9)
        np.testing.assert_allclose(model.feature_importances_, expected / expected.sum(), rtol=1e-9)


def test_a_constant_column_is_not_relevant(data):
    X = np.column_stack([data.X, np.full(40, 5.0)])
    model = BayesianSVR(ard=True, tol=1.0).fit(X, data.y)
    assert model.relevance_[2] == 0.0
    assert model.feature_importances_[2] == 0.0


def test_relevance_grows_with_what_a_column_says():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4)) * [1.0, 100.0, 0.01, 5.0]
    y = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] / 100.0 + 0.1 * rng.normal(size=80)
    r = BayesianSVR(ard=True, restarts=2, random_state=0).fit(X, y).feature_importances_
    assert r[0] > r[1] > 3.0 * max(r[2], r[3])
    assert r.sum() == pytest.approx(1.0)


def test_relevances_of_an_earlier_fit_are_forgotten(data):
    model = fitted(data, ard=True)
    assert model.relevance_.shape == model.feature_importances_.shape == (2,)
    model.set_params(ard=False).fit(data.X, data.y)
    assert not hasattr(model, "relevance_")
    assert not hasattr(model, "feature_importances_")


# ---- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_whole_weights_are_repeated_rows(kernel, data):
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = np.repeat(np.arange(40), counts)
    one = BayesianSVR(kernel, tol=1.0).fit(data.X, data.y, sample_weight=counts)
    many = BayesianSVR(kernel, tol=1.0).fit(data.X[repeated], data.y[repeated])
    assert one.log_evidence_ == pytest.approx(many.log_evidence_, abs=1e-2)
    a, b = (m.predict(data.new, return_std=True) for m in (one, many))
    np.testing.assert_allclose(a[0], b[0], rtol=1e-3)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-2)
    np.testing.assert_array_equal(np.unique(repeated[many.support_]), one.support_)


def test_rows_of_weight_zero_are_left_out(data):
    weight = np.ones(40)
    weight[:10] = 0.0
    y = data.y.copy()
    y[:10] = 1e6
    one = BayesianSVR(tol=1.0).fit(data.X, y, sample_weight=weight)
    other = BayesianSVR(tol=1.0).fit(data.X[10:], data.y[10:])
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, rel=1e-9)
    np.testing.assert_allclose(one.predict(data.new), other.predict(data.new), rtol=1e-9)
    np.testing.assert_array_equal(one.support_, other.support_ + 10)
    np.testing.assert_array_equal(one.support_vectors_, data.X[one.support_])


def test_rows_of_weight_zero_do_not_make_the_data_large(data):
    """From 2000 rows on, the loss bends less; those that do not count are not among them."""
    X, y = np.tile(data.X, (50, 1)), np.tile(data.y, 50)
    weight = np.zeros(2000)
    weight[:40] = 1.0
    model = fitted(data._replace(X=X, y=y), weight, beta="papers")
    assert model.beta_ == 0.3
    alone = fitted(data, beta="papers")
    assert model.log_evidence_ == pytest.approx(alone.log_evidence_, rel=1e-9)
    np.testing.assert_array_equal(model.support_, alone.support_)


# ---- precomputed --------------------------------------------------------------------------------


def gram(X, Z):
    return cases.rbf(X, Z, 1.0, np.array([3.0, 0.1]))


@pytest.mark.parametrize("kernel", ["precomputed", kernels.Precomputed()])
def test_precomputed_is_the_kernel_inside(kernel, data):
    settings = {"standardize": False, "tol": 0.5}
    y = (data.y - data.y.mean()) / data.y.std()
    inside = BayesianSVR(gram, **settings).fit(data.X, y)
    outside = BayesianSVR(kernel, **settings).fit(gram(data.X, data.X), y)
    assert outside.log_evidence_ == pytest.approx(inside.log_evidence_, abs=1e-6)
    assert outside.hyperparameters_[0]["eta"] == pytest.approx(
        inside.hyperparameters_[0]["eta"], rel=1e-4
    )
    cross = gram(data.new, data.X)
    np.testing.assert_allclose(
        outside.predict(cross, return_std=True),
        inside.predict(data.new, return_std=True),
        rtol=1e-4,
    )


@pytest.mark.parametrize("kernel", ["precomputed", kernels.Precomputed()])
def test_a_gram_matrix_is_not_standardised(kernel, data):
    K = gram(data.X, data.X)
    inside = BayesianSVR(gram, standardize=False, tol=0.5)
    y = (data.y - data.y.mean()) / data.y.std()
    model = BayesianSVR(kernel, tol=0.5).fit(K, data.y)
    expected = inside.fit(data.X, y).log_evidence_ - 40 * np.log(data.y.std())
    assert model.log_evidence_ == pytest.approx(expected, abs=1e-6)


def test_precomputed_with_rows_of_weight_zero(data):
    weight = np.ones(40)
    weight[[0, 3, 4, 11]] = 0.0
    kept = weight > 0.0
    K, cross = gram(data.X, data.X), gram(data.new, data.X)
    one = BayesianSVR("precomputed", tol=1.0).fit(K, data.y, sample_weight=weight)
    other = BayesianSVR("precomputed", tol=1.0).fit(K[np.ix_(kept, kept)], data.y[kept])
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, rel=1e-9)
    np.testing.assert_allclose(
        one.predict(cross, return_std=True),
        other.predict(cross[:, kept], return_std=True),
        rtol=1e-9,
    )


# ---- the predictive distribution ----------------------------------------------------------------


def test_density_integrates_to_one(data, model):
    t = np.linspace(-200.0, 300.0, 50_001)
    for row in data.new[:3]:
        density = np.exp(model.log_predictive_density(np.tile(row, (t.size, 1)), t))
        assert np.trapezoid(density, t) == pytest.approx(1.0, abs=1e-6)
        mean = np.trapezoid(density * t, t)
        variance = np.trapezoid(density * (t - mean) ** 2, t)
        expected = model.predict(row[None], return_std=True)
        assert mean == pytest.approx(expected[0][0], rel=1e-6)
        assert variance == pytest.approx(expected[1][0] ** 2, rel=1e-5)
        below = cumulative_trapezoid(density, t, initial=0.0)
        for u in (0.05, 0.5, 0.9):
            quantile = model.predict_quantiles(row[None], u)[0]
            assert np.interp(quantile, t, below) == pytest.approx(u, abs=1e-4)


def test_shapes_of_quantiles(data, model):
    one = model.predict_quantiles(data.new, 0.3)
    several = model.predict_quantiles(data.new, [0.1, 0.3, 0.5])
    assert one.shape == (9,)
    assert several.shape == (9, 3)
    np.testing.assert_allclose(several[:, 1], one, rtol=1e-12)
    np.testing.assert_allclose(several[:, 2], model.predict(data.new), rtol=1e-9)
    assert (np.diff(several, axis=1) > 0.0).all()


def test_intervals(data, model):
    low, high = model.predict_interval(data.new, coverage=0.8)
    np.testing.assert_allclose(low, model.predict_quantiles(data.new, 0.1), rtol=1e-12)
    np.testing.assert_allclose(high, model.predict_quantiles(data.new, 0.9), rtol=1e-12)


def test_several_intervals_in_one_call(data, model):
    several = model.predict_interval(data.new, [0.5, 0.8])
    for k, coverage in enumerate((0.5, 0.8)):
        one = model.predict_interval(data.new, coverage)
        for ends, end in zip(several, one, strict=True):
            assert ends.shape == (9, 2)
            np.testing.assert_allclose(ends[:, k], end, rtol=1e-12)


def test_intervals_cover():
    """On data from the model's own kind, as often as they say, on average over four fits."""
    shares = []
    for seed in range(7, 11):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-3.0, 3.0, (1120, 1))
        y = np.sin(2.0 * X[:, 0]) + rng.laplace(scale=0.2, size=1120)
        model = BayesianSVR().fit(X[:120], y[:120])
        ends = [model.predict_interval(X[120:], coverage) for coverage in (0.5, 0.9)]
        shares.append([np.mean((a <= y[120:]) & (y[120:] <= b)) for a, b in ends])
    assert (np.abs(np.mean(shares, axis=0) - [0.5, 0.9]) < [0.08, 0.04]).all()


def test_draws_have_the_moments_of_the_predictions(data):
    model = fitted(data, noise="loss")
    new = np.vstack([data.new[:3], data.new[:1] + np.array([0.3, 0.01])])
    draws = model.sample_y(new, n_samples=8000, random_state=1)
    assert draws.shape == (4, 8000)
    mean, std = model.predict(new, return_std=True)
    tolerance = 5.0 * std / np.sqrt(8000)
    assert (np.abs(draws.mean(axis=1) - mean) < tolerance).all()
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.05)
    cov = OF_DATA["rbf"][0]
    _, _, covariance = dense(data, model.hyperparameters_[0], cov, new, model.beta_)
    expected = covariance + model.noise_.variance() * np.eye(4)
    np.testing.assert_allclose(np.cov(draws), expected, atol=0.06 * expected.max())
    assert expected[0, 3] > 0.3 * covariance[0, 0]
    for k, u in ((0, 0.1), (1, 0.5), (2, 0.9)):
        quantile = model.predict_quantiles(new, u)[k]
        assert np.mean(draws[k] < quantile) == pytest.approx(u, abs=5.0 * np.sqrt(0.25 / 8000))


def test_draws_are_reproducible(data, model):
    one, two = (model.sample_y(data.new, 3, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, model.sample_y(data.new, 3, random_state=6))
    state = np.random.RandomState(0)
    assert not np.allclose(*(model.sample_y(data.new, 1, random_state=state) for _ in range(2)))


def test_draws_at_many_near_rows(model, data):
    """Their covariance is singular to rounding, which is no reason for a warning."""
    new = np.linspace(data.X.min(axis=0), data.X.max(axis=0), 150)
    assert np.isfinite(model.sample_y(new, 2)).all()


def test_error_bars_grow_away_from_the_data():
    data = cases.line(60)
    model = BayesianSVR(tol=1.0).fit(data.X, data.y)
    _, std = model.predict(np.array([[0.0], [6.0], [30.0]]), return_std=True)
    assert std[0] < std[1] < std[2]
    h = model.hyperparameters_[0]
    assert std[2] > h["eta"] > 0.0
    assert std[2] > 2.0 * std[0]


# ---- beta ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "beta"), [(1, 0.3), (1999, 0.3), (2000, 0.1), (4000, 0.1), (4001, 0.05)]
)
def test_schedule_of_beta(n, beta):
    assert betas_of("papers", n) == (beta,)
    assert betas_of("auto", n) == betas_of("evidence", n) == (beta, 1.0)


def test_beta_is_that_of_the_loss(data):
    model = fitted(data, beta=0.7)
    assert model.beta_ == 0.7
    cov = OF_DATA["rbf"][0]
    evidence, *_ = dense(data, model.hyperparameters_[0], cov, data.new, beta=0.7)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    assert fitted(data, beta="papers").beta_ == 0.3


# ---- few rows and plain ones --------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "matern32"])
def test_few_rows(n, kernel, data):
    model = BayesianSVR(kernel).fit(data.X[:n], data.y[:n])
    mean, std = model.predict(data.X[:n], return_std=True)
    assert (np.abs(mean - data.y[:n]) < np.ptp(data.y) + 1e-9).all()
    assert (std > 0.0).all()
    low, high = model.predict_interval(data.new)
    assert (low < high).all()


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "matern52"])
def test_constant_targets(kernel, offset, data):
    model = BayesianSVR(kernel, offset=offset, beta="papers").fit(data.X, np.full(40, 3.0))
    np.testing.assert_allclose(model.predict(data.new), 3.0, atol=1e-6)
    mean, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(mean, 3.0, atol=1e-6)
    assert np.isfinite(std).all()
    assert model.sample_y(data.new, 2).shape == (9, 2)
    assert model.support_.size == 0
    assert model.support_vectors_.shape == (0, 2)


@pytest.mark.parametrize("value", [7.0, -2e6, 3e-9])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_error_bars_of_constant_targets(kernel, value, data):
    """Half of the digits far from the rows, nearly all of them at the rows."""
    model = BayesianSVR(kernel).fit(data.X, np.full(40, value))
    mean, std = model.predict(data.X, return_std=True)
    np.testing.assert_allclose(mean, value, rtol=1e-7)
    assert (std < 1e-9 * abs(value)).all()
    assert (std > 2.0 * np.finfo(float).eps * abs(value)).all()
    far = model.predict(data.X[:1] + 1e3, return_std=True)[1]
    assert far[0] < 1e-4 * abs(value)
    assert np.isfinite(model.log_predictive_density(data.X[:2], [value, 2.0 * value])).all()
    low, high = model.predict_interval(data.X)
    assert (low < high).all()
    assert model.sample_y(data.X, 3).std() < 1e-9 * abs(value)


@pytest.mark.parametrize("pair", [(3.0, 5.0), (-1e4, 1e4), (1.0, 1.001)])
def test_error_bars_of_two_rows(pair, data):
    """Of the order of the targets' standard deviation, near the rows and far from them."""
    model, sd = BayesianSVR().fit(data.X[:2], pair), np.std(pair)
    for X in (data.X[:2], data.X[:1] + 1e3):
        std = model.predict(X, return_std=True)[1]
        assert (0.5 * sd < std).all()
        assert (std < 3.0 * sd).all()


@pytest.mark.parametrize("value", [0.0, 3.0, -50.0])
def test_error_bars_of_one_row(value, data):
    """The size of the only target is the only scale there is."""
    model, size = BayesianSVR().fit(data.X[:1], [value]), abs(value) or 1.0
    near = model.predict(data.X[:1], return_std=True)
    far = model.predict(data.X[:1] + 100.0, return_std=True)
    assert near[0] == pytest.approx(value, abs=1e-9 * size)
    assert near[1] < 0.05 * size
    assert 0.5 * size < far[1] < 3.0 * size


def test_error_bars_of_targets_at_one_place(data):
    """No input tells them apart, and no row bends: the spread of the targets, and no more."""
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    model = BayesianSVR().fit(np.zeros((5, 1)), y)
    mean, std = model.predict(np.zeros((1, 1)), return_std=True)
    assert mean[0] == pytest.approx(3.0, abs=0.2)
    assert y.std() < std[0] < 2.0 * y.std()


def test_error_bars_where_all_rows_are_in_the_tube():
    """Two values, none of them a support vector that bends, are told from what is between."""
    X, y = np.linspace(-1.0, 1.0, 30)[:, None], np.repeat([1.0, 2.0], 15)
    mean, std = BayesianSVR().fit(X, y).predict(X, return_std=True)
    assert np.abs(mean - y).max() < 0.5
    assert (std < 1.0).all()


def test_repeated_rows(data):
    X, y = np.repeat(data.X[:12], 3, axis=0), np.repeat(data.y[:12], 3)
    y[::3] += 0.5
    model = BayesianSVR(tol=1.0).fit(X, y)
    assert np.isfinite(model.log_evidence_)
    assert np.isfinite(model.predict(data.new, return_std=True)).all()


@pytest.mark.parametrize("ard", [False, True])
def test_the_value_of_a_constant_column_does_not_matter(ard, data):
    one, other = (
        fitted(data._replace(X=np.column_stack([data.X, np.full(40, c)])), ard=ard)
        for c in (0.0, 1.0 / 3.0)
    )
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-9)
    new = np.column_stack([data.new, np.zeros(9)])
    expected = one.predict(new, return_std=True)
    new[:, 2] = 1.0 / 3.0
    np.testing.assert_allclose(other.predict(new, return_std=True), expected, rtol=1e-9)


def test_targets_without_noise(data):
    model = BayesianSVR("linear", tol=1.0).fit(data.X, 2.0 * data.X[:, 0] - 30.0 * data.X[:, 1])
    expected = 2.0 * data.new[:, 0] - 30.0 * data.new[:, 1]
    np.testing.assert_allclose(model.predict(data.new), expected, atol=0.1)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_default_fit_ends_without_a_warning(kernel, seed):
    """Forty ordinary rows are not a case for a warning."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    assert BayesianSVR(kernel).fit(X, y).converged_


@pytest.mark.parametrize("n", [60, 200])
def test_next_to_no_noise_is_calibrated(n):
    """Noise of 1e-5, far below the bounds that suit ordinary targets, is found."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2.0, 2.0, (n, 1)), rng.uniform(-2.0, 2.0, (2000, 1))
    y, t = (np.sin(3.0 * x[:, 0]) + 1e-5 * rng.normal(size=len(x)) for x in (X, new))
    model = BayesianSVR(random_state=0).fit(X, y)
    low, high = model.predict_interval(new)
    assert 0.85 < np.mean((low <= t) & (t <= high)) < 0.95
    assert np.sqrt(model.loss_.variance()) == pytest.approx(1e-5, rel=0.15)
    assert model.at_bound_ == {}
    assert model.gap_ < 1e-5 * n


# ---- bounds -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_column_that_does_not_matter_is_no_cause_for_a_warning():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    model = BayesianSVR(ard=True, random_state=0).fit(X, y)
    assert model.relevance_[1:].max() < 0.1 * model.relevance_[0]
    assert model.at_bound_.items() <= {"ls[1]": "upper", "ls[2]": "upper"}.items()


def test_no_noise_at_all_is_at_the_bounds_of_the_noise():
    x = np.linspace(-2.0, 2.0, 60)
    model = BayesianSVR(random_state=0).fit(x[:, None], np.sin(3.0 * x))
    assert model.at_bound_["C"] == "upper"
    assert np.sqrt(model.loss_.variance()) < 1e-5
    assert "C" in model.restarts_["at_bound"].iloc[0]


def test_ordinary_rows_are_at_no_bound(model):
    assert model.at_bound_ == {}
    assert model.restarts_["at_bound"].iloc[0] == ""


def test_a_steep_bound_is_a_warning():
    """A period beyond the longest that is searched: half a wave over the rows."""
    x = np.linspace(-1.0, 1.0, 60)
    y = x + 0.01 * np.random.default_rng(0).normal(size=60)
    with pytest.warns(ConvergenceWarning, match=r"upper bound.*still rises.*\. Check"):
        model = BayesianSVR("periodic").fit(x[:, None], y)
    assert "upper" in model.at_bound_.values()


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"kernel": "cubist"}, ValueError, ("kernel", "'cubist'", "'rbf'")),
        ({"kernel": 3}, ValueError, ("kernel", "3")),
        ({"kernel": None}, ValueError, ("kernel", "None")),
        ({"kernel": "precomputed", "ard": True}, ValueError, ("ard",)),
        ({"kernel": kernels.RBF(), "ard": True}, ValueError, ("ard", "RBF")),
        ({"beta": 0.0}, ValueError, ("beta", "0")),
        ({"beta": 1.5}, ValueError, ("beta", "1.5")),
        ({"beta": "automatic"}, ValueError, ("beta", "'automatic'", "auto")),
        ({"beta": None}, TypeError, ("beta", "None")),
        ({"offset": -2.0}, ValueError, ("offset", "-2")),
        ({"offset": "a"}, TypeError, ("offset", "'a'")),
        ({"tol": 0.0}, ValueError, ("tol", "0")),
        ({"tol": None}, TypeError, ("tol", "None")),
        ({"restarts": 0}, ValueError, ("restarts", "0")),
        ({"restarts": 2.5}, ValueError, ("restarts", "2.5")),
        ({"max_iter": -1}, ValueError, ("max_iter", "-1")),
        ({"max_iter": "a"}, ValueError, ("max_iter", "'a'")),
    ],
    ids=lambda x: str(x)[:40] if isinstance(x, dict) else "",
)
def test_parameters_are_checked(settings, error, words, data):
    with cases.refused(error, *words):
        BayesianSVR(**settings).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ard": "no"}, ("ard", "'no'")),
        ({"standardize": "no"}, ("standardize", "'no'")),
        ({"full_bayes": "no"}, ("full_bayes", "'no'")),
        ({"sampler": 3}, ("sampler", "3")),
    ],
    ids=str,
)
def test_switches_are_checked(settings, words, data, monkeypatch):
    """A string such as 'no' would switch on."""
    monkeypatch.setattr("pymc_bsvm.estimators.base.sample", lambda *_: pytest.fail("it is sampled"))
    with cases.refused((TypeError, ValueError), *words):
        BayesianSVR(tol=1.0, **settings).fit(data.X, data.y)


def test_weights_are_checked(data):
    fit = BayesianSVR().fit
    with cases.refused(ValueError, "sample_weight", "-0.5"):
        fit(data.X, data.y, sample_weight=np.r_[-0.5, np.ones(39)])
    with pytest.raises(ValueError, match=r"(?i)sample.weight.*zero"):
        fit(data.X, data.y, sample_weight=np.zeros(40))
    with cases.refused(ValueError, "full_bayes", "sample_weight"):
        BayesianSVR(full_bayes=True).fit(data.X, data.y, sample_weight=np.ones(40))


def test_gram_matrices_are_checked(data):
    with cases.refused(ValueError, "square", "(40, 2)"):
        BayesianSVR("precomputed").fit(data.X, data.y)
    K = gram(data.X, data.X)
    K[0, 1] += 1.0
    with cases.refused(ValueError, "symmetric"):
        BayesianSVR("precomputed").fit(K, data.y)


def test_predictions_are_checked(data, model):
    for q in (0.0, 1.0, -0.1, np.nan, [0.5, 2.0]):
        with cases.refused(ValueError, "q"):
            model.predict_quantiles(data.new, q)
    for coverage in (0.0, 1.0, 90.0, [0.5, 1.0], []):
        with cases.refused(ValueError, "coverage"):
            model.predict_interval(data.new, coverage)
    precomputed = BayesianSVR("precomputed", tol=1.0).fit(gram(data.X, data.X), data.y)
    with cases.refused(ValueError, "precomputed"):
        precomputed.sample_y(gram(data.new, data.X))


def test_what_a_callable_returns_is_checked(data):
    """The search must not hide what is wrong with it."""
    with cases.refused(ValueError, "shape", "(40,)"):
        BayesianSVR(lambda X, Z: np.ones(len(X))).fit(data.X, data.y)
    with cases.refused(ValueError, "symmetric"):
        BayesianSVR(lambda X, Z: np.exp(X[:, :1] - 2.0 * Z[:, 0])).fit(data.X, data.y)


@pytest.mark.parametrize("n_samples", [-1, 1.5, None])
def test_number_of_draws_is_checked(n_samples, data, model):
    with cases.refused((TypeError, ValueError), "n_samples", repr(n_samples)):
        model.sample_y(data.new, n_samples)


@pytest.mark.parametrize("q", [[], "a", [[0.1, 0.9]]], ids=str)
def test_probabilities_are_checked(q, data, model):
    with cases.refused((TypeError, ValueError), "q"):
        model.predict_quantiles(data.new, q)


def test_variances_that_a_gram_matrix_does_not_hold(data):
    x = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    model = BayesianSVR("precomputed", tol=1.0).fit(x @ x.T, data.y)
    assert model.predict(x @ x.T).shape == (40,)
    with cases.refused(ValueError, "variances"):
        model.predict(x @ x.T, return_std=True)
