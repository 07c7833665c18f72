"""Covariances of low rank plus a diagonal: the solutions are those of the matrix they stand for."""

import subprocess
import sys

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses, solve_dual
from pymc_bsvm.solvers import DualSolveError, Status
from tests.solvers.problems import ALL, by_row, certify, name, rbf, sinc, two_classes

N = 2000
LARGE = (
    losses.SILF(C=10.0, epsilon=0.1, beta=0.3),
    losses.Trigonometric(),
    losses.Logistic(),
    losses.EpsilonInsensitive(C=10.0, epsilon=0.1),
    losses.SoftMarginL1(C=2.0),
)


def problem(loss, n, m=30, diagonal="zero", seed=0):
    """Return inducing-point features with a constant, and targets; some rows stand twice."""
    X, y = (sinc if loss.task == "regression" else two_classes)(n, seed)
    X[n // 2 : n // 2 + n // 10] = X[: n // 10]
    rng = np.random.default_rng(seed)
    Z = X[rng.choice(n, min(m, n), replace=False)]
    both = rbf(np.concatenate([Z, X]), 1.0, 5.0)[:, : len(Z)]
    L = np.linalg.cholesky(both[: len(Z)] + 1e-6 * np.eye(len(Z)))
    A = np.column_stack([np.linalg.solve(L, both[len(Z) :].T).T, np.ones(n)])
    d = {"zero": 0.0, "number": 0.1, "vector": rng.uniform(0.0, 0.3, n) * (X[:, 0] > 0.0)}
    return bsvm.LowRank(A, d[diagonal]), y


def assert_equal_solutions(loss, K, y, **settings):
    low, dense = (solve_dual(k, y, loss, **settings) for k in (K, K.dense()))
    assert low.status is dense.status is Status.CONVERGED
    scale = 1.0 + abs(dense.primal)
    assert abs(low.dual - dense.dual) <= 1e-8 * scale
    assert abs(low.primal - dense.primal) <= 1e-8 * scale
    size = 1.0 + np.abs(dense.f).max()
    if loss.differentiable:
        np.testing.assert_allclose(low.f, dense.f, rtol=0, atol=1e-8 * size)
        assert low.offset == pytest.approx(dense.offset, abs=1e-8)
    else:  # found in two ways; (f - f*)² / 2 K_ii is at most the gap
        np.testing.assert_allclose(low.f, dense.f, rtol=0, atol=1e-5 * size)
        assert low.offset == pytest.approx(dense.offset, abs=1e-5 * size)
    return low, dense


@pytest.mark.parametrize("loss", LARGE, ids=name)
@pytest.mark.parametrize("diagonal", ["zero", "number", "vector"])
def test_large_problems(loss, diagonal):
    K, y = problem(loss, N, diagonal=diagonal)
    low, _ = assert_equal_solutions(loss, K, y)
    independent = certify(loss, K.dense(), y, low.a)
    assert independent.gap <= 1e-9 * (1.0 + independent.primal) + 1e-9


@pytest.mark.parametrize("loss", ALL, ids=name)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("m", [1, 5, 80])
def test_all_options(loss, bias, m):
    K, y = problem(loss, 60, m, "vector")
    rng = np.random.default_rng(1)
    w = rng.uniform(0.2, 2.0, 60) * (np.arange(60) % 7 > 0)
    m = 0.2 * rng.uniform(-1.0, 1.0, 60)
    settings = {"sample_weight": w, "bias": bias, "m": m, "tol": 1e-12}
    low, _ = assert_equal_solutions(loss, K, y, **settings)
    again = solve_dual(K, y, loss, a0=low.a, **settings)
    assert again.n_iter <= max(low.n_iter, 3)
    np.testing.assert_allclose(again.f, low.f, rtol=0, atol=1e-5)  # the root of the gap


@pytest.mark.parametrize("loss", ALL, ids=name)
def test_no_covariance_at_all(loss):
    K = bsvm.LowRank(np.zeros((30, 2)))
    _, y = problem(loss, 30)
    low, _ = assert_equal_solutions(loss, K, y, m=0.1)
    np.testing.assert_array_equal(low.f, np.full(30, 0.1))


@pytest.mark.parametrize(
    "loss",
    [
        losses.Gaussian(0.3),
        pytest.param(losses.SILF(10.0, 0.1), marks=pytest.mark.slow),
        pytest.param(losses.EpsilonInsensitive(10.0, 0.1), marks=pytest.mark.slow),
    ],
    ids=name,
)
def test_engines_agree(loss):
    for m, bias in ((5, False), (80, True)):
        K, y = problem(loss, 50, m, "number")
        slow, fast = (solve_dual(K, y, loss, bias=bias, engine=e) for e in ("numpy", "numba"))
        np.testing.assert_allclose(fast.f, slow.f, rtol=0, atol=1e-9)
        assert fast.n_iter == slow.n_iter
        np.testing.assert_array_equal(fast.factor.index, slow.factor.index)
        assert fast.factor.log_det() == pytest.approx(slow.factor.log_det(), rel=1e-9)


def test_parameters_by_row():
    loss = by_row(losses.SILF(10.0, 0.1), 60)
    assert_equal_solutions(loss, *problem(loss, 60), tol=1e-12)


def test_the_factor_is_that_of_the_solution():
    loss = losses.SILF(10.0, 0.1)
    K, y = problem(loss, 300, diagonal="number")
    s = solve_dual(K, y, loss)
    dense, free = K.dense(), np.flatnonzero(s.free)
    np.testing.assert_array_equal(s.factor.index, free)
    W = loss.curvature(y, s.f)[free]
    np.testing.assert_allclose(s.factor.root_curvature**2, W, rtol=1e-14)
    B = np.eye(free.size) + np.sqrt(W)[:, None] * dense[np.ix_(free, free)] * np.sqrt(W)
    assert s.factor.log_det() == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-12)


