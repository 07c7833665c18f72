"""The model with free latent values against dense formulas and against the model it comes from."""

from dataclasses import dataclass

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.distributions import likelihood, noise_distribution
from pymc_bsvm.inference.latent import latent_model
from pymc_bsvm.inference.posteriors import compare_posteriors
from tests.gp import cases
from tests.gp.cases import POINT, QUICK, UNFUSED, ard

NAMES = [type(loss).__name__ for loss in cases.LOSSES]
LS = POINT["ls"]
UPPER = {"beta": 1.0}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20030815)


@pytest.fixture(scope="module")
def small() -> cases.Data:
    return cases.plane(7, seed=3)


def linear_model(data: cases.Data, loss: losses.Loss, **kwargs) -> pm.Model:
    """Return a model with a mean function whose hyperparameter is called slope."""
    with pm.Model() as model:
        slope = pm.Normal("slope", [0.3, -0.2], 0.5)
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=2)
        own = [pm.Uniform(name, 0.0, UPPER.get(name, 10.0)) for name in loss.domains]
        mean = pm.gp.mean.Linear(coeffs=slope)
        gp = bsvm.gp.Laplace(mean_func=mean, cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood("y", data.X, cases.targets(data, loss), type(loss)(*own), **kwargs)
    return model


def factor_of(X: np.ndarray, jitter: float = 1e-6) -> np.ndarray:
    K = ard(X, X, LS)
    return np.linalg.cholesky(K + jitter * K.diagonal().mean() * np.eye(len(X)))


def unconstrained(loss: losses.Loss, v: np.ndarray, slope=(0.3, -0.2)) -> dict:
    own = {
        f"{name}_interval__": getattr(loss, name) / UPPER.get(name, 10.0) for name in loss.domains
    }
    own = {name: np.log(share) - np.log1p(-share) for name, share in own.items()}
    return {"slope": np.array(slope), "ls_log__": np.log(LS), "f_y_rotated_": v, **own}


# ---- log probability ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", cases.LOSSES, ids=NAMES)
def test_likelihood_is_that_of_the_loss(small, loss, rng):
    model = latent_model(linear_model(small, loss))
    function = model.compile_logp(vars=[model["y"]], jacobian=False, sum=False, mode=UNFUSED)
    v = 0.3 * rng.normal(size=7)
    [value] = function(unconstrained(loss, v))
    f = small.X @ [0.3, -0.2] + factor_of(small.X) @ v
    expected = -loss.value(cases.signed(small, loss), f) - loss.log_normalizer()
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)


def test_joint_density_by_hand(small, rng):
    loss = losses.Gaussian(0.3)
    model = latent_model(linear_model(small, loss), jitter=1e-3)
    v = rng.normal(size=7)
    value = model.compile_logp(jacobian=False, mode=UNFUSED)(unconstrained(loss, v, (0.1, 0.4)))
    f = small.X @ [0.1, 0.4] + factor_of(small.X, 1e-3) @ v
    expected = (
        stats.norm.logpdf([0.1, 0.4], [0.3, -0.2], 0.5).sum()
        + stats.lognorm.logpdf(LS, 0.5).sum()
        - np.log(10.0)
        + stats.norm.logpdf(v).sum()
        + stats.norm.logpdf(small.y, f, 0.3).sum()
    )
    assert value == pytest.approx(expected, rel=1e-8)  # PyMC expands squared distances


def test_integral_over_latent_values_is_the_evidence(small):
    """With Gaussian noise, the joint density is Gaussian in the latent values and Laplace exact."""
    loss = losses.Gaussian(0.3)
    model = linear_model(small, loss)
    latent = latent_model(model, jitter=0.0)
    L, residual = factor_of(small.X, 0.0), small.y - small.X @ [0.3, -0.2]
    precision = np.eye(7) + L.T @ L / 0.3**2
    mode = np.linalg.solve(precision, L.T @ residual / 0.3**2)
    _, log_det = np.linalg.slogdet(precision / (2.0 * np.pi))
    variables = [latent["f_y_rotated_"], latent["y"]]
    joint = latent.compile_logp(vars=variables, jacobian=False, mode=UNFUSED)
    evidence = model.compile_logp(vars=[model["y"]], jacobian=False, mode=UNFUSED)
    point = unconstrained(loss, mode)
    integral = joint(point) - 0.5 * log_det
    del point["f_y_rotated_"]
    assert integral == pytest.approx(float(evidence(point)), rel=1e-10)
    expected = stats.multivariate_normal.logpdf(residual, cov=L @ L.T + 0.3**2 * np.eye(7))
    assert integral == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", cases.LOSSES, ids=NAMES)
