"""The observed variable inside PyMC: data, dims, draws, graphs, interventions, samplers."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.model_graph import ModelGraph
from scipy.stats import kstest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases
from tests.gp.cases import POINT, QUICK, UNFUSED, ard, evidence_function

SILF = losses.SILF(4.0, 0.25, 0.3)
QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}


def numeric(X, y, loss=SILF, ls=POINT["ls"]):
    return bsvm.laplace_evidence(ard(X, X, ls), y, loss).log_evidence


def logs(**changes):
    return {f"{name}_log__": np.log(value) for name, value in {**POINT, **changes}.items()}


# ---- data and dims ------------------------------------------------------------------------------


def test_data_can_change(data):
    """Inputs and targets, also their number, in the graph and in predictions."""
    with pm.Model() as model:
        X, y = pm.Data("X", data.X), pm.Data("targets", data.y)
    _, gp = cases.regression(X, y, model=model)
    function = evidence_function(model)
    assert function(logs())[0] == pytest.approx(numeric(data.X, data.y), rel=1e-9)
    before = gp.predict(data.new, POINT, diag=True, model=model)[0]
    other = cases.plane(17, seed=8)
    with model:
        pm.set_data({"X": other.X, "targets": other.y})
    assert function(logs())[0] == pytest.approx(numeric(other.X, other.y), rel=1e-9)
    evidence = gp.evidence(POINT, model=model)
    assert evidence.log_evidence == pytest.approx(numeric(other.X, other.y), rel=1e-12)
    after = gp.predict(data.new, POINT, diag=True, model=model)[0]
    expected = ard(data.new, other.X, POINT["ls"]) @ evidence.solution.a
    np.testing.assert_allclose(after, expected, rtol=1e-9)
    assert np.abs(after - before).max() > 0.1
    draws = pm.draw(model["y"], 2, random_seed=1, mode=UNFUSED)
    assert draws.shape == (2, 17)


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool"])
def test_labels_as_data(data, dtype):
    with pm.Model() as model:
        labels = pm.Data("labels", data.labels.astype(dtype))
    _, gp = cases.classification(data.X, labels, model=model)
    loss = losses.Trigonometric(1.0)
    expected = numeric(data.X, 2.0 * data.labels - 1.0, loss)
    value, _ = evidence_function(model)({"ls_log__": np.log(POINT["ls"])})
    assert value == pytest.approx(expected, rel=1e-9)
    evidence = gp.evidence({"ls": POINT["ls"]}, model=model)
    assert evidence.log_evidence == pytest.approx(expected, rel=1e-12)


def test_frames_are_accepted(data):
    pandas = pytest.importorskip("pandas")
    X, y = pandas.DataFrame(data.X, columns=list("ab")), pandas.Series(data.y, np.arange(25) + 5)
    model, gp = cases.regression(X, y)
    assert evidence_function(model)(logs())[0] == pytest.approx(numeric(data.X, data.y), rel=1e-9)
    new = pandas.DataFrame(data.new)
    expected = gp.predict(data.new, POINT, model=model)
    for got, wanted in zip(gp.predict(new, POINT, model=model), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_expressions_of_data(data):
    """Inputs may be computed from data, such as some of its rows and columns."""
    wide = np.column_stack([data.X[:, 0], np.ones(25), data.X[:, 1]])
    with pm.Model() as model:
        X, y = pm.Data("X", wide), pm.Data("targets", data.y)
    _, gp = cases.regression(X[:20][:, [0, 2]], 2.0 * y[:20], model=model)
    value, _ = evidence_function(model)(logs())
    assert value == pytest.approx(numeric(data.X[:20], 2.0 * data.y[:20]), rel=1e-9)
    evidence = gp.evidence(POINT, model=model)
    assert evidence.log_evidence == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("kind", ["transposed", "negated"])
def test_functions_of_data_with_one_argument(kind, data):
    with pm.Model() as model:
        if kind == "transposed":
            X, labels = pm.Data("X", data.X.T).T, data.labels
        else:
            X, labels = data.X, -pm.Data("labels", -data.labels)
    cases.classification(X, labels, model=model)
    value, _ = evidence_function(model)({"ls_log__": np.log(POINT["ls"])})
    expected = numeric(data.X, 2.0 * data.labels - 1.0, losses.Trigonometric(1.0))
    assert value == pytest.approx(expected, rel=1e-9)


def test_dims_reach_the_results(data):
    rows = [f"row {i}" for i in range(25)]
    model, _ = cases.regression(data.X, data.y, coords={"obs": rows}, dims="obs")
    assert model.named_vars_to_dims["y"] == ("obs",)
    with model:
        idata = pm.sample_prior_predictive(3, random_seed=1, compile_kwargs=QUICK)
    assert idata["prior_predictive"]["y"].dims == ("chain", "draw", "obs")
    assert list(idata["observed_data"]["y"].coords["obs"].values) == rows
    np.testing.assert_array_equal(idata["observed_data"]["y"], data.y)


def test_labels_are_observed_as_integers(data):
    model, _ = cases.classification(data.X, data.labels.astype(float))
    observed = model.rvs_to_values[model["y"]]
    assert observed.dtype == "int64"
    np.testing.assert_array_equal(observed.eval(), data.labels)


# ---- draws --------------------------------------------------------------------------------------


def tiny(kind, **parameters):
    """Three rows, a mean, and no free variables."""
    X = np.array([[0.0], [0.7], [2.5]])
    with pm.Model() as model:
        gp = kind(
            mean_func=pm.gp.mean.Linear(coeffs=0.4, intercept=-0.2),
            cov_func=0.49 * pm.gp.cov.ExpQuad(1, ls=1.2),
        )
        y = np.zeros(3)
        gp.marginal_likelihood("y", X=X, y=y, **parameters)
    return model, 0.4 * X[:, 0] - 0.2, 0.49 * cases.expquad(X, X, 1.2)


def test_draws_of_targets():
    """Mean, covariance and distribution of draws: those of latent values plus noise."""
    model, m, K = tiny(bsvm.gp.BSVR, C=6.0, epsilon=0.3, beta=0.3, jitter=0.02)
    draws = pm.draw(model["y"], 6000, random_seed=2, mode=UNFUSED)
    loss = losses.SILF(6.0, 0.3, 0.3)
    expected = K + (0.02 + loss.variance()) * np.eye(3)
    sd = np.sqrt(np.diag(expected))
    assert np.all(np.abs(draws.mean(axis=0) - m) < 4.5 * sd / np.sqrt(6000))
    error = 4.5 * np.sqrt((np.outer(sd, sd) ** 2 + expected**2) * 1.3 / 6000)
    assert np.all(np.abs(np.cov(draws.T) - expected) < error)
    marginal = bsvm.evidence.predictive(loss, m[1], K[1, 1] + 0.02)
    assert kstest(draws[:, 1], marginal.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "loss", [losses.Trigonometric(0.8), losses.Logistic(), losses.Probit()], ids=repr
)
def test_draws_of_labels(loss):
    model, m, K = tiny(bsvm.gp.Laplace, loss=loss)
    draws = pm.draw(model["y"], 4000, random_seed=3, mode=UNFUSED)
    assert draws.dtype == "int64"
    assert set(np.unique(draws)) == {0, 1}
    share = bsvm.evidence.predictive(loss, m, np.diag(K)).probability(1)
    assert np.ptp(share) > 0.2
    error = 4.5 * np.sqrt(share * (1.0 - share) / 4000)
    assert np.all(np.abs(draws.mean(axis=0) - share) < error)
    # rows near to each other share their labels more often than independent ones would
    together = (draws[:, 0] * draws[:, 1]).mean()
    latent = np.random.default_rng(1).multivariate_normal(m, K, 200_000)
    chance = bsvm.evidence.predictive(loss, latent[:, :2], 0.0).probability(1).prod(axis=1).mean()
    assert chance > share[0] * share[1] + 0.01
    assert together == pytest.approx(chance, abs=4.5 * np.sqrt(chance / 4000))


@pytest.mark.parametrize(
    "loss", [losses.Huber(6.0, 0.3), losses.Gaussian(0.4)], ids=lambda loss: type(loss).__name__
)
def test_draws_with_other_noise(loss):
    model, m, K = tiny(bsvm.gp.Laplace, loss=loss)
    draws = pm.draw(model["y"], 3000, random_seed=4, mode=UNFUSED)
    for k in range(3):
        marginal = bsvm.evidence.predictive(loss, m[k], K[k, k])
        assert kstest(draws[:, k], marginal.cdf).pvalue > 1e-3


def test_a_singular_covariance_can_be_drawn_from():
    """Equal rows have equal latent values, without a jitter."""
    with pm.Model() as model:
        gp = bsvm.gp.Laplace(cov_func=4.0 * pm.gp.cov.ExpQuad(1, ls=1.0))
        gp.marginal_likelihood(
            "y", np.array([[0.0], [0.0], [1.0]]), np.zeros(3), losses.Gaussian(1e-3)
        )
    draws = pm.draw(model["y"], 200, random_seed=1, mode=UNFUSED)
    assert np.abs(draws[:, 0] - draws[:, 1]).max() < 0.01
    assert draws.std() > 1.0


def test_prior_predictive(data):
    """Draws follow the hyperparameters of the same draw."""
    model, _ = cases.regression(data.X, data.y)
    with model:
        idata = pm.sample_prior_predictive(300, random_seed=5, compile_kwargs=QUICK)
    y = idata["prior_predictive"]["y"].values[0]
    assert y.shape == (300, 25)
    assert np.isfinite(y).all()
    # with the amplitude fixed, rough functions have less variance in the mean over the rows
    rough = idata["prior"]["ls"].values[0].max(axis=1) < 0.8
    assert y.mean(axis=1)[rough].std() < y.mean(axis=1)[~rough].std()


def test_support_points(data):
    """Without a value, the model starts at the prior mean, or at the more probable label."""
    model, m, _ = tiny(bsvm.gp.BSVR, C=6.0, epsilon=0.3)
    rv = model["y"]
    point = pm.distributions.distribution.support_point(rv).eval(mode=UNFUSED)
    np.testing.assert_allclose(point, m, rtol=1e-14)
    model, m, _ = tiny(bsvm.gp.BTSVC)
    point = pm.distributions.distribution.support_point(model["y"]).eval(mode=UNFUSED)
    np.testing.assert_array_equal(point, m > 0.0)


# ---- graphs -------------------------------------------------------------------------------------


def test_the_graph_knows_what_the_targets_depend_on(data):
    with pm.Model() as model:
        X = pm.Data("X", data.X)
    cases.regression(X, data.y, model=model)
    graph = ModelGraph(model).make_compute_graph()
    assert graph["y"] == {"X", "ls", "C", "epsilon"}
    model, _ = cases.classification(data.X, data.labels)
    assert ModelGraph(model).make_compute_graph()["y"] == {"ls"}


def test_printed_form(data):
    for build, name in ((cases.regression, "BSVR"), (cases.classification, "BTSVC")):
        y = data.y if name == "BSVR" else data.labels
        text = build(data.X, y).model.str_repr()
        assert f"y ~ {name}" in text


def test_frozen_data(data):
    with pm.Model(coords={"obs": range(25)}) as model:
        X, y = pm.Data("X", data.X), pm.Data("targets", data.y, dims="obs")
    cases.regression(X, y, model=model, dims="obs")
    frozen = freeze_dims_and_data(model)
    assert not [v for v in frozen.data_vars if hasattr(v, "get_value")]
    value, gradient = evidence_function(frozen)(logs())
    expected, slope = evidence_function(model)(logs())
    assert value == pytest.approx(expected, rel=1e-13)
    for name in slope:
        np.testing.assert_allclose(gradient[name], slope[name], rtol=1e-10)
    assert pm.draw(frozen["y"], random_seed=1, mode=UNFUSED).shape == (25,)


def test_do_and_observe(data):
    """An intervention is a constant; what is observed keeps its prior in the log probability."""
    model, _ = cases.regression(data.X, data.y)
    done = pm.do(model, {"C": 4.0})
    assert {v.name for v in done.free_RVs} == {"ls", "epsilon"}
    at = {name: value for name, value in logs().items() if name != "C_log__"}
    expected = numeric(data.X, data.y)
    assert evidence_function(done)(at)[0] == pytest.approx(expected, rel=1e-9)
    seen = pm.observe(model, {"C": 4.0})
    assert {v.name for v in seen.free_RVs} == {"ls", "epsilon"}
    assert evidence_function(seen)(at)[0] == pytest.approx(expected, rel=1e-9)
    logp = [m.compile_logp(mode=UNFUSED)(at) for m in (seen, done)]
    prior = pm.logp(pm.LogNormal.dist(1.0, 0.5), 4.0).eval(mode=UNFUSED)
    assert logp[0] - logp[1] == pytest.approx(float(prior), rel=1e-9)
    draws = pm.draw(pm.do(model, {"y": np.zeros(25)})["y"], mode=UNFUSED)
    np.testing.assert_array_equal(draws, np.zeros(25))


def test_prediction_in_a_model_with_an_intervention(data):
    model, gp = cases.regression(data.X, data.y)
    done = pm.do(model, {"C": POINT["C"]})
    rest = {name: value for name, value in POINT.items() if name != "C"}
    expected = gp.predict(data.new, POINT, diag=True, model=model)
    got = gp.predict(data.new, rest, diag=True, model=done)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


# ---- optimisers and samplers --------------------------------------------------------------------


def test_find_map(data):
    """No gradient is left in the sampler's coordinates, and no neighbour is more probable."""
    model, _ = cases.regression(data.X, data.y)
    with model:
        result = pm.find_MAP(
            initvals={"C": 5.0},
            progressbar=False,
            return_inferencedata=True,
            jitter=False,
            compile_kwargs=QUICK,
        )
    found = {name: x.values[0, 0] for name, x in result["posterior"].items()}
    found |= {f"{name}_log__": np.log(x) for name, x in found.items()}
    at = {name: found[name] for name in model.initial_point()}
    logp = model.compile_logp(mode=UNFUSED, jacobian=False)
    gradient = model.compile_dlogp(mode=UNFUSED, jacobian=False)(at)
    assert np.abs(gradient).max() < 1e-2
    best = float(logp(at))
    assert best > float(logp(model.initial_point())) + 1.0
    for name in at:
        for step in (-0.1, 0.1):
            assert float(logp({**at, name: at[name] + step})) < best


