"""A dual from latent values: one Newton step, by dense linear algebra once more."""

import numpy as np
import pytest

from pymc_bsvm import LowRank, losses, solve_dual
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.solvers import forecast as forecasts
from pymc_bsvm.solvers.forecast import forecast
from tests.solvers.problems import ALL, name, rbf, sinc, two_classes

SMOOTH = [loss for loss in ALL if loss.differentiable]


def problem(loss, n=60):
    X, y = (sinc if loss.task == "regression" else two_classes)(n, 1)
    return X, rbf(X, 1.0, 2.0), y


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_a_step_is_that_of_newton(loss):
    _, K, y = problem(loss)
    rng = np.random.default_rng(2)
    f, m = 0.3 * rng.normal(size=y.size), np.full(y.size, 0.1)
    w = rng.uniform(0.5, 2.0, y.size)
    W, pull = w * loss.curvature(y, f), -w * loss.derivative(y, f)
    expected = np.linalg.solve(np.eye(y.size) + W[:, None] * K, pull + W * (f - m))
    got = forecast(K, y, w, m, f, loss, DENSE)
    np.testing.assert_allclose(got.a, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_an_offset_comes_with_the_step(loss):
    _, K, y = problem(loss)
    f, m, n = 0.3 * np.random.default_rng(2).normal(size=y.size), np.full(y.size, 0.1), y.size
    W, pull = loss.curvature(y, f), -loss.derivative(y, f)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n], system[:n, n], system[n, :n] = np.eye(n) + W[:, None] * K, W, 1.0
    *a, b = np.linalg.solve(system, [*(pull + W * (f - m)), 0.0])
    got = forecast(K, y, np.ones(n), m, f, loss, DENSE, offset=True)
    np.testing.assert_allclose(got.a, a, rtol=0, atol=1e-8 * np.abs(a).max())
    assert got.b == pytest.approx(b, abs=1e-8)


def test_no_offset_without_a_curvature():
    loss = losses.SILF(10.0, 0.1, 0.3)
    _, K, y = problem(loss)
    f, w, m = y + 5.0, np.ones(y.size), np.zeros(y.size)
    assert forecast(K, y, w, m, f, loss, DENSE, offset=True) is None
    np.testing.assert_array_equal(forecast(K, y, w, m, f, loss, DENSE).a, -10.0)
    assert solve_dual(K, y, loss, f0=f, bias=True).converged


@pytest.mark.parametrize("loss", ALL, ids=name)
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
def test_any_latent_values_lead_to_the_solution(loss, bias):
    _, K, y = problem(loss, 30)
    cold = solve_dual(K, y, loss, bias=bias)
    for f0 in (cold.f, np.random.default_rng(3).normal(size=y.size)):
        s = solve_dual(K, y, loss, f0=f0, bias=bias)
        assert s.converged
        assert s.primal == pytest.approx(cold.primal, rel=1e-8)


@pytest.mark.parametrize("loss", [losses.SILF(10.0, 0.1, 0.3), losses.Huber(5.0, 0.1)], ids=name)
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
def test_from_the_solution_of_a_neighbour_the_step_is_all(loss, bias):
    X, K, y = problem(loss)
    near = solve_dual(rbf(X, 1.0001, 2.0002), y, loss, bias=bias)
    s = solve_dual(K, y, loss, f0=near.f, tol=1e-12, bias=bias)
    assert s.n_iter == 1
    cold = solve_dual(K, y, loss, tol=1e-12, bias=bias)
    np.testing.assert_allclose(s.a, cold.a, rtol=0, atol=1e-8 * np.abs(cold.a).max())
    curved = np.flatnonzero(loss.curvature(y, s.f))
    np.testing.assert_array_equal(s.factor.index, curved)
    root = np.sqrt(loss.curvature(y, s.f)[curved])
    B = np.eye(curved.size) + root[:, None] * K[np.ix_(curved, curved)] * root
    L = np.tril(s.factor.cholesky)
    np.testing.assert_allclose(L @ L.T, B, rtol=1e-12, atol=1e-12)


def test_steps_go_on_from_a_dual_that_leaves_its_domain(monkeypatch):
    """Where K is nearly singular, to put the dual inside moves latent values far away."""

    def steps(seed):
        rng, loss = np.random.default_rng(seed), losses.SILF(12.0, 0.1, 0.3)
        x = np.sort(rng.uniform(-10.0, 10.0, 60))
        y = np.sinc(x / np.pi) + 0.1 * rng.normal(size=60)
        K, other = (4.0 * np.exp(-0.5 * ((x[:, None] - x) / ls) ** 2) for ls in (2.3, 2.0))
        s = solve_dual(K, y, loss, f0=solve_dual(other, y, losses.SILF(10.0, 0.1, 0.3)).f)
        assert s.converged
        assert np.abs(s.a).max() <= loss.C
        return s.n_iter

    several = [steps(seed) for seed in range(2, 22)]
    monkeypatch.setattr(forecasts, "_AHEAD", 1)
    one = [steps(seed) for seed in range(2, 22)]
    assert sum(several) < 0.7 * sum(one)
    assert np.median(several) <= 3


def test_low_rank_takes_the_same_step():
    loss = losses.SILF(10.0, 0.1, 0.3)
    X, y = sinc(60, 1)
    A = np.exp(-0.5 * (X - np.linspace(-9.0, 9.0, 12)) ** 2)
    f0 = 0.9 * y
    K = LowRank(A, 0.05)
    low, dense = (solve_dual(k, y, loss, f0=f0) for k in (K, K.dense()))
    assert low.n_iter == dense.n_iter
    np.testing.assert_allclose(low.f, dense.f, rtol=0, atol=1e-8)


def test_no_step_behind_a_wall():
    loss = losses.Trigonometric()
    _, K, y = problem(loss)
    assert forecast(K, y, np.ones(y.size), np.zeros(y.size), -2.0 * y, loss, DENSE) is None
    assert solve_dual(K, y, loss, f0=-2.0 * y).converged


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"f0": [0.0]}, "f0"),
        ({"f0": [np.nan, 0.0, 0.0]}, "nan"),
        ({"f0": np.zeros(3), "a0": np.zeros(3)}, "both a0 and f0"),
    ],
    ids=["shape", "nan", "both"],
)
def test_refused(settings, words):
    with pytest.raises(ValueError, match=words) as caught:
        solve_dual(np.eye(3), np.zeros(3), ALL[0], **settings)
    assert str(caught.value).count(". ") == 1
