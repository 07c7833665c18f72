"""Draws of the hyperparameters from the machine's own evaluations, against the PyMC model."""

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytest
from scipy.optimize import approx_fprime

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, kernels
from pymc_bsvm.estimators.density import LogDensity
from pymc_bsvm.estimators.machine import Machine
from pymc_bsvm.losses import Trigonometric
from tests.estimators import cases

pytestmark = [cases.ANY_END, pytest.mark.usefixtures("quick")]

FITS = {
    "one length-scale": BayesianSVR(tol=1.0),
    "two length-scales": BayesianSVR(ard=True, tol=1.0),
    "a sum": BayesianSVR(kernels.RBF(ard=True) + kernels.Matern32(ard=True), tol=1.0),
    "propagation": BayesianSVR(approximation="ep", tol=1.0),
    "labels": BayesianSVC(),
    "labels, Laplace": BayesianSVC(approximation="laplace"),
}


@pytest.fixture(scope="module")
def data():
    return cases.plane(30)


def trained(estimator, data):
    """Return what a fit found."""
    labels = isinstance(estimator, BayesianSVC)
    fit = estimator.fit(data.X, data.labels if labels else data.y)
    return fit._trained[0] if labels else fit._trained


def splits(point):
    """Return where the gradient with respect to one variable ends and that of the next begins."""
    return np.cumsum([np.size(value) for value in point.values()])[:-1]


@pytest.mark.parametrize("name", FITS)
def test_the_density_is_that_of_the_model(name, data):
    """Value and gradient, with the priors, as a density of the logarithms."""
    found = trained(FITS[name], data)
    density, (model, _) = LogDensity(found.objective), found.to_pymc()
    names = [h.variable for h in found.machine.blueprint.hyperparameters]
    logp, dlogp = model.compile_logp(), model.compile_dlogp()
    rng = np.random.default_rng(0)
    order = [value.name.removesuffix("_log__") for value in model.value_vars]
    for x in np.log(found.machine.values) + 0.3 * rng.normal(size=(3, len(names))):
        point = {
            value.name: x[[k for k, of in enumerate(names) if of == variable]]
            for value, variable in zip(model.value_vars, order, strict=True)
        }
        for value in model.value_vars:
            if value.ndim == 0:
                point[value.name] = point[value.name][0]
        u = density.coordinates(x)
        np.testing.assert_allclose(density.logarithms(u), x, rtol=1e-12, atol=1e-12)
        value, slope = density(u)
        assert value == pytest.approx(float(logp(point)), abs=1e-4)
        expected = dict(zip(order, np.split(dlogp(point), splits(point)), strict=True))
        of_x = np.concatenate([expected.pop(of) for of in dict.fromkeys(names)])
        jacobian = approx_fprime(u, density.logarithms, 1e-7)
        assert abs(np.linalg.det(jacobian)) == pytest.approx(1.0, rel=1e-6)
        atol = 1e-3 * (1.0 + np.abs(of_x).max())
        np.testing.assert_allclose(slope, of_x @ jacobian, atol=atol)


def test_far_from_the_prior_there_is_nothing(data):
    density = LogDensity(trained(BayesianSVR(tol=1.0), data).objective)
    for far in (40.0, -40.0, 1e3, np.inf, np.nan):
        value, slope = density(np.array([0.0, 0.0, far, 0.0]))
        assert value == -np.inf
        np.testing.assert_array_equal(slope, np.zeros(4))
    assert density.evaluations == 0


@pytest.mark.parametrize("name", ["one length-scale", "labels"])
def test_evaluations_depend_on_their_point_alone(name, data):
    """So that chains say the same wherever they run, and in which order."""
    found = trained(FITS[name], data)
    density, mode = LogDensity(found.objective), np.log(found.machine.values)
    assert density.moments(density.coordinates(mode)) is not None
    points = density.coordinates(mode) + 0.3 * np.random.default_rng(1).normal(size=(5, mode.size))
    first = [density(x) for x in points]
    again = [density(x) for x in points[::-1]][::-1]
    assert [value for value, _ in first] == [value for value, _ in again]
    for (_, one), (_, other) in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def labelled():
    data = cases.line(30)
    settings = {"draws": 300, "chains": 3}
    fit = BayesianSVC(approximation="laplace", full_bayes=True, sampler=settings, random_state=0)
    return data, fit.fit(data.X, data.labels)


def test_moments_are_those_of_a_grid(labelled):
    """Within four Monte Carlo errors; a grid of twice the points moves them by less than one."""
    data, fit = labelled
    posterior = fit.datatree_["posterior"]
    starts = {h.name: h.start for h in fit._trained[0].machine.blueprint.hyperparameters}
    assert starts == {"eta": 1.0, "ls": 1.0}
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    signs, loss = 2.0 * data.labels - 1.0, Trigonometric(1.0)
    grid = {"eta": np.linspace(-4.0, 6.5, 43), "ls": np.linspace(-4.0, 3.5, 31)}
    logs = np.empty((43, 31))
    for i, eta in enumerate(grid["eta"]):
        for j, ls in enumerate(grid["ls"]):
            K = cases.rbf(X, X, np.exp(eta), np.exp(ls)) + 100.0
            found = bsvm.laplace_evidence(K, signs, loss)
            logs[i, j] = found.log_evidence - 0.5 * (eta**2 + ls**2) / 1.5**2
    p = np.exp(logs - logs.max())
    p /= p.sum()
    for axis, name in enumerate(grid):
        of_name, x = p.sum(axis=1 - axis), grid[name]
        assert max(of_name[0], of_name[-1]) < 1e-4
        mean = of_name @ x
        draws = np.log(posterior[name].values)
        assert abs(draws.mean() - mean) < 4.0 * azs.mcse(draws, method="mean")
        sd = np.sqrt(of_name @ (x - mean) ** 2)
        assert abs(draws.std() - sd) < 4.0 * azs.mcse(draws, method="sd")


