"""The distributions inside PyMC models: containers, dims, data, imputation, predictions, loo."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.integrate import quad

import pymc_bsvm as bsvm
from tests.distributions import reference
from tests.distributions.cases import NOISES, SILF, name

every_noise = pytest.mark.parametrize("case", NOISES, ids=name)
quick = pytest.mark.usefixtures("quick")


def density(case, mu=0.0, **parameters):
    noise = case.reference(**(parameters or case.typical))
    return lambda x: float(np.exp(noise.logpdf(x - mu)))


def mass(f, a, b):
    inner = [k for k in np.linspace(-2, 2, 41) if a < k < b]
    return quad(f, a, b, points=inner, limit=400)[0]


# ---- containers ---------------------------------------------------------------------------------


@every_noise
def test_truncated(case):
    low, high = -0.3, 1.9
    x = pm.Truncated.dist(case.dist.dist(0.2, **case.typical), lower=low, upper=high)
    f = density(case, 0.2)
    values = np.array([-0.31, -0.2, 0.2, 0.61, 1.8, 1.95])
    inside = (values >= low) & (values <= high)
    share = mass(f, low, high)
    expected = [
        np.log(f(v) / share) if keep else -np.inf for v, keep in zip(values, inside, strict=True)
    ]
    np.testing.assert_allclose(pm.logp(x, values).eval(), expected, rtol=1e-7)
    draws = pm.draw(x, draws=400, random_seed=1)
    assert draws.min() >= low
    assert draws.max() <= high
    mean = mass(lambda v: v * f(v), low, high) / share
    assert draws.mean() == pytest.approx(mean, abs=5 * draws.std() / 20)


@every_noise
def test_truncated_far_in_the_tail(case):
    """What is left beyond 40 / C is exponential, however small its probability."""
    C = case.typical["C"]
    x = pm.Truncated.dist(case.dist.dist(0.0, **case.typical), lower=200.0)
    got = pm.logp(x, np.array([200.0, 200.5])).eval()
    np.testing.assert_allclose(got, np.log(C) - C * np.array([0.0, 0.5]), rtol=1e-10)


@every_noise
@pytest.mark.parametrize(("low", "high"), [(8.0, None), (8.0, 8.25), (None, -8.0), (0.2, 0.2001)])
def test_draws_of_truncated_noise_stay_inside(case, low, high):
    """Beyond 40 / C the distribution function rounds to one; what is left there is exponential."""
    C, n = case.typical["C"], 2000
    low, high = (
        None if x is None else x * (1.0 if abs(x) < 1.0 else 10.0 / C) for x in (low, high)
    )
    x = pm.Truncated.dist(case.dist.dist(0.1, **case.typical), lower=low, upper=high, shape=n)
    draws = pm.draw(x, random_seed=3)
    below, above = -np.inf if low is None else low, np.inf if high is None else high
    assert below <= draws.min() <= draws.max() <= above
    assert np.isfinite(draws).all()
    assert len(np.unique(draws)) > 0.9 * n
    if low is None or high is None:
        excess = C * np.abs(draws - (low or high))  # a standard exponential
        assert excess.mean() == pytest.approx(1.0, abs=5.0 / np.sqrt(n))


@quick
def test_truncated_noise_of_many_locations():
    mu, upper = np.array([0.0, 5.0, -300.0]), np.array([[1.0], [2.0]])
    x = pm.Truncated.dist(bsvm.SILF.dist(mu, 10.0, 0.1), lower=upper - 1.0, upper=upper)
    draws = pm.draw(x, draws=50, random_seed=1)
    assert draws.shape == (50, 2, 3)
    assert ((draws >= upper - 1.0) & (draws <= upper)).all()
    with pm.Model():
        data = pm.Truncated("y", bsvm.SILF.dist(mu, 10.0, 0.1), lower=-1.0, upper=1.0, shape=(4, 3))
    assert np.abs(pm.draw(data, random_seed=1)).max() <= 1.0


@every_noise
def test_censored(case):
    x = pm.Censored.dist(case.dist.dist(0.2, **case.typical), lower=-0.5, upper=0.9)
    f = density(case, 0.2)
    got = pm.logp(x, np.array([-0.5, 0.1, 0.9])).eval()
    expected = np.log([mass(f, -20, -0.5), f(0.1), mass(f, 0.9, 20)])
    np.testing.assert_allclose(got, expected, rtol=1e-7)
    draws = pm.draw(x, draws=300, random_seed=2)
    assert draws.min() == -0.5
    assert draws.max() == 0.9


@every_noise
def test_mixture_with_a_normal(case):
    x = pm.Mixture.dist(
        w=[0.7, 0.3], comp_dists=[case.dist.dist(0.2, **case.typical), pm.Normal.dist(1.0, 2.0)]
    )
    values = np.array([-1.0, 0.2, 0.7, 3.0])
    normal = np.exp(-0.5 * ((values - 1) / 2) ** 2) / np.sqrt(8 * np.pi)
    expected = np.log(0.7 * np.array([density(case, 0.2)(v) for v in values]) + 0.3 * normal)
    np.testing.assert_allclose(pm.logp(x, values).eval(), expected, rtol=1e-9)
    assert np.isfinite(pm.draw(x, draws=20, random_seed=1)).all()


def test_mixture_of_labels():
    x = pm.Mixture.dist(
        w=[0.6, 0.4], comp_dists=[bsvm.Trigonometric.dist(0.5), bsvm.Trigonometric.dist(-2.0)]
    )
    ones = 0.6 * reference.trigonometric(1, 0.5)
    np.testing.assert_allclose(np.exp(pm.logp(x, np.array([0, 1])).eval()), [1 - ones, ones])


# ---- shapes -------------------------------------------------------------------------------------


@quick
@every_noise
def test_shapes_broadcast(case):
    mu, C = np.zeros((3, 1)), np.array([1.0, 2.0, 4.0, 8.0])
    x = case.dist.dist(mu, **{**case.typical, "C": C})
    assert x.eval().shape == (3, 4)
    assert case.dist.dist(mu, **{**case.typical, "C": C}, size=(5, 3, 4)).eval().shape == (5, 3, 4)
    assert case.dist.dist(0.0, **case.typical, shape=(2, 3)).eval().shape == (2, 3)
    values = np.arange(4.0)
    expected = [
        case.reference(**{**case.typical, "C": c}).logpdf(v) for c, v in zip(C, values, strict=True)
    ]
    np.testing.assert_allclose(pm.logp(x, values).eval(), np.tile(expected, (3, 1)), rtol=1e-9)


@quick
@every_noise
def test_dims_and_coords(case):
    with pm.Model(coords={"row": range(3), "column": list("ab")}) as model:
        case.dist("x", np.zeros((3, 1)), **case.typical, dims=("row", "column"))
        idata = pm.sample_prior_predictive(4, random_seed=1)
    assert model["x"].eval().shape == (3, 2)
    assert idata["prior"]["x"].dims == ("chain", "draw", "row", "column")


@quick
def test_labels_with_dims():
    with pm.Model(coords={"row": range(5)}):
        bsvm.Trigonometric("x", np.linspace(-2, 2, 5), dims="row")
        idata = pm.sample_prior_predictive(4, random_seed=1)
    x = idata["prior"]["x"]
    assert x.dims == ("chain", "draw", "row")
    assert (x.values[..., 0] == 0).all()
    assert (x.values[..., -1] == 1).all()


# ---- models -------------------------------------------------------------------------------------

X = np.linspace(-1, 1, 12)


def linear_model(y, x=X, **kwargs):
    """All parameters are random variables."""
    with pm.Model(coords={"obs": np.arange(len(x))}) as model:
        inputs = pm.Data("inputs", x, dims="obs")
        targets = pm.Data("targets", y, dims="obs") if not np.ma.isMaskedArray(y) else y
        slope = pm.Normal("slope")
        C = pm.LogNormal("C", 1, 0.5)
        epsilon = pm.HalfNormal("epsilon", 0.3)
        beta = pm.Beta("beta", 2, 4)
        bsvm.SILF("y", slope * inputs, C, epsilon, beta, observed=targets, dims="obs", **kwargs)
    return model


@quick
def test_parameters_may_be_random_variables(rng):
    y = 2 * X + 0.1 * rng.standard_normal(X.size)
    model = linear_model(y)
    point = model.initial_point()
    logp = model.compile_logp(vars=[model["y"]])(point)
    C, epsilon = np.exp(point["C_log__"]), np.exp(point["epsilon_log__"])
    beta = 1 / (1 + np.exp(-point["beta_logodds__"]))
    noise = reference.silf(float(C), float(epsilon), float(beta))
    expected = sum(noise.logpdf(r) for r in y - point["slope"] * X)
    assert logp == pytest.approx(expected, rel=1e-9)
    gradient = model.compile_dlogp()(point)
    assert gradient.shape == (4,)
    assert np.isfinite(gradient).all()


def test_predictions_likelihood_and_loo(rng):
    """Prior, posterior and out-of-sample predictions, pointwise likelihoods, loo."""
    y = 2 * X + 0.1 * rng.standard_normal(X.size)
    with linear_model(y) as model:
        prior = pm.sample_prior_predictive(20, random_seed=1)
        assert np.isfinite(prior["prior_predictive"]["y"]).all()
        assert prior["prior_predictive"]["y"].sizes["obs"] == X.size
        idata = pm.sample(
            150, tune=300, chains=2, cores=1, random_seed=1, nuts_sampler="pymc",
            progressbar=False, quiet=True, compute_convergence_checks=False,
        )  # fmt: skip
        pm.compute_log_likelihood(idata, progressbar=False)
        assert idata["log_likelihood"]["y"].shape == (2, 150, X.size)
        one = idata["posterior"].isel(chain=1, draw=7)
        noise = reference.silf(*(float(one[v]) for v in ("C", "epsilon", "beta")))
        expected = [noise.logpdf(r) for r in y - float(one["slope"]) * X]
        got = idata["log_likelihood"]["y"].isel(chain=1, draw=7)
        np.testing.assert_allclose(got, expected, rtol=1e-9)
        loo = az.loo(idata)
        assert np.isfinite(loo.elpd)
        assert loo.n_data_points == X.size
        posterior = pm.sample_posterior_predictive(idata, random_seed=1, progressbar=False)
        centre = posterior["posterior_predictive"]["y"].mean(("chain", "draw"))
        np.testing.assert_allclose(centre, 2 * X, atol=0.35)
        pm.set_data({"inputs": [3.0, 4.0], "targets": [0.0, 0.0]}, coords={"obs": [0, 1]})
        new = pm.sample_posterior_predictive(
            idata, random_seed=1, progressbar=False, predictions=True
        )
        centre = new["predictions"]["y"].mean(("chain", "draw"))
        np.testing.assert_allclose(centre, [6.0, 8.0], atol=1.5)
        assert np.isfinite(model.compile_logp()(model.initial_point()))


def test_labels_predictions_likelihood_and_loo(rng):
    labels = (X > 0).astype(int)
    with pm.Model(coords={"obs": range(X.size)}):
        slope = pm.Uniform("slope", -0.9, 0.9)
        bsvm.Trigonometric("y", f=slope * X, observed=labels, dims="obs")
        idata = pm.sample(
            150, tune=200, chains=2, cores=1, random_seed=1, nuts_sampler="pymc",
            progressbar=False, quiet=True, compute_convergence_checks=False,
        )  # fmt: skip
        pm.compute_log_likelihood(idata, progressbar=False)
        posterior = pm.sample_posterior_predictive(idata, random_seed=1, progressbar=False)
    draws = posterior["posterior_predictive"]["y"].values
    assert set(np.unique(draws)) == {0, 1}
    loo = az.loo(idata)
    assert np.isfinite(loo.elpd)
    assert loo.n_data_points == X.size


@pytest.mark.filterwarnings(
    "ignore:Data in y contains missing values:pymc.exceptions.ImputationWarning"
)
@quick
def test_masked_observations_are_imputed(rng):
    y = np.ma.masked_array(2 * X, mask=np.arange(X.size) == 3)
    model = linear_model(y)
    names = {v.name for v in model.free_RVs}
    assert "y_unobserved" in names
    point = model.initial_point()
    assert np.isfinite(model.compile_logp()(point))
    assert np.isfinite(model.compile_dlogp()(point)).all()


@every_noise
def test_data_can_change(case):
    values = np.array([0.1, -0.4, 2.0])
    with pm.Model() as model:
        y = pm.Data("targets", values)
        case.dist("y", 0.0, **case.typical, observed=y)
    logp = model.compile_logp()
    noise = case.reference(**case.typical)
    assert logp({}) == pytest.approx(sum(noise.logpdf(v) for v in values))
    model.set_data("targets", 3 * values)
    assert logp({}) == pytest.approx(sum(noise.logpdf(v) for v in 3 * values))


def test_distribution_is_free_in_a_model_too():
    """As a prior it needs no transform and its logp is the density."""
    with pm.Model() as model:
        SILF.dist("x", 0.4, **SILF.typical)
    assert [v.name for v in model.value_vars] == ["x"]
    assert model.compile_logp()({"x": 1.1}) == pytest.approx(
        SILF.reference(**SILF.typical).logpdf(1.1 - 0.4)
    )