def test_gradient_at_the_start_is_finite(small, loss):
    model = linear_model(small, loss)
    latent = latent_model(model)
    point = latent.initial_point()
    np.testing.assert_array_equal(point["f_y_rotated_"], 0.0)
    assert np.isfinite(latent.compile_logp(mode=UNFUSED)(point))
    assert np.isfinite(latent.compile_dlogp(mode=UNFUSED)(point)).all()


def test_start_is_in_front_of_the_wall():
    """Zero is feasible for labels in any arrangement, where jittered starts are not."""
    data = cases.plane(60, seed=1)
    model = latent_model(cases.classification(data.X, data.labels, delta=0.3).model)
    function = model.compile_logp(mode=UNFUSED)
    point = model.initial_point()
    expected = 60 * np.log(0.5)
    likelihood_only = model.compile_logp(vars=[model["y"]], mode=UNFUSED)
    assert likelihood_only(point) == pytest.approx(expected)
    rng = np.random.default_rng(5)
    jittered = [{**point, "f_y_rotated_": rng.uniform(-1.0, 1.0, 60)} for _ in range(50)]
    assert sum(function(start) == -np.inf for start in jittered) > 25


@pytest.mark.parametrize(
    ("loss", "log_probability"),
    [(losses.Probit(), stats.norm.logcdf), (losses.Logistic(), stats.logistic.logcdf)],
)
def test_tails_are_kept(loss, log_probability):
    """After rewrites, which turn the logarithm of a sigmoid into something stable."""
    f, margins = pt.vector("f"), np.array([-30.0, -5.0, 5.0, 30.0])
    rv = likelihood(loss, f)
    logs = [pm.logp(rv, pt.constant(label)) for label in (0, 1)]
    slopes = [pt.grad(x.sum(), f) for x in logs]
    function = pytensor.function([f], [*logs, *slopes], mode=Mode("py", "fast_run"))
    zero, one, falls, rises = function(margins)
    np.testing.assert_allclose(one, log_probability(margins), rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(zero, log_probability(-margins), rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(rises, -falls[::-1], rtol=1e-9, atol=1e-14)
    assert (rises >= 0.0).all()


# ---- draws --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [losses.SILF(5.0, 0.2, 0.3), losses.Trigonometric(1.2)])
def test_prior_predictive_moments_agree(small, loss):
    X, draws = small.X[:4], 3000
    with pm.Model() as model:
        mean = pm.gp.mean.Linear(coeffs=pm.Normal("slope", [0.3, -0.2], 0.1))
        gp = bsvm.gp.Laplace(mean_func=mean, cov_func=cases.ard_cov(LS))
        gp.marginal_likelihood("y", X, cases.targets(small, loss)[:4], loss)
    moments = []
    for k, m in enumerate((model, latent_model(model))):
        y = pm.draw(m["y"], draws, random_seed=k, mode=UNFUSED).astype(float)
        products = np.einsum("si,sj->sij", y - y.mean(0), y - y.mean(0))
        moments.append((y.mean(0), y.var(0), products.mean(0), products.var(0)))
    (mean1, var1, cov1, noise1), (mean2, var2, cov2, noise2) = moments
    error = np.sqrt((var1 + var2) / draws)
    assert (np.abs(mean1 - mean2) < 4.0 * error).all()
    assert (np.abs(cov1 - cov2) < 4.0 * np.sqrt((noise1 + noise2) / draws)).all()
    if loss.task == "regression":
        exact = ard(X, X, LS) + 0.01 * X @ X.T + loss.variance() * np.eye(4)
        assert (np.abs(cov2 - exact) < 4.5 * np.sqrt(noise2 / draws)).all()


def test_predictions_at_new_inputs(small, rng):
    """Moments of the latent values there, given those at the training inputs."""
    draws, v = 3000, rng.normal(size=7)
    loss = losses.Gaussian(0.3)
    model = latent_model(linear_model(small, loss), new={"y_new": small.new[:2]})
    point = {"slope": [0.3, -0.2], "ls": LS, "sigma": 0.3, "f_y_rotated_": v}
    repeated = {name: np.broadcast_to(x, (1, draws, *np.shape(x))) for name, x in point.items()}
    with model:
        tree = pm.sample_posterior_predictive(
            az.from_dict({"posterior": repeated}),
            var_names=["f_y_new", "y_new"],
            predictions=True,
            random_seed=1,
            progressbar=False,
            compile_kwargs=QUICK,
        )
    f, y = (tree["predictions"][name].values[0] for name in ("f_y_new", "y_new"))
    cross, L = ard(small.X, small.new[:2], LS), factor_of(small.X)
    half = np.linalg.solve(L, cross)
    mean = small.new[:2] @ [0.3, -0.2] + half.T @ v
    cov = ard(small.new[:2], small.new[:2], LS) - half.T @ half
    error = np.sqrt(cov.diagonal() / draws)
    assert (np.abs(f.mean(0) - mean) < 4.0 * error).all()
    np.testing.assert_allclose(np.cov(f.T), cov, atol=0.1 * cov.max())
    np.testing.assert_allclose((y - f).std(0), 0.3, rtol=0.08)


# ---- what survives ------------------------------------------------------------------------------


def test_hyperparameters_are_the_same(small):
    model = linear_model(small, losses.SILF(5.0, 0.2, 0.3))
    latent = latent_model(model)
    names = {rv.name for rv in latent.free_RVs}
    assert names == {rv.name for rv in model.free_RVs} | {"f_y_rotated_"}
    assert [rv.name for rv in latent.observed_RVs] == ["y"]
    point = unconstrained(losses.SILF(5.0, 0.2, 0.3), np.zeros(7))
    values = []
    for m in (model, latent):
        prior = m.logp(vars=[m[rv.name] for rv in model.free_RVs])
        inputs = m.value_vars
        function = m.compile_fn(prior, inputs=inputs, mode=UNFUSED, on_unused_input="ignore")
        values.append(float(function({value.name: point[value.name] for value in inputs})))
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_dims_deterministics_and_potentials_survive(small):
    coords = {"row": [f"r{k}" for k in range(7)]}
    with pm.Model(coords=coords) as model:
        level = pm.HalfNormal("level", 1.0)
        pm.Deterministic("twice", 2.0 * level)
        pm.Potential("extra", -level)
    cases.regression(small.X, small.y, model=model, dims="row")
    latent = latent_model(model)
    for name in ("y", "f_y", "f_y_rotated_"):
        assert latent.named_vars_to_dims[name] == ("row",)
    assert latent.coords == model.coords
    assert {v.name for v in latent.deterministics} == {"twice", "f_y"}
    assert [v.name for v in latent.potentials] == ["extra"]
    with latent, pytest.warns(UserWarning, match="effect of Potentials"):
        tree = pm.sample_prior_predictive(3, random_seed=1, compile_kwargs=QUICK)
    assert tree["prior"]["f_y"].dims == ("chain", "draw", "row")
    assert tree["prior_predictive"]["y"].sizes["row"] == 7


def test_data_can_change(small):
    loss, other = losses.SILF(4.0, 0.25, 0.3), cases.plane(5, seed=8)
    with pm.Model() as model:
        X, y = pm.Data("X", small.X), pm.Data("targets", small.y)
    cases.regression(X, y, model=model)
    latent = latent_model(model)
    assert {v.name for v in latent.data_vars} == {"X", "targets"}
    with latent:
        pm.set_data({"X": other.X, "targets": other.y})
    v = np.linspace(-1.0, 1.0, 5)
    point = {f"{name}_log__": np.log(value) for name, value in POINT.items()}
    function = latent.compile_logp(vars=[latent["y"]], mode=UNFUSED)
    value = function({**point, "f_y_rotated_": v})
    expected = -loss.value(other.y, factor_of(other.X) @ v).sum() - 5 * loss.log_normalizer()
    assert value == pytest.approx(expected, rel=1e-9)
    assert latent.initial_point()["f_y_rotated_"].shape == (5,)
    assert model["X"].get_value().shape == (7, 2)


def test_jitter_of_the_specification_counts(small):
    loss = losses.Gaussian(0.3)
    model = latent_model(linear_model(small, loss, jitter=0.2), jitter=0.0)
    values = model.replace_rvs_by_values([model["f_y"]])
    settings = {"inputs": model.value_vars, "mode": UNFUSED, "on_unused_input": "ignore"}
    [f] = model.compile_fn(values, **settings)(unconstrained(loss, np.ones(7)))
    L = np.linalg.cholesky(ard(small.X, small.X, LS) + 0.2 * np.eye(7))
    np.testing.assert_allclose(f, small.X @ [0.3, -0.2] + L.sum(1), rtol=1e-9)


def test_initial_values_survive(small):
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 1.0, initval=0.7)
        pm.Normal("other", level, 1.0, initval="prior")
    cases.regression(small.X, small.y, model=model)
    latent = latent_model(model)
    for m in (model, latent):
        initial = {rv.name: value for rv, value in m.rvs_to_initial_values.items()}
        assert initial["level"] == 0.7
        assert initial["other"] == "prior"
        assert initial["ls"] is None
    assert latent.initial_point()["level"] == 0.7


def test_several_laplace_variables(small):
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=2)
        gp = bsvm.gp.Laplace(cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood("first", small.X, small.y, losses.Gaussian(0.3))
        other = bsvm.gp.BTSVC(cov_func=cases.ard_cov(ls))
        other.marginal_likelihood("second", small.X, small.labels)
    latent = latent_model(model)
    assert {rv.name for rv in latent.free_RVs} == {"ls", "f_first_rotated_", "f_second_rotated_"}
    with pytest.raises(ValueError, match=r"2 variables with an evidence.*Leave new out"):
        latent_model(model, new={"y_new": small.new})


def test_a_loss_of_ones_own(small):
    """A new loss of noise needs nothing more."""

    @dataclass(frozen=True)
    class Wide(losses.Gaussian):
        """Gaussian noise under another name."""

    model = latent_model(linear_model(small, Wide(0.3)))
    assert type(model["y"].owner.op) is noise_distribution(Wide).rv_type
    assert likelihood(losses.Gaussian(0.3), np.zeros(2)).owner.op.name == "normal"


# ---- errors -------------------------------------------------------------------------------------


def test_errors(small):
    with pm.Model() as plain:
        pm.Normal("y", 0.0, 1.0, observed=small.y)
    with pytest.raises(ValueError, match=r"none is an approximate evidence\. Add one"):
        latent_model(plain)
    model, gp = cases.regression(small.X, small.y)
    with pytest.raises(ValueError, match="jitter must satisfy 0 <= jitter, but it is -1"):
        latent_model(model, jitter=-1.0)
    with pytest.raises(ValueError, match="new\\['y_new'\\] must have two dimensions"):
        latent_model(model, new={"y_new": small.new[:, 0]})
    with model:
        gp.conditional("f_new", small.new)
    with pytest.raises(ValueError, match=r"'f_new' depends on an approximate posterior.*\. Build"):
        latent_model(model)
    with pytest.raises(NotImplementedError, match="no likelihood for the loss SoftMarginL1"):
        likelihood(losses.SoftMarginL1(1.0), small.y)


def test_a_symbolic_initial_value_is_refused(small):
    with pm.Model() as model:
        level = pm.Normal("level", 0.0, 1.0)
        pm.Normal("other", level, 1.0, initval=level + 1.0)
    cases.regression(small.X, small.y, model=model)
    with pytest.raises(ValueError, match="initial value of 'other' is an expression"):
        latent_model(model)


# ---- sampling -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_three_routes_agree_on_sinc():
    """Distances of the means in standard deviations of full NUTS, and its predictions."""
    X, y = bsvm.datasets.sinc(40, random_state=1)
    X_new, y_new = bsvm.datasets.sinc(200, random_state=2)
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 5.0, 10.0)
        C, epsilon = pm.LogNormal("C", 2.0, 0.5), pm.LogNormal("epsilon", -2.3, 0.5)
        gp = bsvm.gp.BSVR(cov_func=0.3 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, y, C=C, epsilon=epsilon)
        fit = bsvm.fit_evidence(random_seed=1, progressbar=False)
    settings = {"draws": 1000, "chains": 2, "cores": 1, "random_seed": 1, "progressbar": False}
    with model:
        evidence = pm.sample(**settings)
    with latent_model(model):
        latent = pm.sample(**settings, nuts={"target_accept": 0.95})
        default = pm.sample(**settings, nuts_sampler="pymc", init="adapt_diag")
    with latent_model(model, new={"y_new": X_new}):
        for tree in (latent, default):
            pm.sample_posterior_predictive(
                tree,
                var_names=["y_new"],
                predictions=True,
                extend_inferencedata=True,
                random_seed=1,
                progressbar=False,
            )
    routes = {"map": fit, "evidence": evidence, "pymc": default, "latent": latent}
    table = compare_posteriors(routes).table
    assert set(table.index.get_level_values("variable")) == {"ls", "C", "epsilon"}
    shift = table["shift"].abs().groupby("route").max()
    assert shift["evidence"] < 0.75
    assert shift["map"] < 1.5
    assert shift["pymc"] < 0.3
    trees = {"pymc": default, "latent": latent}
    predictive = compare_posteriors(trees, held_out=("y_new", y_new)).predictive
    np.testing.assert_allclose(predictive["coverage_90"], 0.9, atol=0.08)
    assert (predictive["rmse"] < 0.25).all()


@pytest.mark.slow
def test_sampling_behind_the_wall_starts():
    data = cases.plane(40, seed=4)
    model = latent_model(cases.classification(data.X, data.labels).model)
    with model:
        tree = pm.sample(
            200,
            tune=300,
            chains=2,
            cores=1,
            nuts_sampler="pymc",
            init="adapt_diag",
            random_seed=1,
            progressbar=False,
            quiet=True,
            compute_convergence_checks=False,
        )
    f = tree["posterior"]["f_y"].values.reshape(-1, 40)
    assert ((2 * data.labels - 1) * f > -1.0).all()