def test_chains_mix(labelled):
    """900 draws are worth 150 independent ones at least (204 when this was written)."""
    posterior = labelled[1].datatree_["posterior"]
    for name in ("eta", "ls"):
        assert azs.ess(posterior[name].values, method="bulk") > 150
        assert azs.rhat(posterior[name].values) < 1.05


def test_the_tree_is_that_of_the_model(labelled):
    data, fit = labelled
    tree = fit.datatree_
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data"}
    assert dict(tree["posterior"].sizes) == {"chain": 3, "draw": 300}
    assert set(tree["posterior"].data_vars) == {"eta", "ls"}
    observed = tree["observed_data"]["y"]
    assert observed.dims == ("y_dim_0",)
    np.testing.assert_array_equal(observed, data.labels)
    model, _ = fit.to_pymc()
    logp = model.compile_logp()
    one = tree.isel(chain=0, draw=7)
    point = {f"{name}_log__": np.log(one["posterior"][name].item()) for name in ("eta", "ls")}
    assert one["sample_stats"]["lp"].item() == pytest.approx(float(logp(point)), abs=1e-4)


def test_vectors_of_columns(data):
    settings = {"draws": 5, "tune": 5, "chains": 1, "nuts": {"max_treedepth": 3}}
    fit = BayesianSVR(ard=True, full_bayes=True, sampler=settings, random_state=0, tol=1.0)
    posterior = fit.fit(data.X, data.y).datatree_["posterior"]
    assert dict(posterior.sizes) == {"chain": 1, "draw": 5, "ls_dim_0": 2}
    assert posterior["ls"].dims == ("chain", "draw", "ls_dim_0")
    assert len(fit._trained.members) == 5
    for k, member in enumerate(fit._trained.members):
        named = [float(posterior[name][0, k]) for name in ("C", "epsilon", "eta")]
        np.testing.assert_array_equal(member.values, [*named, *posterior["ls"].values[0, k]])


def test_a_kernel_that_pymc_does_not_know(data):
    def gram(X, Z):
        return cases.rbf(X, Z, 1.0, 1.0)

    settings = {"draws": 5, "tune": 5, "chains": 1}
    fit = BayesianSVR(gram, full_bayes=True, sampler=settings, random_state=0, tol=1.0)
    assert set(fit.fit(data.X, data.y).datatree_["posterior"].data_vars) == {"C", "epsilon", "eta"}


@pytest.mark.parametrize("setting", [{"init": "adapt_diag"}, {"compile_kwargs": {}}])
def test_other_settings_are_those_of_the_model(setting, data, monkeypatch):
    """They reach `pm.sample` with the model of `to_pymc`."""
    seen = []
    draw = pm.sample

    def sample(**arguments):
        seen.append(arguments)
        return draw(**arguments)

    monkeypatch.setattr(pm, "sample", sample)
    settings = {"draws": 5, "tune": 5, "chains": 1, "cores": 1, "max_treedepth": 2, **setting}
    BayesianSVC(full_bayes=True, sampler=settings, random_state=0).fit(data.X, data.labels)
    (arguments,) = seen
    assert {v.name for v in arguments["model"].free_RVs} == {"eta", "ls"}
    assert settings.items() <= arguments.items()


def test_evaluations_of_a_fit(monkeypatch):
    """A draw costs five evaluations or so, and a step of the solver or two each."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-10.0, 10.0, 60)
    y = np.sinc(x / np.pi) + 0.1 * rng.normal(size=60)
    made = []
    moments_of = LogDensity.moments

    def moments(self, mode):
        made.append(self)
        return moments_of(self, mode)

    monkeypatch.setattr(LogDensity, "moments", moments)
    fit = BayesianSVR(full_bayes=True, random_state=0).fit(x[:, None], y)
    (density,) = made
    assert density.evaluations < 6000
    draws = fit.datatree_["posterior"]
    assert dict(draws.sizes) == {"chain": 2, "draw": 250}
    for name in ("C", "epsilon", "eta", "ls"):
        assert azs.ess(np.log(draws[name].values), method="bulk") > 100


def test_without_a_gaussian_a_diagonal_metric_is_adapted(data, monkeypatch):
    monkeypatch.setattr(LogDensity, "moments", lambda self, mode: None)
    settings = {"draws": 5, "tune": 20, "chains": 2}
    fit = BayesianSVC(full_bayes=True, sampler=settings, random_state=0)
    tree = fit.fit(data.X, data.labels).datatree_
    assert dict(tree["posterior"].sizes) == {"chain": 2, "draw": 5}
    assert all(isinstance(member, Machine) for member in fit._trained[0].members)
