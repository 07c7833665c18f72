"""Newton's method: how many steps it takes, how it ends, and what it does with hard starts."""

from statistics import median

import numpy as np
import pytest

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.solvers import Status, newton
from tests.solvers.problems import certify, name, problem, rbf, sinc, two_classes

# variance, precision, constant: smooth, wiggly, strong, and nearly linear covariances
COVARIANCES = ((1.0, 5.0, 0.5), (1.0, 30.0, 0.1), (100.0, 2.0, 100.0), (10.0, 0.1, 1.0))
NEIGHBOUR = (1.05, 1.0 / 1.05, 1.05)  # of the hyperparameters


def grid():
    """Yield the realistic problems on which the steps are counted."""
    for n in (200, 500):
        X, y = sinc(n)
        Z, labels = two_classes(n)
        for covariance in COVARIANCES:
            near = tuple(v * c for v, c in zip(covariance, NEIGHBOUR, strict=True))
            for beta in (0.1, 0.3):
                pair = losses.SILF(10.0, 0.1, beta), losses.SILF(10.5, 0.095, beta)
                yield (X, y, covariance, near, *pair)
            yield (Z, labels, covariance, near, losses.Trigonometric(), losses.Trigonometric())


def test_economy_on_realistic_problems():
    cold, warm = [], []
    for X, y, covariance, near, loss, near_loss in grid():
        first = solve_dual(rbf(X, *covariance), y, loss)
        again = solve_dual(rbf(X, *near), y, near_loss, a0=first.a)
        assert certify(near_loss, rbf(X, *near), y, again.a).gap <= 2e-9 * (1.0 + again.primal)
        cold.append(first.n_iter)
        warm.append(again.n_iter)
    assert median(cold) <= 12, sorted(cold)
    assert max(cold) <= 40, sorted(cold)
    assert median(warm) <= 6, sorted(warm)


@pytest.mark.parametrize("bias", [False, True])
def test_the_primal_never_rises(bias):
    """Every step but those at the level of rounding lowers the primal."""
    loss = losses.SoftMarginL2(50.0)
    K, y = problem(loss, 80)
    steps = range(12)
    primals = [
        solve_dual(K, y, loss, bias=bias, tol=1e-15, max_iter=k, on_failure="ignore") for k in steps
    ]
    last = primals[-1]
    assert last.gap < 1e-10 * (1 + last.primal)
    # what is returned unfinished is the certificate's primal, at a dual inside its domain
    for s in primals:
        c = certify(loss, K, y, s.a, s.offset)
        assert s.primal == pytest.approx(c.primal, rel=1e-10)
        assert s.primal >= last.primal - 1e-9


