"""Sparse models inside PyMC: draws, conditionals, sums, data that change, samplers, all latents."""

import warnings

import arviz as az
import jax
import numpy as np
import pymc as pm
import pytensor
import pytest
from pymc.sampling.jax import get_jaxified_logp

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases
from tests.gp.cases import POINT, QUICK, UNFUSED, evidence_function, expquad

QUIET = {"progressbar": False, "quiet": True, "compute_convergence_checks": False}
XU = np.array([[-1.5, -1.0], [-0.5, 1.0], [0.2, -0.4], [0.9, 1.3], [1.6, -1.2], [0.0, 0.5]])
LOGS = {f"{name}_log__": np.log(POINT[name]) for name in ("ls", "C")}


def regression(data, approx="VFE", *, X=None, y=None, Xu=XU, model=None):
    """Return a model with priors, whose free variables are `ls` and `C`."""
    with model or pm.Model() as model:
        ls, C = pm.LogNormal("ls", 0.0, 0.5, shape=2), pm.LogNormal("C", 1.0, 0.5)
        gp = bsvm.gp.SparseBSVR(approx, cov_func=cases.ard_cov(ls))
        X, y = data.X if X is None else X, data.y if y is None else y
        gp.marginal_likelihood("y", X=X, Xu=Xu, y=y, C=C, epsilon=POINT["epsilon"])
    return model, gp


# ---- draws --------------------------------------------------------------------------------------


def tiny(approx, **parameters):
    """Three rows, one of which is an inducing point, and no free variables."""
    X, Xu = np.array([[0.0], [0.7], [2.5]]), np.array([[0.0], [1.5]])
    with pm.Model() as model:
        gp = bsvm.gp.SparseLaplace(
            approx,
            mean_func=pm.gp.mean.Linear(coeffs=0.4, intercept=-0.2),
            cov_func=0.49 * pm.gp.cov.ExpQuad(1, ls=1.2),
        )
        gp.marginal_likelihood("y", X, Xu, np.zeros(3), **parameters)
    K, cross = 0.49 * expquad(Xu, Xu, 1.2), 0.49 * expquad(Xu, X, 1.2)
    Q = cross.T @ np.linalg.solve(K + 1e-6 * np.eye(2), cross)
    if approx == "VFE":
        Q[np.diag_indices(3)] = 0.49
    return model, 0.4 * X[:, 0] - 0.2, Q


@pytest.mark.parametrize("approx", ["VFE", "DTC"])
def test_draws_of_targets(approx):
    """The covariance that the inducing points explain; with VFE the variances of the prior."""
    loss = losses.Gaussian(0.3)
    model, m, Q = tiny(approx, loss=loss)
    draws = pm.draw(model["y"], 6000, random_seed=2, mode=UNFUSED)
    expected = Q + 0.09 * np.eye(3)
    sd = np.sqrt(np.diag(expected))
    assert np.all(np.abs(draws.mean(axis=0) - m) < 4.5 * sd / np.sqrt(6000))
    error = 4.5 * np.sqrt((np.outer(sd, sd) ** 2 + expected**2) / 6000)
    assert np.all(np.abs(np.cov(draws.T) - expected) < error)


def test_draws_of_labels():
    model, m, Q = tiny("DTC", loss=losses.Trigonometric(0.8))
    draws = pm.draw(model["y"], 4000, random_seed=3, mode=UNFUSED)
    share = bsvm.evidence.predictive(losses.Trigonometric(0.8), m, np.diag(Q)).probability(1)
    error = 4.5 * np.sqrt(share * (1.0 - share) / 4000)
    assert draws.dtype == "int64"
    assert np.all(np.abs(draws.mean(axis=0) - share) < error)


def test_prior_predictive(data):
    model, _ = regression(data)
    with model:
        idata = pm.sample_prior_predictive(5, random_seed=5, compile_kwargs=QUICK)
    assert idata["prior_predictive"]["y"].shape == (1, 5, 25)