def test_rounding_is_bounded_and_recomputed_where_it_decides():
    loss = losses.SILF(1e4, 0.01)
    K, y = problem(loss, 200)
    K = bsvm.LowRank(30.0 * K.A, K.d)
    rough, s = (solve_dual(K, y, loss, tol=tol) for tol in (1e-3, 1e-9))
    assert rough.rounding > 0.01
    assert s.rounding < 1e-9 * (1.0 + s.primal) < rough.rounding
    A = K.A.astype(np.longdouble)
    f = A @ (A.T @ s.a.astype(np.longdouble))
    y, a = y.astype(np.longdouble), s.a.astype(np.longdouble)
    r, lo, hi = np.abs(y - f), 0.007, 0.013
    value = 1e4 * np.where(r < lo, 0, np.where(r < hi, (r - lo) ** 2 / 0.012, r - 0.01))
    gap = (value + lo * np.abs(a) + 0.3 * 0.01 / 1e4 * a * a - a * y + a * f).sum()
    assert abs(gap - s.gap) <= s.rounding


def test_failures_are_told():
    loss = losses.SILF(10.0, 0.1)
    K, y = problem(loss, 50)
    with pytest.raises(DualSolveError, match=r"Raise max_iter or tol"):
        solve_dual(K, y, loss, max_iter=1, tol=1e-12)
    with pytest.raises(ValueError, match=r"y must have shape \(50,\) to match K"):
        solve_dual(K, y[:-1], loss)


BIG = """
import resource
import numpy as np
import pymc_bsvm as bsvm
rng = np.random.default_rng(0)
K = bsvm.LowRank(rng.normal(size=(40_000, 10)), 0.01)
y = K.A @ rng.normal(size=10) + rng.laplace(size=40_000)
loss = bsvm.losses.SILF(C=5.0, epsilon=0.1)
bsvm.solve_dual(bsvm.LowRank(K.A[:50]), y[:50], loss)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
solution = bsvm.solve_dual(K, y, loss)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(solution.status.name, (after - before) // 1024)
"""


def test_memory_grows_with_the_rows_only():
    """A matrix of all rows would take 12 GiB, the features take 3 MiB."""
    run = subprocess.run([sys.executable, "-c", BIG], capture_output=True, text=True, timeout=300)
    status, mebibytes = run.stdout.split()
    assert (status, run.stderr) == ("CONVERGED", "")
    assert int(mebibytes) < 100
