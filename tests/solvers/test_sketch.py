"""Solves that begin with a covariance of low rank: what they find, and what they cost."""

from collections import Counter

import numpy as np
import pytest

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.solvers import dual, sketch
from tests.solvers.problems import ALL, by_row, certify, name, rbf, sinc, two_classes

N = 600
SMOOTH = [loss for loss in ALL if loss.differentiable]
OFTEN_FREE = [
    losses.Trigonometric(),
    losses.Logistic(),
    losses.Probit(),
    losses.Huber(10.0, 0.2),
]


def problem(loss, rough=False):
    X, y = (sinc if loss.task == "regression" else two_classes)(N, 5)
    if rough:
        distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
        return 2.0 * np.exp(-3.0 * distance), y
    return rbf(X, 4.0, 0.15, 1.0), y


@pytest.fixture
def counts(monkeypatch):
    """Count dense factorisations, solves in low rank, and rows of K that these begin with."""
    seen = Counter()
    factorize, solve, pivoted = DENSE.factorize, sketch.solve_features, sketch.pivoted_by_rows

    def factorized(K, free, root):
        seen.update(factors=1)
        return factorize(K, free, root)

    def low(*args):
        seen.update(low=1)
        return solve(*args)

    def by_rows(row, *args, **settings):
        def read(k):
            seen.update(rows=1)
            return row(k)

        return pivoted(read, *args, **settings)

    monkeypatch.setattr(dual, "DENSE", DENSE._replace(factorize=factorized))
    monkeypatch.setattr(sketch, "solve_features", low)
    monkeypatch.setattr(sketch, "pivoted_by_rows", by_rows)
    return seen


@pytest.mark.parametrize("loss", OFTEN_FREE, ids=name)
@pytest.mark.parametrize("tol", [1e-8, 1e-12])
def test_a_smooth_covariance_is_factorised_once_or_twice(loss, tol, counts):
    K, y = problem(loss)
    s = solve_dual(K, y, loss, tol=tol)
    assert counts["low"] == 1
    assert counts["factors"] == s.n_iter <= 2
    counts.clear()
    cold = solve_dual(K, y, loss, np.zeros(N), tol=tol)
    assert not counts["rows"]
    assert counts["factors"] == cold.n_iter
    np.testing.assert_allclose(s.f, cold.f, rtol=0, atol=1e-5)


@pytest.mark.parametrize("loss", OFTEN_FREE, ids=name)
def test_a_jitter_does_no_harm(loss, counts):
    K, y = problem(loss)
    K[np.diag_indices(N)] += 1e-6
    s = solve_dual(K, y, loss)
    assert counts["low"] == 1
    assert counts["factors"] == s.n_iter <= 2


@pytest.mark.parametrize("loss", OFTEN_FREE, ids=name)
def test_a_rough_covariance_costs_some_rows_alone(loss, counts):
    K, y = problem(loss, rough=True)
    s = solve_dual(K, y, loss)
    assert counts["low"] == 0
    assert 0 < counts["rows"] <= sketch.highest_rank(N, N)
    counts.clear()
    cold = solve_dual(K, y, loss, np.zeros(N))
    assert s.n_iter == cold.n_iter
    np.testing.assert_array_equal(s.a, cold.a)


def test_one_step_is_done_at_once(counts):
    loss = losses.Gaussian(0.3)
    K, y = problem(loss)
    assert solve_dual(K, y, loss).n_iter == counts["factors"] == 1
    assert not counts["rows"]


def test_the_work_in_vain_is_a_small_part_of_a_step():
    for n in (500, 1000, 4000, 20_000):
        for free in (400, n // 2, n):
            rank = sketch.highest_rank(n, free)
            assert n * rank**2 <= free**3 / 3.0 / 20.0
            assert rank < free
    assert sketch.highest_rank(10_000, 300) == 0


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
def test_the_solution_is_certified_by_the_matrix(loss, bias):
    K, y = problem(loss)
    s = solve_dual(K, y, loss, bias=bias, tol=1e-9)
    assert s.converged
    found = certify(loss, K, y, s.a, s.offset)
    assert found.gap <= 2e-9 * (1.0 + abs(found.primal))


def test_both_engines_begin_alike():
    loss = losses.Trigonometric()
    K, y = problem(loss)
    slow, fast = (solve_dual(K, y, loss, engine=engine) for engine in ("numpy", "numba"))
    assert slow.n_iter == fast.n_iter <= 2
    np.testing.assert_allclose(fast.f, slow.f, rtol=0, atol=1e-9)


def test_weights_means_and_parameters_by_row(counts):
    loss = by_row(losses.Trigonometric(2.0), N)
    K, y = problem(loss)
    rng = np.random.default_rng(1)
    settings = {"m": 0.1 * y, "sample_weight": rng.uniform(0.5, 2.0, N)}
    settings["sample_weight"][:20] = 0.0
    s = solve_dual(K, y, loss, **settings)
    assert counts["low"] == 1
    assert counts["factors"] <= 2
    cold = solve_dual(K, y, loss, np.zeros(N), **settings)
    np.testing.assert_allclose(s.f, cold.f, rtol=0, atol=1e-5)


def test_the_factor_is_that_of_the_solution():
    loss = losses.Trigonometric()
    K, y = problem(loss)
    s = solve_dual(K, y, loss, tol=1e-12)
    W = loss.curvature(y, s.f)
    free = np.flatnonzero(W)
    np.testing.assert_array_equal(s.factor.index, free)
    root = np.sqrt(W[free])
    B = np.eye(free.size) + root[:, None] * K[np.ix_(free, free)] * root
    L = np.tril(s.factor.cholesky)
    np.testing.assert_allclose(L @ L.T, B, rtol=1e-5, atol=1e-5)


def test_a_callback_hears_the_steps_in_low_rank():
    loss = losses.Trigonometric()
    K, y = problem(loss)
    heard = []
    solve_dual(K, y, loss, callback=heard.append)
    assert [each.n_iter for each in heard][:3] == [0, 1, 2]
    assert heard[0].n_free == N


def test_no_steps_in_low_rank_beyond_those_allowed(counts):
    loss = losses.Trigonometric()
    K, y = problem(loss)
    s = solve_dual(K, y, loss, max_iter=0, on_failure="ignore")
    assert not counts
    assert s.n_iter == 0
    s = solve_dual(K, y, loss, max_iter=2, on_failure="ignore")
    assert s.n_iter == 2
    assert not s.converged