# ---- conditionals and predictions ---------------------------------------------------------------


@pytest.mark.parametrize("approx", ["VFE", "DTC"])
def test_conditional_has_the_moments_of_predict(approx, data):
    model, gp = regression(data, approx)
    with model:
        f = gp.conditional("f_new", data.new, jitter=0.0)
    mean, covariance = gp.predict(data.new, POINT, model=model)
    given = {model["ls"]: POINT["ls"], model["C"]: POINT["C"]}
    for symbol, number in zip(f.owner.inputs[2:4], (mean, covariance), strict=True):
        np.testing.assert_allclose(symbol.eval(given, mode=UNFUSED), number, atol=1e-10)
    variance = gp.predict(data.new, POINT, diag=True, model=model)[1]
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-10)


def test_far_from_the_data_the_prior_is_left(data):
    _, gp = model_and_gp = regression(data)
    far = np.array([[40.0, -40.0]])
    mean, variance = gp.predict(far, POINT, diag=True, model=model_and_gp[0])
    constant = gp.at(POINT, model=model_and_gp[0]).moments(far)
    assert variance[0] > 1.4  # that of the ExpQuad part
    np.testing.assert_array_equal(constant, (mean, variance))


def test_what_a_point_says(data):
    """One object with moments, support vectors, the certificate and each row given the others."""
    model, gp = regression(data, "DTC")
    at = gp.at(POINT, model=model)
    np.testing.assert_allclose(np.diag(at.covariance), at.evidence.posterior.variance, rtol=1e-9)
    assert at.evidence.certificate.residual < 1e-9
    assert at.support_vectors.n == 25
    # the evidence with and without a row, at the dense covariance that the features make
    K = at.evidence.problem.K.dense() + 1e-9 * np.eye(25)
    loss = losses.SILF(POINT["C"], POINT["epsilon"], 0.3)
    expected = bsvm.laplace_evidence(K, data.y, loss).log_predictive
    np.testing.assert_allclose(at.log_predictive, expected, rtol=1e-5)
    mean, cross, variance = at.prior_of(data.new)
    assert cross.shape == (25, 9)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(variance, 1.9)
    for kind in ("student", "contaminated"):
        fitted = at.predictive(data.new, noise=kind)
        assert np.isfinite(fitted.quantile(0.5)).all()


def test_probabilities(data):
    with pm.Model() as model:
        gp = bsvm.gp.SparseBTSVC(cov_func=cases.ard_cov(POINT["ls"]))
        gp.marginal_likelihood("y", data.X, XU, data.labels)
    with pm.Model() as theirs:
        dense = bsvm.gp.BTSVC(cov_func=cases.ard_cov(POINT["ls"]))
        dense.marginal_likelihood("y", data.X, data.labels)
    p = gp.predict_proba(data.new, {}, model=model)
    assert np.abs(p - dense.predict_proba(data.new, {}, model=theirs)).max() < 0.2
    assert np.all((p > 0.0) & (p < 1.0))
    assert np.isfinite(gp.log_predictive({}, model=model)).all()


def test_sums(data):
    """Components add up to their sum, and condition on the inducing points of the sum."""
    with pm.Model():
        slow = bsvm.gp.SparseBSVR(cov_func=pm.gp.cov.ExpQuad(2, ls=4.0))
        fast = bsvm.gp.SparseBSVR(cov_func=0.3 * pm.gp.cov.ExpQuad(2, ls=0.5))
        total = slow + fast
        total.marginal_likelihood("y", data.X, XU, data.y, C=4.0, epsilon=0.25)
        parts = [gp.predict(data.new, {}, diag=True, given={"gp": total})[0] for gp in (slow, fast)]
        mean, _ = total.predict(data.new, {}, diag=True)
        f = slow.conditional("f_slow", data.new, given={"gp": total})
    np.testing.assert_allclose(sum(parts), mean, atol=1e-12)
    np.testing.assert_allclose(f.owner.inputs[2].eval(mode=UNFUSED), parts[0], atol=1e-10)
    assert total.approx == "VFE"