@pytest.mark.slow
def test_default_sampler_and_conditional(data):
    """`pm.sample()` as it comes, then draws of the latent values at new rows."""
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        cov_func = 1.4 * pm.gp.cov.ExpQuad(2, ls=ls) + pm.gp.cov.Constant(0.5)
        gp = bsvm.gp.BSVR(cov_func=cov_func)
        gp.marginal_likelihood("y", X=data.X, y=data.y, C=4.0, epsilon=0.25, beta=1.0)
        idata = pm.sample(250, tune=150, chains=2, cores=1, random_seed=6, **QUIET)
        gp.conditional("f_new", data.new)
        pm.sample_posterior_predictive(
            idata,
            var_names=["f_new"],
            random_seed=6,
            progressbar=False,
            extend_inferencedata=True,
            compile_kwargs=QUICK,
        )
    assert int(idata["sample_stats"]["diverging"].sum()) == 0
    draws = idata["posterior"]["ls"].values.ravel()
    # the density on a grid
    axis = np.linspace(-2.5, 2.0, 150)
    loss = losses.SILF(4.0, 0.25, 1.0)
    log_density = [numeric(data.X, data.y, loss, np.exp(u)) - 2.0 * u**2 for u in axis]
    weight = np.exp(log_density - np.max(log_density))
    mean = np.average(axis, weights=weight)
    sd = np.sqrt(np.average((axis - mean) ** 2, weights=weight))
    size = float(az.ess(np.log(idata["posterior"]["ls"])))
    assert size > 80
    assert abs(np.log(draws).mean() - mean) < 4.5 * sd / np.sqrt(size)
    assert np.log(draws).std() == pytest.approx(sd, rel=4.5 / np.sqrt(2.0 * size))
    # the mixture of the conditional Gaussians over the draws
    f = idata["posterior_predictive"]["f_new"].values.reshape(-1, 9)
    moments = [gp.predict(data.new, {"ls": v}, diag=True, model=model) for v in draws[::10]]
    centres, variances = map(np.array, zip(*moments, strict=True))
    variance = variances.mean(axis=0) + centres.var(axis=0)
    error = np.sqrt(variance / len(f)) + centres.std(axis=0) / np.sqrt(len(draws[::10]))
    assert np.all(np.abs(f.mean(axis=0) - centres.mean(axis=0)) < 5.0 * error)
    np.testing.assert_allclose(f.var(axis=0), variance, rtol=0.4)


