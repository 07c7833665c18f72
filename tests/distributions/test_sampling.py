"""NUTS on the distributions: recovery, robustness and the wall of the trigonometric likelihood."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from pymc.blocking import DictToArrayBijection

import pymc_bsvm as bsvm

SAMPLERS = ("pymc", "nutpie")


def sample(model, nuts_sampler, draws=300, tune=400, chains=2, **kwargs):
    """Sample quietly, in this process, with a fixed seed."""
    if nuts_sampler == "pymc":
        kwargs = {"cores": 1, **kwargs}
    with model:
        return pm.sample(
            draws,
            tune=tune,
            chains=chains,
            nuts_sampler=nuts_sampler,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
            **{"random_seed": 20, **kwargs},
        )


# ---- regression ---------------------------------------------------------------------------------

TRUTH = {"intercept": 0.5, "slope": -1.2, "C": 8.0, "epsilon": 0.25}


def lines(n, rng):
    x = rng.uniform(-1, 1, n)
    noise = bsvm.losses.SILF(TRUTH["C"], TRUTH["epsilon"], 0.3).quantile(rng.uniform(size=n))
    return x, TRUTH["intercept"] + TRUTH["slope"] * x + noise


def linear_model(x, y, likelihood="silf"):
    with pm.Model() as model:
        targets = pm.Data("targets", y)
        mu = pm.Normal("intercept", 0, 2) + pm.Normal("slope", 0, 2) * x
        if likelihood == "silf":
            C, epsilon = pm.LogNormal("C", 1, 1), pm.HalfNormal("epsilon", 0.5)
            bsvm.SILF("y", mu=mu, C=C, epsilon=epsilon, observed=targets)
        elif likelihood == "insensitive":
            C, epsilon = pm.LogNormal("C", 1, 1), pm.HalfNormal("epsilon", 0.5)
            bsvm.EpsilonInsensitive("y", mu=mu, C=C, epsilon=epsilon, observed=targets)
        else:
            pm.Normal("y", mu=mu, sigma=pm.HalfNormal("sigma", 2), observed=targets)
    return model


@pytest.mark.parametrize("nuts_sampler", SAMPLERS)
def test_linear_model_with_2000_points(nuts_sampler, rng):
    """The truth lies within four posterior standard deviations, known to a tenth of one."""
    idata = sample(linear_model(*lines(2000, rng)), nuts_sampler, draws=500, tune=600)
    assert int(idata["sample_stats"]["diverging"].sum()) == 0
    summary = az.summary(idata, kind="all", round_to="none")
    assert summary["r_hat"].max() < 1.03
    for name, truth in TRUTH.items():
        draws = idata["posterior"][name].values.ravel()
        error = float(az.mcse(idata, var_names=[name])[name])
        assert error < 0.1 * draws.std()
        assert abs(draws.mean() - truth) < 4 * draws.std() + 4 * error, name
    # 2,000 points determine the slope to a few parts in a hundred
    assert idata["posterior"]["slope"].values.std() < 0.03


def test_samplers_agree(rng):
    """Also with a kink instead of a shoulder: equal posterior means within Monte Carlo error."""
    model = linear_model(*lines(150, rng), "insensitive")
    runs = [sample(model, sampler, draws=600, tune=600)["posterior"] for sampler in SAMPLERS]
    for name in TRUTH:
        means = [float(run[name].mean()) for run in runs]
        errors = [float(az.mcse(run, var_names=[name])[name]) for run in runs]
        assert abs(means[0] - means[1]) < 5 * np.hypot(*errors), name


def test_outliers_move_silf_less_than_a_tenth_as_far(rng):
    """Five points in a hundred, at the right end, are raised by thirty."""
    x, y = lines(200, rng)
    spoiled = y.copy()
    spoiled[np.argsort(x)[-10:]] += 30.0
    shifts = {}
    for likelihood in ("silf", "normal"):
        model = linear_model(x, y, likelihood)
        clean = sample(model, "nutpie")["posterior"]
        model.set_data("targets", spoiled)
        moved = sample(model, "nutpie")["posterior"]
        shifts[likelihood] = [
            float(abs(moved[name].mean() - clean[name].mean())) for name in ("intercept", "slope")
        ]
    assert min(shifts["normal"]) > 0.5  # the outliers are gross
    assert np.all(np.array(shifts["silf"]) < 0.1 * np.array(shifts["normal"])), shifts


@pytest.mark.slow
def test_latent_process_with_100_points(rng):
    """The function that drew the data lies where its posterior says, point by point."""
    x = np.sort(rng.uniform(-3, 3, 100))
    cov = 1.0**2 * pm.gp.cov.ExpQuad(1, ls=1.0)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-8 * np.eye(x.size)
    truth = np.linalg.cholesky(K) @ rng.standard_normal(x.size)
    noise = bsvm.losses.SILF(TRUTH["C"], TRUTH["epsilon"], 0.3).quantile(rng.uniform(size=100))
    with pm.Model() as model:
        f = pm.gp.Latent(cov_func=cov).prior("f", x[:, None])
        C, epsilon = pm.LogNormal("C", 1, 1), pm.HalfNormal("epsilon", 0.5)
        bsvm.SILF("y", mu=f, C=C, epsilon=epsilon, observed=truth + noise)
    idata = sample(model, "nutpie", draws=500, tune=500)
    assert int(idata["sample_stats"]["diverging"].sum()) == 0
    f = idata["posterior"]["f"].values.reshape(-1, x.size)
    z = (f.mean(axis=0) - truth) / f.std(axis=0)
    assert np.abs(z).max() < 4.5
    assert 0.1 < np.mean(z**2) < 3.0  # neighbours share their errors: few degrees of freedom
    assert np.sqrt(np.mean((f.mean(axis=0) - truth) ** 2)) < 0.15
    for name in ("C", "epsilon"):
        draws = idata["posterior"][name].values
        assert abs(draws.mean() - TRUTH[name]) < 4 * draws.std()


# ---- the wall -----------------------------------------------------------------------------------


def classes(seed, n=60):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n))
    f = np.clip(1.4 * np.sin(1.7 * x), -1, 1)
    return x, (rng.uniform(size=n) < 0.5 * (1 + np.sin(np.pi * f / 2))).astype(int)


def wall_model(x, labels, share=0.0):
    with pm.Model() as model:
        flip = pm.Data("flip", share)
        f = pm.gp.Latent(cov_func=1.5**2 * pm.gp.cov.ExpQuad(1, ls=1.0)).prior("f", x[:, None])
        bsvm.Trigonometric("y", f=f, flip=flip, observed=labels)
    return model


def jittered(model, count=200):
    rng = np.random.default_rng(1)
    start = model.initial_point(random_seed=0)
    for _ in range(count):
        yield {name: value + rng.uniform(-1, 1, np.shape(value)) for name, value in start.items()}


def test_most_jittered_starts_lie_behind_the_wall():
    """What the recipe is for. The start without jitter is feasible, and so is any with flips."""
    model = wall_model(*classes(0))
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})

    def evaluate(point):
        logp, gradient = function(DictToArrayBijection.map(point))
        assert np.isfinite(gradient).all()
        return logp

    start = model.initial_point()
    prior = -0.5 * 60 * np.log(2 * np.pi)  # of the whitened process, at zero
    assert evaluate(start) == pytest.approx(prior - 60 * np.log(2))
    infinite = [not np.isfinite(evaluate(point)) for point in jittered(model)]
    assert 0.5 < np.mean(infinite) < 0.95
    model.set_data("flip", 0.01)
    assert all(np.isfinite(evaluate(point)) for point in jittered(model))


RECIPE = {"nuts_sampler": "pymc", "init": "adapt_diag"}


def test_recipe_starts():
    """Twenty chains start, one data set."""
    idata = sample(wall_model(*classes(0)), draws=25, tune=5, chains=20, **RECIPE)
    assert idata["posterior"].sizes["chain"] == 20
    assert np.isfinite(idata["sample_stats"]["lp"]).all()


@pytest.mark.slow
def test_recipe_starts_twenty_runs_of_twenty():
    started = 0
    for seed in range(20):
        model = wall_model(*classes(seed))
        idata = sample(model, draws=5, tune=5, chains=1, random_seed=seed, **RECIPE)
        started += bool(np.isfinite(idata["sample_stats"]["lp"]).all())
    assert started == 20


@pytest.mark.parametrize("nuts_sampler", ["pymc", pytest.param("nutpie", marks=pytest.mark.slow)])
def test_flips_allow_the_default_start(nuts_sampler):
    model = wall_model(*classes(0), 0.01)
    idata = sample(model, nuts_sampler, draws=100, tune=200, chains=2)
    assert int(idata["sample_stats"]["diverging"].sum()) == 0


@pytest.mark.slow
def test_recipe_samples_the_posterior_in_spite_of_divergences():
    """Flips as rare as one in ten thousand give the same class probabilities."""
    x, labels = classes(3)
    probabilities = []
    for flip, how in ((0.0, RECIPE), (1e-4, {"nuts_sampler": "nutpie"})):
        idata = sample(wall_model(x, labels, flip), draws=1500, tune=1000, **how)
        f = np.clip(idata["posterior"]["f"].values.reshape(-1, x.size), -1, 1)
        probabilities.append(0.5 * (1 + np.sin(np.pi * f / 2)).mean(axis=0))
    assert np.abs(probabilities[0] - probabilities[1]).max() < 0.03
