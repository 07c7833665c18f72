"""Sweeps on problems on which plain ones run away, and on those that rounding makes hard."""

import numpy as np
import pytest

from pymc_bsvm import LowRank, datasets, ep_evidence, losses
from pymc_bsvm.evidence import EPError
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.evidence.propagation import PropagationStatus, propagate
from pymc_bsvm.evidence.sites import Sites, starting_sites
from pymc_bsvm.evidence.sweep import Sweep
from tests.solvers.problems import rbf, sinc


def weak_rows(n=160):
    """Many rows that say little each, and much together about a common offset."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
    y[7] += 100.0
    return Problem.of(rbf(X, 0.5, 1.0, 100.0), y, losses.SILF(0.4, 5.3, 2.3e-4))


def matches(problem, sweep, tol):
    """Check the moments of all rows by plain matrices."""
    tau, b = sweep.sites
    Sigma = np.linalg.inv(np.linalg.inv(problem.K) + np.diag(tau))
    g, q = Sigma @ b, np.diag(Sigma)
    v = 1.0 / (1.0 / q - tau)
    c = v * (g / q - b)
    tilted = problem.loss.tilted(problem.y, problem.m + c, v)
    np.testing.assert_allclose(c + v * tilted.alpha, g, atol=tol * np.sqrt(q.max()))
    np.testing.assert_allclose(tilted.variance, q, rtol=tol)


def test_plain_sweeps_run_in_a_circle_where_these_arrive():
    problem = weak_rows()
    sites = starting_sites(problem, "numpy")
    for _ in range(60):
        sweep = Sweep.of(problem, sites)
        sites = sweep.matched
    assert sweep.error > 1e-3
    found = propagate(problem, starting_sites(problem, "numpy"), 1e-8, 200)
    assert found.status is PropagationStatus.CONVERGED
    jittered = Problem.of(problem.K + 1e-6 * np.eye(160), problem.y, problem.loss)
    found = propagate(jittered, starting_sites(jittered, "numpy"), 1e-8, 200)
    matches(jittered, found.sweep, 1e-5)


def test_sweeps_that_say_too_much_in_turn_are_shortened():
    """Residuals above one went up and down for ever; no sweep was twice as bad as the last."""
    X, y = datasets.sinc(60, C=20.0, epsilon=0.2, random_state=1)
    problem = Problem.of(rbf(X, 0.273**2, 1.344**-2), y, losses.SILF(9.093, 0.041))
    found = propagate(problem, Sites.nothing(60), 1e-6, 60)
    assert found.status is PropagationStatus.CONVERGED
    other = propagate(problem, starting_sites(problem, "numpy"), 1e-6, 60)
    np.testing.assert_allclose(found.sweep.mean, other.sweep.mean, atol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [losses.Laplace(3.0), losses.EpsilonInsensitive(10.0, 0.2), losses.Trigonometric(0.3)],
    ids=repr,
)
def test_from_sites_that_say_nothing(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)
    if loss.task == "classification":
        y = np.sign(y)
    problem = Problem.of(rbf(X, 2.0, 1.0) + 1e-4 * np.eye(60), y, loss)
    found = propagate(problem, Sites.nothing(60), 1e-8, 200)
    assert found.status is PropagationStatus.CONVERGED
    matches(problem, found.sweep, 1e-6)
    other = ep_evidence(problem.K, y, loss, tol=1e-8)
    assert sum(found.sweep.terms.values()) == pytest.approx(other.log_evidence, abs=1e-9)


@pytest.mark.parametrize("loss", [losses.SILF(10.0, 0.1), losses.Trigonometric(0.5)], ids=repr)
def test_sweeps_of_low_rank_come_first_where_there_is_one(loss, monkeypatch):
    X, y = sinc(200)
    y = y if loss.task == "regression" else np.where(y > 0.2, 1.0, -1.0)
    K, kinds = rbf(X, 4.0, 3.0), []
    look = Sweep.of

    def watched(problem, sites):
        kinds.append(type(problem.K).__name__)
        return look(problem, sites)

    monkeypatch.setattr(Sweep, "of", watched)
    got = ep_evidence(K, y, loss)
    assert kinds == ["LowRank"] * (got.n_iter - 1) + ["ndarray"]
    kinds.clear()
    white = ep_evidence(K + 1e-10 * np.eye(200), y, loss)  # of full rank
    assert set(kinds) == {"ndarray"}
    assert got.log_evidence == pytest.approx(white.log_evidence, abs=1e-6)
    assert isinstance(got.posterior.K, np.ndarray)


@pytest.mark.parametrize("loss", [losses.Gaussian(0.3), losses.SILF(10.0, 0.1)], ids=repr)
def test_weights_below_one_where_the_other_rows_say_enough(loss):
    X, y = sinc(60)
    K, weight = rbf(X, 1.0, 0.5), np.full(60, 0.6)
    got = ep_evidence(K, y, loss, sample_weight=weight, tol=1e-9)
    assert got.converged
    if isinstance(loss, losses.Gaussian):  # a product of powers is Gaussian noise again
        wide = losses.Gaussian(0.3 / np.sqrt(0.6))
        other = ep_evidence(K, y, wide)
        power = 60 * (0.5 * 0.4 * np.log(2.0 * np.pi * 0.09) - 0.5 * np.log(0.6))
        assert got.log_evidence == pytest.approx(other.log_evidence + power, abs=1e-7)
        np.testing.assert_allclose(got.mean, other.mean, atol=1e-8)


def test_little_noise_under_a_large_amplitude():
    """The dual is a million times larger than what its product with K comes to."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3))
    K, y = 1e3 * X @ X.T + 100.0, rng.normal(size=30)
    sigma = 1e-3
    got = ep_evidence(K, y, losses.Gaussian(sigma))
    assert got.residual < 1e-9
    A = np.hstack([np.sqrt(1e3) * X, np.full((30, 1), 10.0)])
    inner = A.T @ A + sigma**2 * np.eye(4)
    rest = y - A @ np.linalg.solve(inner, A.T @ y)
    log_det = np.linalg.slogdet(inner)[1] + 26 * np.log(sigma**2)
    expected = -0.5 * (y @ rest / sigma**2 + log_det + 30 * np.log(2.0 * np.pi))
    # one rounding of the elements of K changes it by as much
    assert got.log_evidence == pytest.approx(expected, rel=1e-6)