def grid_of_two(model, names, axes):
    """Return the mean of each variable's log by summation over a grid of logs."""
    logp = model.compile_logp(mode=UNFUSED)
    keys = [f"{name}_log__" for name in names]
    table = np.array(
        [[logp(dict(zip(keys, (u, v), strict=True))) for v in axes[1]] for u in axes[0]]
    )
    weight = np.exp(table - table.max())
    return [np.average(axes[k], weights=weight.sum(axis=1 - k)) for k in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["pymc", "forkserver", "nutpie", "smc", "slice"])
def test_samplers_agree_with_a_grid(sampler, data):
    with pm.Model() as model:
        ls, C = pm.LogNormal("ls", 0.0, 0.5), pm.LogNormal("C", 1.0, 0.5)
        cov_func = 1.4 * pm.gp.cov.ExpQuad(2, ls=ls) + pm.gp.cov.Constant(0.5)
        curvature = "exact" if sampler == "slice" else "smooth"
        gp = bsvm.gp.BSVR(cov_func=cov_func)
        gp.marginal_likelihood(
            "y", data.X, data.y, C=C, epsilon=0.25, beta=1.0, curvature=curvature
        )
        arguments = {"draws": 500, "chains": 2, "random_seed": 7, "cores": 1, **QUIET}
        if sampler == "smc":
            del arguments["quiet"]
            idata = pm.sample_smc(**arguments)
        elif sampler == "slice":
            idata = pm.sample(tune=200, step=pm.Slice(), **arguments)
        elif sampler == "forkserver":
            arguments |= {"cores": 2, "mp_ctx": "forkserver"}
            idata = pm.sample(tune=300, nuts_sampler="pymc", **arguments)
        else:
            idata = pm.sample(tune=300, nuts_sampler=sampler, **arguments)
    axes = np.linspace(-2.0, 2.0, 40), np.linspace(-1.0, 3.5, 40)
    for name, expected in zip(("ls", "C"), grid_of_two(model, ("ls", "C"), axes), strict=True):
        draws = np.log(idata["posterior"][name])
        error = float(draws.std()) / np.sqrt(float(az.ess(draws)))
        assert abs(float(draws.mean()) - expected) < 5.0 * error, name


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["pymc", "nutpie"])
def test_sinc_with_200_rows(sampler):
    """Four hyperparameters under the priors of the documentation's example."""
    X, y = bsvm.datasets.sinc(200, noise="silf", random_state=0)
    X = X / X.std()
    with pm.Model():
        ls, eta = pm.InverseGamma("ls", 3, 1), pm.HalfNormal("eta", 1.0)
        C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
        cov_func = eta**2 * pm.gp.cov.ExpQuad(1, ls=ls) + pm.gp.cov.Constant(100.0)
        gp = bsvm.gp.BSVR(cov_func=cov_func)
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, beta=0.3)
        idata = pm.sample(
            1000, tune=1000, chains=4, cores=2, random_seed=8, nuts_sampler=sampler,
            mp_ctx="forkserver" if sampler == "pymc" else None, **QUIET,
        )  # fmt: skip
    summary = az.summary(idata, round_to="none")
    assert summary["r_hat"].max() < 1.01
    assert float(idata["sample_stats"]["diverging"].mean()) < 0.01
    assert float(idata["sample_stats"]["n_steps"].mean()) <= 40.0
    # the noise that the targets were drawn with
    assert np.log(10.0) == pytest.approx(float(np.log(idata["posterior"]["C"]).mean()), abs=0.7)
    assert 0.05 < float(idata["posterior"]["epsilon"].mean()) < 0.2
