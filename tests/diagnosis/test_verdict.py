"""`verdict` against direct computing and exact regression."""

import re
from dataclasses import replace

import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.diagnosis.annealing import annealed_evidence
from pymc_bsvm.diagnosis.difference import Difference
from pymc_bsvm.diagnosis.judgement import verdict
from pymc_bsvm.evidence import ep_evidence, laplace_evidence
from pymc_bsvm.inference.result import EvidenceFit
from tests.diagnosis.test_annealing import assert_moments
from tests.gp import cases

QUICK = {"particles": 100, "temperatures": 10, "progressbar": False, "random_seed": 1}

SMOOTH, EXACT = "laplace (smooth)", "laplace (exact)"


@pytest.fixture(scope="module")
def data():
    return cases.plane(14)


@pytest.fixture(scope="module")
def regression(data):
    return cases.regression(data.X, data.y).model


@pytest.fixture(scope="module")
def seen(regression, data):
    return verdict(regression, cases.POINT, Xnew=data.new, **QUICK)


def direct(data):
    """Return the covariance, the loss and the unbiased estimate of `seen`."""
    K, loss = cases.ard(data.X, data.X, cases.POINT["ls"]), losses.SILF(4.0, 0.25, 0.3)
    settings = {**QUICK, "replicates": 4}
    return K, loss, annealed_evidence(K, data.y, loss, **settings)


# ---- numbers ------------------------------------------------------------------------------------


def test_evidences(seen, data):
    K, loss, annealed = direct(data)
    smooth, exact = (laplace_evidence(K, data.y, loss, c) for c in ("smooth", "exact"))
    assert (seen.name, seen.approximation) == ("y", SMOOTH)
    assert seen.log_evidences[SMOOTH] == pytest.approx(smooth.log_evidence, abs=1e-8)
    assert seen.log_evidences[EXACT] == pytest.approx(exact.log_evidence, abs=1e-8)
    assert seen.log_evidence == pytest.approx(annealed.log_evidence, abs=1e-6)
    assert seen.standard_error == pytest.approx(annealed.standard_error, rel=1e-4)
    assert seen.error == seen.log_evidences[SMOOTH] - seen.log_evidence