@pytest.mark.parametrize("delta", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("size", [1e-2, 1.0, 30.0, 1e5])
def test_starts_behind_the_wall(delta, bias, size):
    loss = losses.Trigonometric(delta)
    K, y = problem(loss, 60)
    a0 = -size * y  # on the wrong side of its domain
    rng = np.random.default_rng(0)
    for start in (a0, -a0, size * y * rng.uniform(0, 1, size=60) * (y > 0)):
        s = solve_dual(K, y, loss, a0=start, bias=bias)
        c = certify(loss, K, y, s.a, s.offset)
        assert c.gap <= 1e-9 * (1.0 + c.primal)
        assert (y * s.f > -delta).all()


def test_strong_prior_against_the_wall():
    # the labels of a smooth function are flipped: neighbours pull each other over the wall
    X, y = two_classes(100, noise=0.0)
    y[::5] *= -1.0
    for variance in (1.0, 1e2, 1e4):
        K = rbf(X, variance, 0.5, variance)
        s = solve_dual(K, y, losses.Trigonometric())
        assert certify(losses.Trigonometric(), K, y, s.a).gap <= 1e-9 * (1.0 + s.primal)
        assert s.n_iter <= 60


def test_where_a_start_fails_the_steps_of_both_count():
    """Each start has all of the steps, and the second is the one from zero."""
    loss = losses.Huber(5.0, 0.1)
    K, y = problem(loss, 60)
    cold = solve_dual(K, y, loss)
    assert not cold.restarted
    s = solve_dual(K, y, loss, a0=1e9 * np.sign(y), max_iter=cold.n_iter)
    assert s.converged
    assert s.restarted
    assert s.n_iter == 2 * cold.n_iter
    np.testing.assert_array_equal(s.a, cold.a)
    assert not solve_dual(K, y, loss, a0=cold.a).restarted


def test_of_two_failures_the_better_is_returned():
    loss = losses.Trigonometric()
    K, y = problem(loss, 60)
    few = {"max_iter": 2, "tol": 1e-15, "on_failure": "ignore"}
    cold = solve_dual(K, y, loss, **few)
    good = solve_dual(K, y, loss, tol=1e-12).a * (1.0 + 1e-4)
    warm, bad = (solve_dual(K, y, loss, a0=a0, **few) for a0 in (good, 1e5 * y))
    assert warm.restarted
    assert bad.restarted
    assert not warm.converged
    assert warm.gap < 1e-3 * cold.gap
    assert bad.gap == cold.gap


@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("bias", [False, True])
def test_outliers(outlier, bias):
    loss = losses.SILF(10.0, 0.1)
    K, y = problem(loss, 100)
    clean = solve_dual(K, y, loss, bias=bias)
    y[7] += outlier
    s = solve_dual(K, y, loss, bias=bias)
    assert certify(loss, K, y, s.a, s.offset).gap <= 1e-9 * (1.0 + s.primal)
    assert s.bound[7]
    assert s.a[7] == 10.0
    assert np.delete(np.abs(s.f - clean.f), 7).max() < 2.0  # robust: its pull is C at most


def test_status_codes_follow_the_enumeration():
    names = ("CONVERGED", "MAX_ITER", "STALLED", "INDEFINITE", "INFEASIBLE", "UNBOUNDED")
    for status in names:
        assert list(Status)[getattr(newton, status)] is Status[status]
    assert len(Status) == len(names)


def test_an_infinite_gap_is_no_certificate():
    loss = losses.Trigonometric()
    K, y = problem(loss, 60)
    for most in range(6):
        s = solve_dual(K, y, loss, tol=1e-12, max_iter=most, on_failure="ignore")
        if s.converged:
            assert np.isfinite(s.gap)
            assert certify(loss, K, y, s.a).gap <= 1e-12 * (1.0 + s.primal) + 1e-13


def test_tolerance_below_rounding_stalls_with_a_sentence():
    loss = losses.SILF(1e4, 0.01)
    K, y = problem(loss, 80)
    s = solve_dual(1e3 * K, y, loss, tol=1e-300, on_failure="ignore")
    assert s.status in (Status.STALLED, Status.CONVERGED)
    assert "Raise tol" in Status.STALLED.value
    assert s.gap < 1e-9 * (1.0 + s.primal)


@pytest.mark.parametrize(
    "loss", [losses.Huber(5.0, 0.1), losses.SoftMarginLe(2.0, 0.25), losses.Logistic()], ids=name
)
def test_polishing_never_takes_a_dual_away_from_the_optimum(loss, monkeypatch):
    """A correction with an old factor is no step towards the solution where rows change zones."""

    def distance(K, y):
        s = solve_dual(K, y, loss, tol=0.1)
        assert s.converged
        return np.abs(s.a + loss.derivative(y, K @ s.a)).max()

    problems = [problem(loss, n, seed) for n in (20, 60) for seed in range(4)]
    polished = np.array([distance(K, y) for K, y in problems])
    monkeypatch.setattr(newton, "_POLISHES", 0)
    rough = np.array([distance(K, y) for K, y in problems])
    assert (polished <= rough).all()
    assert (polished < 0.5 * rough).any()


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Probit()], ids=name)
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_an_offset_balances_the_dual_however_rough_the_tolerance(loss, tol):
    """Only where the dual sums to zero is the gap a bound of the distance to the minimum."""
    for n in (20, 40):
        for seed in range(2):
            K, y = problem(loss, n, seed)
            s = solve_dual(1e4 * K, y, loss, tol=tol, bias=True)
            assert abs(s.a.sum()) <= 1e-11 * np.abs(s.a).sum()
            best = solve_dual(1e4 * K, y, loss, tol=1e-10, bias=True)
            assert s.primal - best.primal <= s.gap + s.rounding + 1e-10 * (1.0 + best.primal)


@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
def test_sparse_solutions_factorise_the_free_set_only(C):
    loss = losses.SILF(C, 0.1)
    K, y = problem(loss, 300)
    sizes = []
    s = solve_dual(K, y, loss, callback=lambda progress: sizes.append(progress.n_free))
    assert s.factor.cholesky.shape == (s.free.sum(), s.free.sum())
    assert sizes[-1] == s.free.sum() < 300


def test_the_matrix_is_read_by_rows_of_the_support_and_its_diagonal_only():
    """A matrix whose other rows are poisoned gives the same answer from the solution itself."""
    loss = losses.SILF(10.0, 0.1)
    K, y = problem(loss, 100)
    s = solve_dual(K, y, loss)
    poisoned = K.copy()
    poisoned[~s.support] = np.nan
    poisoned[np.ix_(s.support, ~s.support)] = K[np.ix_(s.support, ~s.support)]
    np.fill_diagonal(poisoned, np.diag(K))
    again = solve_dual(poisoned, y, loss, a0=s.a, check_input=False)
    np.testing.assert_allclose(again.a, s.a, rtol=0, atol=1e-9)
