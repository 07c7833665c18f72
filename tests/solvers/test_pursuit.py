"""The start of a loss with kinks: what it knows of the loss, and where it leads."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.losses import numpy_language
from pymc_bsvm.solvers import Status, core
from pymc_bsvm.solvers.pursuit import make_pursuit
from pymc_bsvm.solvers.weighted import compiled_kinks, interpreted, interpreted_kinks
from tests.solvers.problems import ALL, by_row, certify, name, problem, rbf, sinc

KINKED = tuple(loss for loss in ALL if not loss.differentiable)
every_loss = pytest.mark.parametrize("loss", KINKED, ids=name)
both = pytest.mark.parametrize("bias", [False, True])


def pursue(loss, K, y, bias, *, a=None, w=None, m=None, most=500, tol=1e-8):
    """Return the dual, the offset and the steps of the start alone."""
    n, words = y.size, interpreted(type(loss))
    start = make_pursuit(words, interpreted_kinks(type(loss)), DENSE, numpy_language.function)
    a, m = np.zeros(n) if a is None else a, np.zeros(n) if m is None else m
    w = np.ones(n) if w is None else w
    with np.errstate(all="ignore"):
        return start(K, y, w, loss.parameters, m, a, 0.0, bias, tol, most, None)


@every_loss
def test_kinks_are_where_the_slope_jumps(loss):
    rows = by_row(loss, 6)
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    kinks = interpreted_kinks(type(loss))(y, rows.parameters)
    assert (np.diff(kinks, axis=0) >= 0.0).all()
    h, jumps = 1e-9, 0.0
    for kink in np.unique(kinks, axis=0) if name(loss) != "Laplace" else kinks[:1]:
        jump = rows.derivative(y, kink + h) - rows.derivative(y, kink - h)
        assert (jump > 0.0).all()
        jumps = jumps + jump
    lower, upper = rows.dual_domain(y)
    np.testing.assert_allclose(jumps, upper - lower, rtol=1e-12)  # and nowhere else


@every_loss
def test_compiled_kinks_equal_interpreted_ones(loss):
    rows, y = by_row(loss, 6), np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    got = compiled_kinks(type(loss))(y, rows.by_row(6))
    np.testing.assert_array_equal(got, interpreted_kinks(type(loss))(y, rows.parameters))


@every_loss
@both
def test_the_start_alone_finds_the_minimum(loss, bias):
    K, y = problem(loss, 80)
    a, b, steps = pursue(loss, K, y, bias)
    found = certify(loss, K, y, a, b)
    assert found.gap <= 1e-9 * (1.0 + found.primal)
    assert 0 < steps < 500
    assert not bias or abs(a.sum()) <= 1e-12 * np.abs(a).sum()


@every_loss
@both
def test_the_start_with_weights_a_mean_and_costs_by_row(loss, bias):
    K, y = problem(loss, 60)
    rows, rng = by_row(loss, 60), np.random.default_rng(0)
    w, m = rng.integers(0, 4, size=60) * 0.7, 0.3 * rng.normal(size=60)
    a, b, _ = pursue(rows, K, y, bias, w=w, m=m)
    s = solve_dual(K, y, rows, sample_weight=w, m=m, bias=bias)
    assert (a[w == 0.0] == 0.0).all()
    np.testing.assert_allclose(m + K @ a + b, s.f, rtol=0, atol=1e-6)
    assert s.status is Status.CONVERGED


def test_against_a_quadratic_programme():
    """The dual of the epsilon-insensitive loss with ``a = p - q``, by SciPy."""
    X, y = sinc(12)
    K, loss = rbf(X, 1.0, 5.0) + 1e-3 * np.eye(12), losses.EpsilonInsensitive(1.5, 0.1)

    def objective(pq):
        a = pq[:12] - pq[12:]
        return 0.5 * a @ K @ a - y @ a + 0.1 * pq.sum()

    def gradient(pq):
        residual = K @ (pq[:12] - pq[12:]) - y
        return np.concatenate([residual, -residual]) + 0.1

    balanced = LinearConstraint(np.concatenate([np.ones(12), -np.ones(12)]), 0.0, 0.0)
    found = minimize(
        objective,
        np.zeros(24),
        jac=gradient,
        bounds=[(0.0, 1.5)] * 24,
        constraints=[balanced],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    a, b, _ = pursue(loss, K, y, True)
    assert 0.5 * a @ K @ a - y @ a + 0.1 * np.abs(a).sum() == pytest.approx(found.fun, abs=1e-9)
    np.testing.assert_allclose(a, found.x[:12] - found.x[12:], rtol=0, atol=1e-4)
    between = (np.abs(a) > 1e-6) & (np.abs(a) < 1.5 - 1e-6)
    edge = (y - np.sign(a) * 0.1)[between]
    np.testing.assert_allclose((K @ a + b)[between], edge, rtol=0, atol=1e-7)


@every_loss
@both
def test_any_dual_is_a_start(loss, bias):
    K, y = problem(loss, 50)
    given = 10.0 * np.random.default_rng(3).normal(size=50)
    before = given.copy()
    a, b, _ = pursue(loss, K, y, bias, a=given)
    np.testing.assert_array_equal(given, before)
    found = certify(loss, K, y, a, b)
    assert found.gap <= 1e-9 * (1.0 + found.primal)


@every_loss
def test_the_solution_is_a_start_that_takes_one_step_at_most(loss):
    K, y = problem(loss, 50)
    for bias in (False, True):
        s = solve_dual(K, y, loss, bias=bias)
        assert solve_dual(K, y, loss, a0=s.a, bias=bias, tol=1e-8).n_iter <= 1


@every_loss
def test_steps_are_limited(loss):
    K, y = problem(loss, 200)
    for most in (0, 1, 3):
        assert pursue(loss, K, y, True, most=most, tol=1e-15)[2] == most


@every_loss
def test_without_finite_latent_values_there_is_no_start(loss):
    K, y = problem(loss, 20)
    a, b, steps = pursue(loss, K, y, True, m=np.full(20, np.inf))
    assert (b, steps) == (0.0, 0)
    np.testing.assert_array_equal(a, 0.0)


@every_loss
@both
def test_a_start_that_leads_nowhere_is_left(loss, bias, monkeypatch):
    """Proximal steps go on from wherever it ends."""
    K, y = problem(loss, 40)
    expected = solve_dual(K, y, loss, bias=bias)

    def nowhere(K, y, w, p, m, a, b, offset, tol, most, callback):
        return a + 0.1 * (np.arange(40) % 2), b, 3

    monkeypatch.setattr(core, "make_pursuit", lambda *_: nowhere)
    core.interpreted_solver.cache_clear()
    try:
        s = solve_dual(K, y, loss, bias=bias)
    finally:
        core.interpreted_solver.cache_clear()
    assert s.status is Status.CONVERGED
    assert s.n_iter > 3
    assert s.primal == pytest.approx(expected.primal, rel=1e-8, abs=1e-8)


def test_a_loss_that_states_no_kinks_is_solved_by_proximal_steps():
    class Plain(losses.Laplace):
        kinks = None

    K, y = problem(losses.Laplace(3.0), 40)
    s, expected = (solve_dual(K, y, loss, bias=True) for loss in (Plain(3.0), losses.Laplace(3.0)))
    assert s.status is Status.CONVERGED
    assert s.primal == pytest.approx(expected.primal, rel=1e-8)
    np.testing.assert_allclose(s.f, expected.f, rtol=0, atol=1e-3)