def test_latent_values(seen, data):
    K, loss, annealed = direct(data)
    laplace = laplace_evidence(K, data.y, loss).posterior
    w, f = annealed.weights, annealed.f
    mean = w @ f
    sd = np.sqrt(w @ (f - mean) ** 2 / (1.0 - (w**2).sum()))
    shift = (laplace.mean - mean) / sd
    np.testing.assert_allclose(seen.latent.mean, mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(seen.latent.sd, sd, rtol=1e-5)
    np.testing.assert_allclose(seen.latent.shift, shift, rtol=0, atol=1e-5)
    assert seen.latent.largest == pytest.approx(np.abs(shift).max(), abs=1e-5)
    assert seen.latent.rms == pytest.approx(np.sqrt((shift**2).mean()), abs=1e-5)
    np.testing.assert_allclose(seen.latent.sd_ratio, np.sqrt(laplace.variance) / sd, rtol=1e-5)
    error = np.sqrt((w**2) @ (f - mean) ** 2) / sd
    assert seen.latent.error == pytest.approx(np.sqrt((error**2).mean()), rel=1e-4)


def test_predictions(seen, data):
    """Average over the particles of the Gaussian of new values given each."""
    K, loss, annealed = direct(data)
    cross = cases.ard(data.X, data.new, cases.POINT["ls"])
    prior = np.diag(cases.ard(data.new, data.new, cases.POINT["ls"]))
    gain = np.linalg.solve(K, cross)
    means, left = annealed.f @ gain, prior - np.einsum("ij,ij->j", cross, gain)
    w, mean = annealed.weights, annealed.weights @ means
    variance = left + w @ (means - mean) ** 2 / (1.0 - (w**2).sum())
    np.testing.assert_allclose(seen.predictions.mean, mean, rtol=0, atol=1e-4)
    np.testing.assert_allclose(seen.predictions.sd, np.sqrt(variance), rtol=1e-4)
    posterior = laplace_evidence(K, data.y, loss).posterior
    np.testing.assert_allclose(seen.predictions.laplace_mean, posterior.predict_mean(cross))
    laplace_sd = np.sqrt(posterior.predict_variance(cross, prior))
    np.testing.assert_allclose(seen.predictions.laplace_sd, laplace_sd)


def test_gaussian_noise_has_no_error_to_see(data):
    """Laplace's method is exact there, with a prior mean and a jitter too."""
    with pm.Model():
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=2)
        gp = bsvm.gp.Laplace(mean_func=pm.gp.mean.Constant(0.7), cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood("y", data.X, data.y, losses.Gaussian(0.3), jitter=0.1)
        got = verdict(
            point={"ls": cases.POINT["ls"]}, Xnew=data.new, random_seed=0, progressbar=False
        )
    assert got.log_evidences[SMOOTH] == pytest.approx(got.log_evidences[EXACT], abs=1e-9)
    assert abs(got.error) < 1e-3
    assert got.latent.close
    assert got.predictions.close
    K = cases.ard(data.X, data.X, cases.POINT["ls"]) + 0.1 * np.eye(14)
    S, cross = K + 0.09 * np.eye(14), cases.ard(data.X, data.new, cases.POINT["ls"])
    exact = stats.multivariate_normal.logpdf(data.y, np.full(14, 0.7), S)
    assert got.log_evidence == pytest.approx(exact, abs=1e-3)
    mean = 0.7 + cross.T @ np.linalg.solve(S, data.y - 0.7)
    sd = np.sqrt(1.9 - np.einsum("ij,ij->j", cross, np.linalg.solve(S, cross)))
    assert_moments(got.annealed.predict(cross, np.full(9, 1.9), 0.7), mean, sd, got.annealed.ess)
    np.testing.assert_allclose(got.predictions.laplace_mean, mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.predictions.laplace_sd, sd, rtol=1e-6)
    assert got.predictions.largest < 0.15
    assert "serves at these hyperparameters" in got.sentence


def test_one_label_far_from_the_wall():
    """One row with a large variance has the probability one half; Laplace has a tenth of it."""
    with pm.Model() as model:
        gp = bsvm.gp.BTSVC(cov_func=100.0 * pm.gp.cov.ExpQuad(1, ls=1.0))
        gp.marginal_likelihood("y", X=np.zeros((1, 1)), y=np.array([1]))
    got = verdict(model, random_seed=0, progressbar=False)
    assert abs(got.log_evidence - np.log(0.5)) <= 4.0 * got.standard_error
    assert got.error < -1.0
    assert not got.latent.close
    assert "nats too low here" in got.sentence
    assert "sample the latent values" in got.sentence


# ---- words --------------------------------------------------------------------------------------


def test_sentence_holds_the_numbers(seen):
    size, error = re.search(r"([0-9.]+) ± ([0-9.]+) nats", seen.sentence).groups()
    assert float(size) == pytest.approx(abs(seen.error), abs=6e-4)
    assert float(error) == pytest.approx(seen.standard_error, abs=6e-4)
    for difference in (seen.latent, seen.predictions):
        assert f"within {difference.largest:.2f} sd" in seen.sentence
        assert f"rms {difference.rms:.2f}" in seen.sentence
        ratio = difference.sd_ratio
        assert f"{ratio.min():.2f} to {ratio.max():.2f} times" in seen.sentence
    assert "f at Xnew" in seen.sentence
    assert seen.sentence in str(seen)
    assert f"{SMOOTH} {seen.log_evidences[SMOOTH]:.3f}" in str(seen)
    assert "\n" in str(seen)
    assert len(repr(seen)) < 1000


def test_table_holds_the_numbers(seen):
    table = seen.to_dataframe()
    assert list(table.columns) == ["value", "error", "unit"]
    assert table.loc[f"error of {SMOOTH}", "value"] == seen.error
    assert table.loc[f"error of {SMOOTH}", "error"] == seen.standard_error
    assert table.loc["largest shift of the mean of f at Xnew", "value"] == seen.predictions.largest
    assert len(table) == 23


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (-3.0, "nats too low here"),
        (-1.5, "is not visible here"),
        (1.5, "is not visible here"),
        (3.0, "nats too high here"),
    ],
)
def test_an_error_is_seen_from_two_standard_errors_on(seen, errors, words):
    moved_to = seen.log_evidence + errors * seen.standard_error
    moved = replace(seen, log_evidences={**seen.log_evidences, SMOOTH: moved_to})
    assert words in moved.sentence


@pytest.mark.parametrize("far", ["latent", "predictions"])
def test_advice_looks_at_predictions_too(seen, far):
    zero, one = np.zeros(2), np.ones(2)
    close, wide = Difference(zero, one, zero, one, zero), Difference(zero, 2 * one, zero, one, zero)
    assert seen.annealed.ess > 100.0
    agreed = replace(seen, latent=close, predictions=close, others={})
    assert "serves at these hyperparameters" in agreed.sentence
    assert "sample the latent values" in replace(agreed, **{far: wide}).sentence
    alone = replace(agreed, predictions=None)
    assert "serves at these hyperparameters" in alone.sentence
    better = replace(alone, latent=wide, others={"ep": close})
    assert "use approximation='ep', which is close here, or sample the latent" in better.sentence
    assert "use approximation" not in replace(better, others={"ep": wide}).sentence


