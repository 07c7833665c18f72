"""`verdict` and `reweight` against direct computing, exact regression and quadrature."""

import re

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.evidence import laplace_evidence
from pymc_bsvm.inference.annealing import annealed_evidence
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.inference.verdict import Difference, _smoothed, reweight, verdict
from tests.gp import cases
from tests.inference.test_annealing import assert_moments

QUICK = {"particles": 100, "temperatures": 10, "progressbar": False, "random_seed": 1}


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
    assert (seen.name, seen.curvature) == ("y", "smooth")
    assert seen.smooth == pytest.approx(smooth.log_evidence, abs=1e-8)
    assert seen.exact == pytest.approx(exact.log_evidence, abs=1e-8)
    assert seen.log_evidence == pytest.approx(annealed.log_evidence, abs=1e-6)
    assert seen.standard_error == pytest.approx(annealed.standard_error, rel=1e-4)
    assert seen.laplace_error == seen.smooth - seen.log_evidence


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
    assert got.smooth == pytest.approx(got.exact, abs=1e-9)
    assert abs(got.laplace_error) < 1e-3
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
    assert got.laplace_error < -1.0
    assert not got.latent.close
    assert "nats too low here" in got.sentence
    assert "sample the latent values" in got.sentence


# ---- words --------------------------------------------------------------------------------------


def test_sentence_holds_the_numbers(seen):
    size, error = re.search(r"([0-9.]+) ± ([0-9.]+) nats", seen.sentence).groups()
    assert float(size) == pytest.approx(abs(seen.laplace_error), abs=6e-4)
    assert float(error) == pytest.approx(seen.standard_error, abs=6e-4)
    for difference in (seen.latent, seen.predictions):
        assert f"within {difference.largest:.2f} sd" in seen.sentence
        assert f"rms {difference.rms:.2f}" in seen.sentence
        ratio = difference.sd_ratio
        assert f"{ratio.min():.2f} to {ratio.max():.2f} times" in seen.sentence
    assert "f at Xnew" in seen.sentence
    assert seen.sentence in str(seen)
    assert f"{seen.smooth:.3f} (smooth)" in str(seen)
    assert "\n" in str(seen)
    assert len(repr(seen)) < 1000


def test_table_holds_the_numbers(seen):
    table = seen.to_dataframe()
    assert list(table.columns) == ["value", "error", "unit"]
    assert table.loc["error of Laplace", "value"] == seen.laplace_error
    assert table.loc["error of Laplace", "error"] == seen.standard_error
    assert table.loc["largest shift of the mean of f at Xnew", "value"] == seen.predictions.largest
    assert len(table) == 15


def test_few_effective_particles_are_said(regression):
    got = verdict(
        regression, cases.POINT, particles=3, temperatures=1, random_seed=0, progressbar=False
    )
    assert got.predictions is None
    assert "effective particles only" in got.sentence
    assert len(got.to_dataframe()) == 10


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
    with pytest.raises(ValueError, match="has 2 Laplace variables: one, two"):
        verdict(model, **QUICK)
    assert verdict(model, name="two", **QUICK).name == "two"
    with pm.Model() as plain:
        pm.Normal("x", observed=0.0)
    with pytest.raises(ValueError, match="none is a Laplace evidence"):
        verdict(plain, **QUICK)


# ---- draws --------------------------------------------------------------------------------------


def tree(**variables):
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    name: (("chain", "draw", *map(str, range(np.ndim(x) - 2))), x)
                    for name, x in variables.items()
                }
            )
        }
    )


class Amplitude:
    """A model of two rows whose only hyperparameter has posteriors by quadrature."""

    def __init__(self):
        self.X, self.y = np.array([[0.0], [1.0]]), np.array([0.5, -0.4])
        self.loss = losses.SILF(10.0, 0.1, 0.3)
        self.grid = np.linspace(0.1, 5.0, 150)
        prior = stats.halfnorm.logpdf(self.grid, scale=1.0)
        problems = [eta**2 * cases.expquad(self.X, self.X) for eta in self.grid]
        laplace = [laplace_evidence(K, self.y, self.loss).log_evidence for K in problems]
        exact = [self.exact_evidence(K) for K in problems]
        self.laplace, self.exact = (_density(prior + x) for x in (laplace, exact))
        self.error = np.array(laplace) - exact

    def exact_evidence(self, K):
        """Sum over a grid of latent values around the targets, beyond which nothing is left."""
        step = 0.03
        r = np.arange(-3.0 + step / 2, 3.0, step)
        f = np.stack(np.meshgrid(*(self.y[:, None] + r), indexing="ij"), axis=-1).reshape(-1, 2)
        log_terms = stats.multivariate_normal.logpdf(f, cov=K)
        log_terms -= self.loss.value(self.y, f).sum(axis=1)
        return logsumexp(log_terms) + 2.0 * (np.log(step) - self.loss.log_normalizer())

    def model(self):
        with pm.Model() as model:
            eta = pm.HalfNormal("eta", 1.0)
            gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=1.0))
            gp.marginal_likelihood("y", X=self.X, y=self.y, C=10.0, epsilon=0.1)
        return model

    def draws(self, chains, draws):
        """Return quantiles of the Laplace posterior, shuffled into chains."""
        share = (np.arange(chains * draws) + 0.5) / (chains * draws)
        eta = np.interp(share, np.cumsum(self.laplace) - 0.5 * self.laplace, self.grid)
        return np.random.default_rng(0).permutation(eta).reshape(chains, draws)


def _density(log_density):
    share = np.exp(log_density - log_density.max())
    return share / share.sum()