def test_other_data_are_given(data):
    model, gp = regression(data)
    other = cases.plane(17, seed=8)
    given = {"X": other.X, "Xu": XU[:4], "y": other.y, "C": 4.0, "epsilon": 0.25}
    again, expected = regression(other, Xu=XU[:4])
    for one, two in zip(
        gp.predict(data.new, POINT, given=given, model=model),
        expected.predict(data.new, POINT, model=again),
        strict=True,
    ):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_data_can_change(data):
    """Inputs, targets and inducing points, also their number."""
    with pm.Model() as model:
        symbols = {"X": pm.Data("X", data.X), "y": pm.Data("t", data.y), "Xu": pm.Data("Z", XU)}
    _, gp = regression(data, model=model, **symbols)
    function = evidence_function(model)
    before = function(LOGS)[0]
    other = cases.plane(17, seed=8)
    with model:
        pm.set_data({"X": other.X, "t": other.y, "Z": XU[:4]})
    again, _ = regression(other, Xu=XU[:4])
    expected = evidence_function(again)(LOGS)[0]
    assert function(LOGS)[0] == pytest.approx(expected, rel=1e-10)
    assert abs(expected - before) > 1.0
    assert gp.evidence(POINT, model=model).log_evidence == pytest.approx(expected, rel=1e-10)


def test_functions_of_all_rows_are_refused(data, refuses):
    with pm.Model() as model:
        scaled = pm.gp.cov.WarpedInput(
            2, pm.gp.cov.ExpQuad(2, ls=1.0), warp_func=lambda x: x / x.std()
        )
        gp = bsvm.gp.SparseBSVR(cov_func=scaled)
        gp.marginal_likelihood("y", data.X, XU, data.y, C=4.0, epsilon=0.25)
    with refuses(ValueError, "depends on other rows of X"):
        gp.evidence({}, model=model)