def test_expectation_propagation_stands_beside(seen, data):
    K, loss, annealed = direct(data)
    ep, laplace = ep_evidence(K, data.y, loss), laplace_evidence(K, data.y, loss)
    assert seen.log_evidences["ep"] == pytest.approx(ep.log_evidence, abs=1e-6)
    assert seen.errors["ep"] == pytest.approx(ep.log_evidence - annealed.log_evidence, abs=1e-6)
    np.testing.assert_allclose(seen.others["ep"].laplace_mean, ep.mean, atol=1e-5)
    np.testing.assert_allclose(seen.others["ep"].mean, seen.latent.mean)
    ratio = np.sqrt(laplace.posterior.variance / ep.variance)
    words = f"{ratio.min():.2f} to {ratio.max():.2f} times those of ep, {np.median(ratio):.2f} in"
    assert words in seen.sentence
    assert "more curved at the mode than on average" in seen.sentence
    table = seen.to_dataframe()
    assert table.loc["error of ep", "value"] == seen.errors["ep"]
    assert table.loc["rms shift of the mean of f by ep", "value"] == seen.others["ep"].rms


@pytest.fixture
def interpreted():
    """Call expectation propagation in Python, which need not be compiled for each loss."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


def labels_of(data, approximation):
    with pm.Model() as model:
        gp = bsvm.gp.BTSVC(cov_func=9.0 * pm.gp.cov.ExpQuad(2, ls=1.0))
        gp.marginal_likelihood("y", X=data.X, y=data.labels, approximation=approximation)
    return verdict(model, **QUICK)


def test_a_model_with_expectation_propagation_has_laplace_beside(data, interpreted):
    """Before a wall Laplace's method is narrow, whichever of the two the model uses."""
    one, two = (labels_of(data, name) for name in ("ep", "laplace"))
    assert (one.approximation, list(one.others)) == ("ep", [SMOOTH])
    for label in ("ep", SMOOTH):
        assert one.log_evidences[label] == pytest.approx(two.log_evidences[label], abs=1e-5)
    shared = re.compile(r"The sds of laplace \(smooth\) .*? over the posterior\.")
    assert shared.search(one.sentence)[0] == shared.search(two.sentence)[0]
    assert abs(one.error) < 0.1 < -two.error
    assert one.latent.largest < 0.3 < 0.8 < two.latent.largest


def test_a_loss_with_kinks_has_no_laplace_beside(data, interpreted):
    with pm.Model() as model:
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        loss = losses.EpsilonInsensitive(4.0, 0.2)
        gp.marginal_likelihood("y", X=data.X, y=data.y, loss=loss, approximation="ep")
    got = verdict(model, **QUICK)
    assert list(got.log_evidences) == ["ep"]
    assert got.others == {}
    assert "serves at these hyperparameters" in got.sentence


def test_few_effective_particles_are_said(regression):
    got = verdict(
        regression, cases.POINT, particles=3, temperatures=1, random_seed=0, progressbar=False
    )
    assert got.predictions is None
    assert "effective particles only" in got.sentence
    assert len(got.to_dataframe()) == 18


def test_rows_that_are_known_a_priori_do_not_differ():
    zero, one = np.zeros(2), np.array([0.0, 1.0])
    got = Difference(zero, one, zero, one, zero)
    np.testing.assert_array_equal(got.shift, zero)
    np.testing.assert_array_equal(got.sd_ratio, np.ones(2))
    assert got.close


# ---- arguments ----------------------------------------------------------------------------------


def test_a_fit_stands_for_its_model_and_point(regression, seen):
    fit = EvidenceFit(
        point={k: np.asarray(v) for k, v in cases.POINT.items()},
        log_evidence=0.0,
        objective=0.0,
        include_prior=True,
        evidences={},
        runs=[],
        hessian=None,
        model=regression,
        _objective=None,
    )
    for arguments in ((fit,), (regression, fit), (None, fit)):
        assert verdict(*arguments, **QUICK).log_evidence == seen.log_evidence


def two_variables(data):
    with pm.Model() as model:
        for name in ("one", "two"):
            gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(np.ones(2)))
            gp.marginal_likelihood(name, X=data.X[:5], y=data.y[:5], C=4.0, epsilon=0.2)
    return model


def test_errors(regression, data):
    with pytest.raises(ValueError, match="Xnew has 1 columns"):
        verdict(regression, cases.POINT, Xnew=np.zeros((2, 1)), **QUICK)
    with pytest.raises(ValueError, match="point has no value for"):
        verdict(regression, {"C": 1.0}, **QUICK)
    with pytest.raises(ValueError, match="name must be"):
        verdict(regression, cases.POINT, name="z", **QUICK)
    model = two_variables(data)
    with pytest.raises(ValueError, match="has 2 variables with an evidence: one, two"):
        verdict(model, **QUICK)
    assert verdict(model, name="two", **QUICK).name == "two"
    with pm.Model() as plain:
        pm.Normal("x", observed=0.0)
    with pytest.raises(ValueError, match="none is an approximate evidence"):
        verdict(plain, **QUICK)