def test_rows_that_stand_often_under_a_large_amplitude():
    """A kink of slope C and a rank of three: sites of 1e6 against a prior variance of 1e3."""
    rng = np.random.default_rng(4)
    A = np.hstack([30.0 * rng.normal(size=(20, 2)), np.full((20, 1), 10.0)])
    A = A[rng.integers(0, 20, size=120)]
    y, loss = rng.normal(size=120), losses.Laplace(2e3)
    thin = ep_evidence(LowRank(A), y, loss)
    full = ep_evidence(A @ A.T, y, loss)
    assert thin.log_evidence == pytest.approx(full.log_evidence, rel=1e-6)
    np.testing.assert_allclose(thin.mean, full.mean, atol=1e-4 * np.sqrt(full.variance.min()))


def test_the_start_for_gaussian_noise_is_the_end():
    problem = weak_rows(20)
    problem = Problem.of(problem.K, problem.y, losses.Gaussian(0.3), problem.m)
    sites = starting_sites(problem, "numpy")
    np.testing.assert_allclose(sites.precision, 1.0 / 0.09)
    np.testing.assert_allclose(sites.shift, problem.y / 0.09, rtol=1e-5)
    assert Sweep.of(problem, sites).error < 1e-5


def test_a_row_without_prior_variance_is_at_its_mean():
    K = np.diag([1.0, 0.0, 2.0])
    y, loss = np.array([0.4, 0.3, -1.0]), losses.SILF(5.0, 0.1)
    got = ep_evidence(K, y, loss)
    others = ep_evidence(np.diag([1.0, 2.0]), y[[0, 2]], loss)
    own = -float(loss.value(0.3, 0.0)) - loss.log_normalizer()
    assert got.log_evidence == pytest.approx(others.log_evidence + own, abs=1e-7)
    assert got.variance[1] == 0.0


def test_behind_the_wall_without_variance_there_is_no_evidence():
    with pytest.raises(EPError):
        ep_evidence(np.diag([1.0, 0.0]), [1.0, 1.0], losses.Trigonometric(0.5), m=[0.0, -1.0])
