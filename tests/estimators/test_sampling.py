"""The PyMC model of a fit gives the same numbers; NUTS on its evidence."""

import os
import re
import signal

import numpy as np
import pymc as pm
import pytest
from sklearn.exceptions import ConvergenceWarning

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, kernels
from pymc_bsvm.estimators.likelihood import silf_likelihood
from pymc_bsvm.estimators.machine import Blueprint, Machine, MachineEvidence
from pymc_bsvm.estimators.sampling import model_of
from pymc_bsvm.losses import SILF
from tests.estimators import cases

pytestmark = [cases.ANY_END, pytest.mark.usefixtures("quick")]

KERNELS = {
    "rbf": {"kernel": "rbf"},
    "ard": {"kernel": "rbf", "ard": True},
    "matern32": {"kernel": "matern32", "ard": True},
    "matern52": {"kernel": "matern52"},
    "linear": {"kernel": "linear"},
    "linear ard": {"kernel": "linear", "ard": True},
    "periodic": {"kernel": "periodic"},
    "sum": {"kernel": kernels.RBF() + kernels.Linear()},
    "sum of one kind": {"kernel": kernels.RBF() + kernels.Matern32()},
    "sum with scales": {"kernel": kernels.RBF(ard=True) + kernels.Linear()},
    "sum with scales twice": {"kernel": kernels.RBF(ard=True) + kernels.Matern32(ard=True)},
    "sum with and without": {"kernel": kernels.RBF() + kernels.Matern32(ard=True) + kernels.RBF()},
    "of PyMC": {"kernel": pm.gp.cov.ExpQuad(2, ls=0.8)},
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


@pytest.fixture(scope="module")
def data():
    return cases.plane(30)


def point_of(named, model):
    """Return the point of a model: elements ``name[k]`` are those of a vector ``name``."""
    point = {}
    for variable in model.free_RVs:
        values = [v for key, v in named.items() if re.sub(r"\[\d+\]", "", key) == variable.name]
        assert values, variable.name
        point[variable.name] = np.array(values) if variable.ndim else values[0]
    assert sum(np.size(v) for v in point.values()) == len(named)
    return point


def standardised(x, by):
    return (x - by.mean(axis=0)) / by.std(axis=0)


@every_kernel
def test_regression(name, data):
    """Both are the same model at the same hyperparameters."""
    fit = BayesianSVR(**KERNELS[name], tol=1.0).fit(data.X, data.y)
    model, gp = fit.to_pymc()
    point = point_of(fit._trained.machine.named, model)
    unit = data.y.std()
    evidence = gp.evidence(point, model=model)
    shift = -30 * np.log(unit)
    assert fit.log_evidence_ == pytest.approx(evidence.log_evidence + shift, abs=1e-6)
    np.testing.assert_array_equal(np.flatnonzero(evidence.solution.a), fit.support_)
    new = standardised(data.new, data.X)
    noise = fit.noise_.scaled(1.0 / unit)
    mean, variance = gp.predict(new, point, diag=True, model=model)
    variance = variance + noise.variance()
    got = fit.predict(data.new, return_std=True)
    np.testing.assert_allclose(got[0], data.y.mean() + unit * mean, rtol=1e-6)
    np.testing.assert_allclose(got[1], unit * np.sqrt(variance), rtol=1e-6)
    distribution = gp.at(point, model=model).predictive(new, noise=noise)
    t = data.new[:, 1] + 50.0
    density = fit.log_predictive_density(data.new, t)
    expected = distribution.logpdf(standardised(t, data.y)) - np.log(unit)
    np.testing.assert_allclose(density, expected, rtol=1e-6)
    quantile = data.y.mean() + unit * distribution.quantile(0.1)
    np.testing.assert_allclose(fit.predict_quantiles(data.new, 0.1), quantile, rtol=1e-6)


@every_kernel
def test_classification(name, data):
    fit = BayesianSVC(**KERNELS[name]).fit(data.X, data.labels)
    model, gp = fit.to_pymc()
    point = point_of(fit._trained[0].machine.named, model)
    evidence = gp.evidence(point, model=model)
    assert fit.log_evidence_ == pytest.approx(evidence.log_evidence, abs=1e-6)
    new = standardised(data.new, data.X)
    probability = gp.predict_proba(new, point, model=model)
    np.testing.assert_allclose(fit.predict_proba(data.new)[:, 1], probability, rtol=1e-5)


def test_one_of_three_classes():
    X, labels = cases.three_classes(45)
    fit = BayesianSVC().fit(X, labels)
    model, gp = fit.to_pymc("elm")
    point = point_of(fit._trained[1].machine.named, model)
    evidence = gp.evidence(point, model=model).log_evidence
    assert fit.log_evidence_[1] == pytest.approx(evidence, abs=1e-6)
    observed = model.rvs_to_values[model["y"]].data
    np.testing.assert_array_equal(observed, (labels == "elm").astype(int))


def test_a_sum_of_kernels_with_scales(data):
    """Each scale finds its place, whichever variable it is part of."""
    X, y = standardised(data.X, data.X), standardised(data.y, data.y)
    kernel = kernels.RBF(ard=True) + kernels.Matern32(ard=True)
    objective = MachineEvidence(Blueprint(kernel, silf_likelihood(0.3), 100.0, 2), X, y, None)
    values = np.array([5.0, 0.1, 0.6, 0.5, 2.0, 0.9, 3.0, 0.8])
    machine = Machine.at(objective, values)
    K = cases.rbf(X, X, 0.6, [0.5, 2.0]) + cases.matern32(X, X, 0.9, [3.0, 0.8]) + 100.0
    expected = bsvm.laplace_evidence(K, y, SILF(5.0, 0.1, 0.3)).log_evidence
    assert machine.log_evidence == pytest.approx(expected, rel=1e-9)
    model, gp = model_of(objective)
    got = gp.evidence(point_of(machine.named, model), model=model).log_evidence
    assert got == pytest.approx(expected, rel=1e-9)


def test_the_priors_are_around_the_starts(data):
    fit = BayesianSVR(ard=True, tol=1.0).fit(data.X, data.y)
    model, _ = fit.to_pymc()
    assert {v.name for v in model.free_RVs} == {"C", "epsilon", "eta", "ls"}
    draws = pm.draw(model["ls"], draws=2000, random_seed=0)
    assert draws.shape == (2000, 2)
    np.testing.assert_allclose(np.log(draws).std(axis=0), 1.5, rtol=0.1)
    start = np.log(np.sqrt(2.0))  # of length-scales for two columns
    np.testing.assert_allclose(np.log(draws).mean(axis=0), start, atol=0.2)
    observed = model.rvs_to_values[model["y"]].data
    np.testing.assert_allclose(observed, standardised(data.y, data.y), rtol=1e-12)


def test_what_has_no_model(data):
    weighted = BayesianSVR(tol=1.0).fit(data.X, data.y, sample_weight=np.ones(30))
    with cases.refused(ValueError, "sample_weight"):
        weighted.to_pymc()

    def gram(X, Z):
        return cases.rbf(X, Z, 1.0, 1.0)

    with cases.refused(ValueError, "PyMC"):
        BayesianSVR(gram, tol=1.0).fit(data.X, data.y).to_pymc()
    with cases.refused(ValueError, "PyMC"):
        BayesianSVR("precomputed", tol=1.0).fit(gram(data.X, data.X), data.y).to_pymc()
    with cases.refused(ValueError, "class_weight"):
        BayesianSVC(class_weight="balanced").fit(data.X, data.labels).to_pymc()


def test_the_mode_is_a_tree(data):
    fit = BayesianSVR(ard=True, tol=1.0).fit(data.X, data.y)
    posterior = fit.datatree_["posterior"]
    assert {v.split("[")[0] for v in posterior.data_vars} == {"C", "epsilon", "eta", "ls"}
    assert posterior["C"].dims == ("chain", "draw")
    value = float(posterior["C"].values.item())
    assert value == pytest.approx(fit.hyperparameters_[0]["C"] * data.y.std(), rel=1e-12)
    stats = fit.datatree_["sample_stats"]
    assert stats["n_support"].values.item() == fit.support_.size
    unit = data.y.std()
    assert stats["log_evidence"].values.item() == pytest.approx(
        fit.log_evidence_ + 30 * np.log(unit), rel=1e-9
    )
    assert posterior.attrs["inference_method"] == "evidence"


# ---- draws of the hyperparameters ---------------------------------------------------------------


@pytest.fixture(scope="module")
def sampled():
    data = cases.line(25)
    settings = {"draws": 8, "tune": 5, "chains": 2}
    fit = BayesianSVR(
        full_bayes=True, sampler=settings, random_state=0, tol=1.0, beta=0.3, noise="model"
    )
    return data, fit.fit(data.X, data.y)


def test_predictions_are_averages_over_draws(sampled):
    data, fit = sampled
    posterior = fit.datatree_["posterior"]
    assert dict(posterior.sizes)["chain"] == 2
    assert dict(posterior.sizes)["draw"] == 8
    X, new = standardised(data.X, data.X), standardised(data.new, data.X)
    y, unit = standardised(data.y, data.y), data.y.std()
    draws = {name: posterior[name].values.ravel() for name in ("C", "epsilon", "eta", "ls")}
    means, variances = [], []
    for C, epsilon, eta, ls in zip(*draws.values(), strict=True):
        loss = SILF(C, epsilon, 0.3)
        k = [cases.rbf(a, b, eta, ls) + 100.0 for a, b in ((X, X), (X, new), (new, new))]
        mean, covariance = cases.moments(k[0], y, loss, k[1], k[2])
        means.append(mean)
        variances.append(np.diag(covariance))
    mean, std = fit.predict(data.new, return_std=True)
    np.testing.assert_allclose(mean, data.y.mean() + unit * np.mean(means, axis=0), atol=1e-5)
    total = np.mean(variances, axis=0) + np.var(means, axis=0)
    noise = fit.noise_.variance()  # one for all draws
    np.testing.assert_allclose(std, np.sqrt(unit**2 * total + noise), rtol=1e-4)
    low, high = fit.predict_interval(data.new)
    t = np.linspace(-60.0, 60.0, 60_001)
    density = np.exp(fit.log_predictive_density(np.tile(data.new[0], (t.size, 1)), t))
    inside = (low[0] <= t) & (t <= high[0])
    assert np.trapezoid(density, t) == pytest.approx(1.0, abs=1e-3)
    assert np.trapezoid(density * inside, t) == pytest.approx(0.9, abs=2e-3)
    draws = fit.sample_y(data.new, 4000, random_state=0)
    assert (np.abs(draws.mean(axis=1) - mean) < 5.0 * std / np.sqrt(4000)).all()
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.3)