# ---- samplers -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_default_backend_compiles_everything(data):
    """No object mode in the log probability and its gradient, and the same numbers."""
    model, _ = regression(data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, gradient = evidence_function(model, mode=None)(LOGS)
    assert [str(w.message) for w in caught] == []
    expected, slope = evidence_function(model)(LOGS)
    assert value == pytest.approx(expected, rel=1e-10)
    for name, of_name in slope.items():
        np.testing.assert_allclose(gradient[name], of_name, rtol=1e-7)


# The comparison of pairs of rows, which JAX would trace away, is one of the other backends.
@pytest.mark.filterwarnings("ignore:JAX does not check:UserWarning")
@pytest.mark.filterwarnings("ignore:Skipping Check:UserWarning")  # PyMC's own, of parameters
def test_jax_gives_the_same_numbers(data):
    model, _ = regression(data)
    value, gradient = jax.value_and_grad(get_jaxified_logp(model))(
        [LOGS[v.name] for v in model.value_vars]
    )
    point = {v.name: LOGS[v.name] for v in model.value_vars}
    assert float(value) == pytest.approx(float(model.compile_logp(mode=UNFUSED)(point)), rel=1e-9)
    expected = model.compile_dlogp(mode=UNFUSED)(point)
    np.testing.assert_allclose(np.concatenate([np.ravel(g) for g in gradient]), expected, rtol=1e-6)


def test_log_likelihood_of_draws(data):
    model, gp = regression(data)
    draws = {"ls": np.array([[[0.9, 1.6], [1.0, 1.2]]]), "C": np.array([[4.0, 5.0]])}
    idata = az.from_dict({"posterior": draws})
    with model:
        gp.compute_log_likelihood(idata, progressbar=False)
    values = idata["log_likelihood"]["y"].values
    assert values.shape == (1, 2, 25)
    np.testing.assert_allclose(values[0, 0], gp.log_predictive(POINT, model=model), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["pymc", "nutpie"])
def test_samplers(sampler, data):
    """Few draws, with the inducing points among the variables, then latent values at new rows."""
    with pm.Model():
        ls, Xu = pm.LogNormal("ls", 0.0, 0.5), pm.Normal("Xu", XU, 0.2, shape=XU.shape)
        gp = bsvm.gp.SparseBSVR(cov_func=1.4 * pm.gp.cov.ExpQuad(2, ls=ls))
        gp.marginal_likelihood("y", data.X, Xu, data.y, C=4.0, epsilon=0.25)
        arguments = {"chains": 2, "cores": 1, "random_seed": 6, "nuts_sampler": sampler, **QUIET}
        idata = pm.sample(100, tune=150, **arguments)
        gp.conditional("f_new", data.new)
        pm.sample_posterior_predictive(
            idata, var_names=["f_new"], progressbar=False, extend_inferencedata=True
        )
    assert int(idata["sample_stats"]["diverging"].sum()) == 0
    assert idata["posterior"]["ls"].std() > 0.01
    assert np.isfinite(idata["posterior_predictive"]["f_new"]).all()


# ---- all latent values --------------------------------------------------------------------------


@pytest.mark.parametrize("approx", ["VFE", "DTC"])
def test_latent_model(approx, data):
    """Its density is what the evidence integrates: prior of the values, loss, and charge."""
    model, gp = regression(data, approx)
    latent = bsvm.latent_model(model)
    assert latent["f_y_rotated_"].eval(mode=UNFUSED).shape == (6,)
    w = 0.3 * np.random.default_rng(1).normal(size=6)
    at = gp.at(POINT, model=model)
    K, loss = at.evidence.problem.K, at.evidence.problem.loss
    f = K.A @ w
    expected = -0.5 * w @ w - 3.0 * np.log(2.0 * np.pi)
    expected -= (loss.value(data.y, f) + loss.log_normalizer()).sum()
    W = loss.smooth_curvature(data.y, f, loss.ramp_width)
    expected -= 0.5 * (W * K.left_out).sum() if approx == "VFE" else 0.0
    names = [latent["f_y_rotated_"], latent["y"], *latent.potentials]
    value = latent.compile_logp(vars=names, jacobian=False, mode=UNFUSED)
    assert value({**LOGS, "f_y_rotated_": w}) == pytest.approx(expected, rel=1e-10)
    assert [x.name for x in latent.potentials] == (["charge_y"] if approx == "VFE" else [])
    # its mode is that of the evidence, where nothing is charged
    if approx == "DTC":
        slope = latent.compile_dlogp(vars=[latent["f_y_rotated_"]], mode=UNFUSED)
        best = K.A.T @ at.evidence.solution.a
        assert np.abs(slope({**LOGS, "f_y_rotated_": best})).max() < 1e-6


def test_latent_model_at_new_rows(data, refuses):
    model, _ = regression(data)
    latent = bsvm.latent_model(model, new={"y_new": data.new})
    assert latent["f_y"].eval(mode=UNFUSED).shape == (25,)
    w = np.zeros(6)
    mean, cov = latent["f_y_new"].owner.inputs[2:4]
    given = {latent["ls"]: POINT["ls"], latent["f_y_rotated_"]: w}
    np.testing.assert_array_equal(mean.eval(given, mode=UNFUSED), 0.0)
    prior = np.diag(cov.eval({latent["ls"]: POINT["ls"]}, mode=UNFUSED))
    assert np.all((prior > 0.0) & (prior < 1.9 + 1e-5))
    with refuses(ValueError, "'y' is on inducing points"):
        bsvm.latent_model(model, around={"ls": POINT["ls"], "C": 4.0})


def test_one_compiled_function_for_the_search(data):
    """Evaluations of a search start from where the last one ended, and are the same."""
    model, _ = regression(data)
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        objective = bsvm.inference.objective.LogPosterior(model, include_prior=False)
    x = objective.vector(LOGS)
    value, slope = objective(x)
    again, same = objective(x)
    assert again == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(same, slope, rtol=1e-7, atol=1e-9)