def test_reweighting_reaches_the_exact_posterior():
    truth = Amplitude()
    mean = truth.grid @ truth.exact
    sd = np.sqrt((truth.grid - mean) ** 2 @ truth.exact)
    before = truth.grid @ truth.laplace
    got = reweight(
        tree(eta=truth.draws(2, 150)),
        truth.model(),
        max_draws=300,
        particles=20,
        temperatures=10,
        random_seed=0,
        progressbar=False,
    )
    error = np.interp(got.posterior["eta"].values, truth.grid, truth.error)
    assert np.mean(np.abs(-got.log_ratios - error) <= 4.0 * got.errors + 0.01) > 0.95
    row = got.summary().loc["eta"]
    assert row["mean"] == pytest.approx(before, abs=0.05 * sd)
    assert abs(mean - before) > 0.04 * sd  # there is something to correct
    assert row["mean_exact"] == pytest.approx(mean, abs=0.02 * sd)
    assert row["sd_exact"] == pytest.approx(sd, rel=0.05)
    assert row["shift"] == pytest.approx((row["mean"] - row["mean_exact"]) / row["sd_exact"])
    assert got.pareto_k < 0.5
    assert got.reliable
    assert 100.0 < got.ess <= 300.0
    assert f"Pareto k {got.pareto_k:.2f}" in str(got)
    assert f"{-got.log_ratios.mean():+.2f} nats" in str(got)


@pytest.fixture(scope="module")
def vectors(regression):
    rng = np.random.default_rng(0)
    draws = tree(
        ls=rng.lognormal(0.0, 0.3, (2, 30, 2)),
        C=rng.lognormal(1.0, 0.3, (2, 30)),
        epsilon=rng.uniform(0.1, 0.4, (2, 30)),
    )
    settings = {"particles": 10, "temperatures": 5, "random_seed": 0, "progressbar": False}
    return reweight(draws, regression, max_draws=40, **settings)


def test_reweighting_of_vectors(vectors):
    assert vectors.log_ratios.shape == vectors.weights.shape == vectors.errors.shape == (2, 20)
    assert vectors.weights.sum() == pytest.approx(1.0)
    table = vectors.summary()
    assert set(table.index) == {"ls[0]", "ls[1]", "C", "epsilon"}
    x = vectors.posterior["ls"].values[..., 1]
    assert table.loc["ls[1]", "mean"] == pytest.approx(x.mean())
    assert table.loc["ls[1]", "mean_exact"] == pytest.approx((vectors.weights * x).sum())


def test_draws_are_spread_over_the_chain(vectors):
    kept = vectors.posterior["C"].values[0]
    everything = np.random.default_rng(0)
    everything.lognormal(0.0, 0.3, (2, 30, 2))
    C = everything.lognormal(1.0, 0.3, (2, 30))[0]
    places = [int(np.flatnonzero(C == value)[0]) for value in kept]
    assert len(set(places)) == 20
    assert max(np.diff(places)) == 2


def test_resampled_draws_follow_the_weights(vectors):
    drawn = vectors.resample(20_000, random_seed=0)["posterior"].to_dataset()
    assert dict(drawn.sizes) == {"chain": 1, "draw": 20_000, "0": 2}
    row = vectors.summary().loc["C"]
    error = row["sd_exact"] / np.sqrt(20_000)
    assert abs(float(drawn["C"].mean()) - row["mean_exact"]) <= 4.0 * error
    pairs = np.stack([drawn["C"].values[0], drawn["epsilon"].values[0]], axis=1)
    known = np.stack([vectors.posterior[k].values.ravel() for k in ("C", "epsilon")], axis=1)
    assert {tuple(pair) for pair in pairs} <= {tuple(pair) for pair in known}


def test_weighted_tree(vectors):
    got = vectors.to_datatree()
    np.testing.assert_allclose(np.exp(got["sample_stats"]["log_weight"]), vectors.weights)
    np.testing.assert_array_equal(got["sample_stats"]["log_ratio"], vectors.log_ratios)
    assert got["sample_stats"].attrs["pareto_k"] == vectors.pareto_k
    assert set(got["posterior"].data_vars) == {"ls", "C", "epsilon"}


def test_reweighting_adds_up_over_all_variables(data):
    model, draws = two_variables(data), tree(unused=np.zeros((1, 2)))
    settings = {"particles": 200, "temperatures": 20, "random_seed": 0, "progressbar": False}
    both, one = (reweight(draws, model, name=name, **settings) for name in (None, "one"))
    error = 4.0 * np.hypot(both.errors, 2.0 * one.errors)
    assert np.all(np.abs(both.log_ratios - 2.0 * one.log_ratios) <= error)  # the same data twice
    assert np.isnan(both.pareto_k)
    assert not both.reliable
    assert "not to be trusted" in str(both)


def test_weights_with_a_heavy_tail_are_found_out():
    rng = np.random.default_rng(0)
    weights, k = _smoothed(rng.exponential(size=(4, 250)))  # Pareto, with k = 1
    assert 0.7 < k < 1.3
    assert weights.shape == (4, 250)
    light, low = _smoothed(0.1 * rng.normal(size=(4, 250)))
    assert low < 0.3
    assert 1.0 / (light**2).sum() > 950.0


def test_errors_of_reweighting(regression):
    with pytest.raises(ValueError, match="group 'posterior'"):
        reweight(xr.DataTree(), regression)
    draws = tree(C=np.ones((1, 2)))
    with pytest.raises(ValueError, match="max_draws must be an integer"):
        reweight(draws, regression, max_draws=0)
    with pytest.raises(ValueError, match="point has no value for"):
        reweight(draws, regression, progressbar=False)