def test_probabilities_are_averages_over_draws():
    data = cases.line(25)
    settings = {"draws": 10, "tune": 5, "chains": 1, "nuts_sampler": "pymc"}
    fit = BayesianSVC(approximation="laplace", full_bayes=True, sampler=settings, random_state=0)
    fit.fit(data.X, data.labels)
    X, new = standardised(data.X, data.X), standardised(data.new, data.X)
    posterior, each = fit.datatree_["posterior"], []
    signs = 2.0 * data.labels - 1.0
    for eta, ls in zip(
        posterior["eta"].values.ravel(), posterior["ls"].values.ravel(), strict=True
    ):
        k = [cases.rbf(a, b, eta, ls) + 100.0 for a, b in ((X, X), (X, new), (new, new))]
        mean, covariance = cases.moments(k[0], signs, bsvm.losses.Trigonometric(1.0), k[1], k[2])
        each.append(cases.probability(mean, np.diag(covariance)))
    p = fit.predict_proba(data.new)
    np.testing.assert_allclose(p[:, 1], np.mean(each, axis=0), atol=1e-4)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fit.predict(data.new), (p[:, 1] > 0.5).astype(int))


def pressed_at(tuning, draw):
    """Return settings of a sampler in which Ctrl-C is pressed at a draw, by a real signal."""

    def callback(trace, draw):
        if draw.tuning == at[0] and draw.draw_idx == at[1]:
            os.kill(os.getpid(), signal.SIGINT)

    at = tuning, draw
    settings = {"draws": 12, "tune": 6, "chains": 1, "cores": 1, "callback": callback}
    return {**settings, "compute_convergence_checks": False, "nuts": {"max_treedepth": 2}}


def test_an_interrupted_sampler_keeps_its_draws(data):
    sampler = pressed_at(False, 11)
    model = BayesianSVR(full_bayes=True, sampler=sampler, tol=1.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"averages over the \d+ draws so far"):
        model.fit(data.X, data.y)
    draws = model.datatree_["posterior"].sizes["draw"]
    assert 0 < draws < 12
    assert len(model._trained.members) == draws


def test_an_interruption_while_the_sampler_is_tuned_leaves_nothing(data):
    sampler = pressed_at(True, 2)
    model = BayesianSVR(full_bayes=True, sampler=sampler, tol=1.0, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data.X, data.y)
    assert not hasattr(model, "n_features_in_")
