"""`reweight` against quadrature over a hyperparameter and two latent values."""

from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import logsumexp

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.diagnosis import reweighting
from pymc_bsvm.diagnosis.reweighting import _smoothed, reweight
from pymc_bsvm.evidence import laplace_evidence
from tests.diagnosis.test_verdict import two_variables
from tests.gp import cases


@pytest.fixture(scope="module")
def data():
    return cases.plane(14)


@pytest.fixture(scope="module")
def regression(data):
    return cases.regression(data.X, data.y).model


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


NARROW = 0.5  # ramps with which there is something to correct


class Amplitude:
    """A model of two rows whose only hyperparameter has posteriors by quadrature."""

    def __init__(self):
        self.X, self.y = np.array([[0.0], [1.0]]), np.array([0.5, -0.4])
        self.loss = losses.SILF(10.0, 0.1, 0.3)
        self.grid = np.linspace(0.1, 5.0, 150)
        prior = stats.halfnorm.logpdf(self.grid, scale=1.0)
        problems = [eta**2 * cases.expquad(self.X, self.X) for eta in self.grid]
        laplace = [
            laplace_evidence(K, self.y, self.loss, ramp_width=NARROW).log_evidence for K in problems
        ]
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
            gp.marginal_likelihood(
                "y",
                X=self.X,
                y=self.y,
                C=10.0,
                epsilon=0.1,
                approximation=bsvm.approximations.Laplace(ramp_width=NARROW),
            )
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


def test_errors_of_independent_estimates_add_in_squares(data, monkeypatch):
    def estimate(problem, **settings):
        evidence = bsvm.laplace_evidence(problem.K, problem.y, problem.loss, m=problem.m)
        return SimpleNamespace(log_evidence=evidence.log_evidence + 1.5, standard_error=0.3)

    monkeypatch.setattr(reweighting, "anneal_problem", estimate)
    got = reweight(tree(unused=np.zeros((1, 2))), two_variables(data), progressbar=False)
    np.testing.assert_allclose(got.log_ratios, 3.0, rtol=1e-12)
    np.testing.assert_allclose(got.errors, 0.3 * np.sqrt(2.0), rtol=1e-12)


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
