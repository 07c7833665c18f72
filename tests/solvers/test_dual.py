"""`solve_dual` against closed forms, independent solutions, and itself on equivalent problems."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.solvers import DualSolveError, DualSolveWarning, Progress, Status
from tests.solvers.problems import (
    ALL,
    by_row,
    certify,
    name,
    optimise,
    problem,
    rbf,
    repeated,
    sinc,
    two_classes,
)

CASES = json.loads((Path(__file__).parent / "data" / "duals.json").read_text(encoding="utf-8"))
EPS = float(np.finfo(float).eps)
SMOOTH = tuple(loss for loss in ALL if loss.differentiable)

every_loss = pytest.mark.parametrize("loss", ALL, ids=name)
both = pytest.mark.parametrize("bias", [False, True])


def case_problem(case):
    K = rbf(np.array(case["X"]), case["kappa0"], case["kappa"], case["kappa_b"])
    K += case.get("jitter", 0.0) * np.eye(len(K))
    if case["loss"] == "silf":
        return K, case["y"], losses.SILF(case["C"], case["epsilon"], case["beta"])
    return K, case["y"], losses.Trigonometric(case["delta"])


# ---- known solutions --------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['loss']}-{len(c['y'])}")
def test_reference_duals(case):
    K, y, loss = case_problem(case)
    # the gap is the square of the distance: the last step is taken for the sake of a and f
    s = solve_dual(K, y, loss, tol=1e-18, on_failure="ignore")
    a, f = np.array(case["a"]), np.array(case["f"])
    assert s.gap < 1e-12
    np.testing.assert_allclose(s.f, f, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(s.a, a, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(np.flatnonzero(s.support), np.flatnonzero(a))
    if case["loss"] == "silf":
        np.testing.assert_array_equal(np.flatnonzero(s.free), case["free"])
        np.testing.assert_array_equal(np.flatnonzero(s.bound), case["bound"])


@pytest.mark.parametrize("sigma", [1e-3, 0.1, 1.0, 100.0])
def test_gaussian_loss_is_gaussian_process_regression(sigma):
    K, y = problem(losses.Gaussian(sigma), 70)
    m = 0.3 * np.cos(np.arange(70))
    s = solve_dual(K, y, losses.Gaussian(sigma), m=m, tol=1e-13)
    A = K + sigma**2 * np.eye(70)
    a = scipy.linalg.solve(A, y - m, assume_a="pos")
    # each solution solves a system whose right-hand side it meets to rounding
    size = np.abs(K).max() * np.abs(a).sum() + np.abs(y).max()
    assert np.abs(A @ s.a - (y - m)).max() < 1e-13 * size
    np.testing.assert_allclose(s.f, m + K @ a, rtol=0, atol=1e-12 * size)
    assert s.n_iter <= 2


def test_gaussian_process_regression_with_a_flat_offset():
    sigma = 0.2
    K, y = problem(losses.Gaussian(sigma), 50)
    s = solve_dual(K, y, losses.Gaussian(sigma), bias=True, tol=1e-13)
    A = np.block([[K + sigma**2 * np.eye(50), np.ones((50, 1))], [np.ones((1, 50)), 0.0]])
    expected = np.linalg.solve(A, np.append(y, 0.0))
    np.testing.assert_allclose(s.a, expected[:-1], rtol=0, atol=1e-10 * np.abs(s.a).max())
    assert s.offset == pytest.approx(expected[-1], abs=1e-11)


EXTRA = (
    losses.SILF(C=2.0, epsilon=0.3, beta=0.05),
    losses.SILF(C=100.0, epsilon=0.05, beta=0.7),
    losses.Trigonometric(delta=0.3),
    losses.SoftMarginLe(C=30.0, epsilon=0.05),
)


@pytest.mark.parametrize("loss", SMOOTH + EXTRA, ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_smooth_losses_against_a_generic_optimiser_of_the_primal(loss, seed):
    K, y = problem(loss, 35, seed)
    m = 0.1 * np.random.default_rng(seed).normal(size=35)
    w = np.random.default_rng(seed).uniform(0.2, 2.0, size=35)
    s = solve_dual(K, y, loss, m=m, sample_weight=w, tol=1e-13)
    reference = optimise(loss, K, y, m, w)
    assert reference.gradient < 1e-6
    np.testing.assert_allclose(
        s.f, reference.f, rtol=0, atol=reference.scale * reference.gradient + 1e-7
    )
    assert s.primal == pytest.approx(reference.primal, rel=1e-11, abs=1e-11)
    assert s.primal <= reference.primal * (1.0 + 1e-12) + 1e-12


@pytest.mark.parametrize("loss", SMOOTH + EXTRA, ids=repr)
def test_smooth_losses_with_offset_against_a_generic_optimiser(loss):
    K, y = problem(loss, 35)
    K = K - 0.5 + 0.05 * np.eye(35)
    s = solve_dual(K, y, loss, bias=True, tol=1e-13)
    reference = optimise(loss, K, y, bias=True)
    assert reference.gradient < 1e-6
    assert s.primal == pytest.approx(reference.primal, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(s.f, reference.f, rtol=0, atol=1e-5)
    assert s.offset == pytest.approx(reference.offset, abs=1e-5)


# ---- equivalent problems ----------------------------------------------------------------------


@every_loss
@both
def test_integer_weights_are_repeated_rows(loss, bias):
    K, y = problem(loss, 30)
    w = np.random.default_rng(1).integers(0, 4, size=30)
    w[:2] = 1, 2
    rows = np.repeat(np.arange(30), w)
    once = solve_dual(K, y, loss, sample_weight=w, bias=bias, tol=1e-12)
    long = solve_dual(K[np.ix_(rows, rows)], y[rows], loss, bias=bias, tol=1e-12)
    assert once.primal == pytest.approx(long.primal, rel=1e-10, abs=1e-10)
    assert once.dual == pytest.approx(long.dual, rel=1e-10, abs=1e-10)
    tolerance = 1e-5 if loss.differentiable else 1e-4
    np.testing.assert_allclose(once.f[rows], long.f, rtol=0, atol=tolerance)
    summed = np.bincount(rows, weights=long.a, minlength=30)
    moved = K @ (once.a - summed)  # the summed duals are unique up to what K does not see
    np.testing.assert_allclose(moved - bias * moved.mean(), 0.0, rtol=0, atol=2 * tolerance)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_summed_duals_of_repeated_rows(loss):
    K, y = problem(loss, 25)
    w = np.random.default_rng(2).integers(0, 4, size=25)
    rows = np.repeat(np.arange(25), w)
    once = solve_dual(K, y, loss, sample_weight=w, tol=1e-14, on_failure="ignore")
    long = solve_dual(K[np.ix_(rows, rows)], y[rows], loss, tol=1e-14, on_failure="ignore")
    summed = np.bincount(rows, weights=long.a, minlength=25)
    np.testing.assert_allclose(once.a, summed, rtol=0, atol=1e-8 * np.abs(summed).max())


@every_loss
def test_zero_weight_is_a_removed_row(loss):
    K, y = problem(loss, 30)
    w = np.ones(30)
    w[[3, 8, 29]] = 0.0
    keep = np.flatnonzero(w)
    whole = solve_dual(K, y, loss, sample_weight=w, tol=1e-12)
    part = solve_dual(K[np.ix_(keep, keep)], y[keep], loss, tol=1e-12)
    assert (whole.a[w == 0.0] == 0.0).all()
    assert not whole.support[w == 0.0].any()
    assert whole.primal == pytest.approx(part.primal, rel=1e-11)
    np.testing.assert_allclose(whole.f[keep], part.f, rtol=0, atol=2e-5)


def test_all_weights_zero_is_the_prior():
    K, y = problem(losses.SILF(1.0, 0.1), 5)
    s = solve_dual(K, y, losses.SILF(1.0, 0.1), sample_weight=np.zeros(5), m=2.0)
    assert s.primal == s.dual == s.gap == 0.0
    np.testing.assert_array_equal(s.f, np.full(5, 2.0))


@pytest.mark.parametrize(
    ("loss", "other"),
    [
        (losses.SILF(4.0, 0.1), losses.SILF(10.0, 0.1)),
        (losses.EpsilonInsensitive(4.0, 0.1), losses.EpsilonInsensitive(10.0, 0.1)),
        (losses.SoftMarginL2(4.0), losses.SoftMarginL2(10.0)),
        (losses.SoftMarginL1(4.0), losses.SoftMarginL1(10.0)),
    ],
    ids=repr,
)
def test_a_fractional_weight_scales_C(loss, other):
    K, y = problem(loss, 40)
    one = solve_dual(K, y, loss, sample_weight=np.full(40, 2.5), tol=1e-12)
    two = solve_dual(K, y, other, tol=1e-12)
    assert one.primal == pytest.approx(two.primal, rel=1e-11)
    np.testing.assert_allclose(one.f, two.f, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(one.support, two.support)


@pytest.mark.parametrize("loss", ALL[:5], ids=name)
def test_a_prior_mean_shifts_the_targets_of_regression(loss):
    K, y = problem(loss, 40)
    m = np.linspace(-1.0, 2.0, 40)
    with_mean = solve_dual(K, y, loss, m=m, tol=1e-12)
    shifted = solve_dual(K, y - m, loss, tol=1e-12)
    np.testing.assert_allclose(with_mean.f, shifted.f + m, rtol=0, atol=1e-5)
    assert with_mean.primal == pytest.approx(shifted.primal, rel=1e-11)
    constant = solve_dual(K, y + 1.5, loss, m=1.5, tol=1e-12)
    flat = solve_dual(K, y, loss, tol=1e-12)
    np.testing.assert_allclose(constant.f, flat.f + 1.5, rtol=0, atol=1e-5)


@every_loss
def test_flat_offset_is_the_limit_of_a_large_constant_in_the_kernel(loss):
    K, y = problem(loss, 30)
    exact = solve_dual(K, y, loss, bias=True, tol=1e-12)
    limit = solve_dual(K + 1e5, y, loss)
    # the constant costs b² / 2e5 nats at the offset b of the limit
    cost = exact.offset**2 / 2e5
    assert exact.primal - 1e-8 <= limit.primal <= exact.primal + 1.01 * cost + 1e-8
    np.testing.assert_allclose(limit.f, exact.f, rtol=0, atol=3e-3)
    assert abs(exact.a.sum()) <= 1e-13 * np.abs(exact.a).sum() * 30


@every_loss
def test_with_an_offset_a_constant_in_the_kernel_changes_nothing(loss):
    K, y = problem(loss, 30)
    one = solve_dual(K, y, loss, bias=True, tol=1e-12)
    two = solve_dual(K + 7.0, y, loss, bias=True, tol=1e-12)
    assert one.primal == pytest.approx(two.primal, rel=1e-10)
    np.testing.assert_allclose(one.f, two.f, rtol=0, atol=2e-5)


@every_loss
def test_the_order_of_rows_does_not_matter(loss):
    K, y = problem(loss, 40)
    order = np.random.default_rng(0).permutation(40)
    one = solve_dual(K, y, loss, tol=1e-12)
    two = solve_dual(K[np.ix_(order, order)], y[order], loss, tol=1e-12)
    np.testing.assert_allclose(one.f[order], two.f, rtol=0, atol=2e-5)
    assert one.primal == pytest.approx(two.primal, rel=1e-11)


# ---- arguments that steer the solve -----------------------------------------------------------


@every_loss
@both
def test_warm_start_finds_the_same_solution_in_fewer_steps(loss, bias):
    K, y = problem(loss, 60)
    cold = solve_dual(K, y, loss, bias=bias)
    warm = solve_dual(K, y, loss, a0=cold.a, bias=bias)
    assert warm.n_iter <= min(cold.n_iter, 6)
    if cold.n_iter > 2 and loss.differentiable:
        assert warm.n_iter < cold.n_iter
    assert warm.primal == pytest.approx(cold.primal, rel=2e-9)
    np.testing.assert_allclose(warm.f, cold.f, rtol=0, atol=1e-3)


@every_loss
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e9])
def test_any_start_is_as_good(loss, size):
    K, y = problem(loss, 40)
    a0 = size * np.random.default_rng(0).normal(size=40)
    s = solve_dual(K, y, loss, a0=a0)
    best = solve_dual(K, y, loss, tol=1e-12)
    assert certify(loss, K, y, s.a).gap <= 1e-9 * (1.0 + s.primal)
    assert s.primal == pytest.approx(best.primal, rel=2e-9, abs=1e-9)


def test_a_warm_start_is_not_changed():
    K, y = problem(ALL[0], 20)
    a0 = np.full(20, 30.0)
    solve_dual(K, y, ALL[0], a0=a0)
    np.testing.assert_array_equal(a0, 30.0)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_tol_is_relative_to_one_plus_primal(loss):
    K, y = problem(loss, 60)
    last = 0
    for tol in (1e9, 1e-1, 1e-3, 1e-6, 1e-9, 1e-12):
        s = solve_dual(K, y, loss, tol=tol)
        assert certify(loss, K, y, s.a).gap <= tol * (1.0 + s.primal) + 1e-12
        assert s.n_iter >= last
        last = s.n_iter
    assert solve_dual(K, y, loss, tol=1e9).n_iter == 0


@every_loss
def test_max_iter_raises_warns_or_is_told(loss):
    K, y = problem(loss, 60)
    few = {"max_iter": 0 if name(loss) == "Gaussian" else 1, "tol": 1e-12}
    with pytest.raises(DualSolveError, match="Raise max_iter or tol") as caught:
        solve_dual(K, y, loss, **few)
    assert caught.value.solution.status is Status.MAX_ITER
    assert caught.value.solution.n_iter == few["max_iter"]
    with pytest.warns(DualSolveWarning, match="The duality gap is .* nats") as caught:
        s = solve_dual(K, y, loss, on_failure="warn", **few)
    assert caught[0].filename == __file__
    assert s.status is Status.MAX_ITER
    assert solve_dual(K, y, loss, on_failure="ignore", **few).status is Status.MAX_ITER


@every_loss
@both
def test_callback_hears_every_step(loss, bias):
    K, y = problem(loss, 50)
    heard = []
    s = solve_dual(K, y, loss, bias=bias, callback=heard.append)
    assert all(isinstance(progress, Progress) for progress in heard)
    assert len(heard) == s.n_iter > 0
    assert all(0 <= progress.n_free <= 50 and progress.step >= 0.0 for progress in heard)
    plain = solve_dual(K, y, loss, bias=bias)
    np.testing.assert_array_equal(plain.a, s.a)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_callback_counts_the_steps_of_a_smooth_loss(loss):
    K, y = problem(loss, 50)
    heard = []
    s = solve_dual(K, y, loss, a0=np.full(50, 1e-9), callback=heard.append)
    assert [progress.n_iter for progress in heard] == list(range(s.n_iter))


def test_an_error_in_the_callback_reaches_the_caller():
    K, y = problem(ALL[0], 20)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_dual(K, y, ALL[0], callback=stop)


@every_loss
def test_threads_do_not_disturb_each_other(loss):
    K, y = problem(loss, 80)
    alone = solve_dual(K, y, loss)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: solve_dual(K, y, loss), range(8)))
    for s in results:
        np.testing.assert_array_equal(s.a, alone.a)
        np.testing.assert_array_equal(s.f, alone.f)
        assert s.n_iter == alone.n_iter
        assert s.gap == alone.gap


# ---- edge cases -------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("k", [0.0, 1e-12, 1.0, 1e12])
def test_one_observation(loss, k):
    y = [1.0] if loss.task == "classification" else [0.7]
    s = solve_dual([[k]], y, loss, tol=1e-8)
    c = certify(loss, np.array([[k]]), y, s.a)
    assert c.gap <= 1e-8 * (1.0 + c.primal) + 1e-14


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("loss", ALL[:5], ids=name)
def test_constant_targets(loss, bias):
    K, _ = problem(loss, 30)
    s = solve_dual(K, np.full(30, 3.0), loss, bias=bias)
    assert certify(loss, K, np.full(30, 3.0), s.a, s.offset).gap <= 1e-9 * (1.0 + s.primal)
    if bias:
        assert s.primal == pytest.approx(0.0, abs=1e-9)
        assert np.abs(s.f - 3.0).max() <= getattr(loss, "epsilon", 0.0) + 1e-6


@both
@pytest.mark.parametrize(
    "loss", [losses.SILF(10.0, 5.0), losses.EpsilonInsensitive(10.0, 5.0)], ids=name
)
def test_everything_inside_the_tube(loss, bias):
    K, y = problem(loss, 40)
    s = solve_dual(K, y, loss, bias=bias)
    assert (s.a == 0.0).all()
    assert not s.support.any()
    assert s.primal == s.gap == 0.0
    assert s.n_iter <= 1
    assert s.factor.cholesky.shape == (0, 0)


@pytest.mark.parametrize("loss", ALL[5:], ids=name)
def test_one_class_only(loss):
    K, _ = problem(loss, 30)
    y = -np.ones(30)
    s = solve_dual(K, y, loss)
    assert certify(loss, K, y, s.a).gap <= 1e-9 * (1.0 + s.primal)
    assert (s.a <= 0.0).all()
    s = solve_dual(K, y, loss, bias=True, on_failure="ignore")
    if s.status is Status.UNBOUNDED:  # the infimum, zero, is not attained
        assert name(loss) in ("Logistic", "Probit")
    else:
        assert certify(loss, K, y, s.a, s.offset).gap <= 1e-9
        assert s.primal == pytest.approx(0.0, abs=1e-9)
        assert s.offset < -0.999


@every_loss
@both
def test_duplicate_rows(loss, bias):
    K, y = problem(loss, 24)
    rows = np.tile(np.arange(24), 3)
    s = solve_dual(K[np.ix_(rows, rows)], y[rows], loss, bias=bias)
    c = certify(loss, K[np.ix_(rows, rows)], y[rows], s.a, s.offset)
    assert c.gap <= 1e-9 * (1.0 + c.primal)


@every_loss
def test_contradicting_duplicates(loss):
    K, y = problem(loss, 24)
    rows = np.tile(np.arange(24), 2)
    y = np.concatenate([y, -y])
    s = solve_dual(K[np.ix_(rows, rows)], y, loss)
    c = certify(loss, K[np.ix_(rows, rows)], y, s.a)
    assert c.gap <= 1e-9 * (1.0 + c.primal)


@every_loss
def test_zero_covariance(loss):
    _, y = problem(loss, 20)
    s = solve_dual(np.zeros((20, 20)), y, loss)
    np.testing.assert_array_equal(s.f, 0.0)
    c = certify(loss, np.zeros((20, 20)), y, s.a)
    assert c.gap <= 1e-9 * (1.0 + c.primal)


@every_loss
def test_zero_covariance_with_an_offset_is_a_location_estimate(loss):
    _, y = problem(loss, 20)
    K = np.zeros((20, 20))
    s = solve_dual(K, y, loss, bias=True)
    c = certify(loss, K, y, s.a, s.offset)
    assert c.gap <= 1e-9 * (1.0 + c.primal)
    np.testing.assert_array_equal(s.f, s.offset)
    if name(loss) == "Gaussian":
        assert s.offset == pytest.approx(y.mean(), abs=1e-12)


@every_loss
@both
def test_linear_kernel(loss, bias):
    X, labels = two_classes(60)
    y = labels if loss.task == "classification" else X @ [0.5, -1.0] + 0.3
    s = solve_dual(X @ X.T, y, loss, bias=bias)
    c = certify(loss, X @ X.T, y, s.a, s.offset)
    assert c.gap <= 1e-9 * (1.0 + c.primal)


@every_loss
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-3, 1e3, 1e5, 1e6, 1e9, 1e12])
def test_scale_of_the_covariance(loss, scale):
    K, y = problem(loss, 40)
    K = scale * K
    s = solve_dual(K, y, loss, tol=1e-8, on_failure="ignore")
    c = certify(loss, K, y, s.a)
    rounding = 4.0 * EPS * float(np.abs(s.a) @ (np.abs(K) @ np.abs(s.a)))
    if s.converged:
        assert c.gap <= 1e-8 * (1.0 + c.primal) + rounding
    else:
        assert scale > 1e5, s.status
        assert s.status in (Status.MAX_ITER, Status.STALLED)


@pytest.mark.parametrize("loss", [losses.SILF(10.0, 0.1), losses.Trigonometric()], ids=name)
def test_layout_and_type_of_the_input_do_not_matter(loss):
    K, y = problem(loss, 40)
    plain = solve_dual(K, y, loss)
    big = np.zeros((80, 80))
    big[::2, ::2] = K
    for same in (np.asfortranarray(K), K.T, big[::2, ::2], K.tolist()):
        np.testing.assert_allclose(solve_dual(same, y, loss).a, plain.a, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(solve_dual(K, y.tolist(), loss).a, plain.a)
    single = K.astype(np.float32)
    s = solve_dual(single, y.astype(np.float32), loss)
    assert s.a.dtype == s.f.dtype == np.float64
    np.testing.assert_allclose(s.f, plain.f, rtol=0, atol=1e-4)


def test_integers_are_numbers():
    s = solve_dual(np.eye(3, dtype=int), [1, -1, 1], losses.SoftMarginL2(1))
    np.testing.assert_allclose(s.a, [0.5, -0.5, 0.5], rtol=1e-14)
    s = solve_dual([[1, 0], [0, 2]], [1, 4], losses.Gaussian(1))
    np.testing.assert_allclose(s.a, [0.5, 4.0 / 3.0], rtol=1e-14)


def test_inputs_are_not_changed():
    loss = losses.SILF(10.0, 0.1)
    K, y = problem(loss, 20)
    m, w = np.full(20, 0.1), np.full(20, 2.0)
    copies = [x.copy() for x in (K, y, m, w)]
    for x in (K, y, m, w):
        x.flags.writeable = False
    solve_dual(K, y, loss, m=m, sample_weight=w)
    for x, copy in zip((K, y, m, w), copies, strict=True):
        np.testing.assert_array_equal(x, copy)


# ---- errors -----------------------------------------------------------------------------------

GOOD = {"K": np.eye(3), "y": np.array([1.0, -1.0, 1.0]), "loss": losses.SILF(1.0, 0.1)}


def changed(i, j, value):
    K = np.eye(3)
    K[i, j] = value
    return K


BAD = [
    ({"K": np.ones((3, 2))}, ValueError, "K", "(3, 2)"),
    ({"K": np.ones(3)}, ValueError, "K", "(3,)"),
    ({"K": np.ones((0, 0)), "y": []}, ValueError, "K", "(0, 0)"),
    ({"K": changed(0, 2, 0.25)}, ValueError, "K", "0.25"),
    ({"K": changed(0, 2, np.nan)}, ValueError, "K", "K[0, 2] is nan"),
    ({"K": changed(2, 0, np.inf)}, ValueError, "K", "K[2, 0] is inf"),
    ({"K": changed(1, 1, -0.5)}, ValueError, "K", "-0.5"),
    ({"K": np.full((3, 3), 2.0) - np.eye(3)}, ValueError, "K", "3"),
    ({"y": [1.0, 2.0]}, ValueError, "y", "(2,)"),
    ({"y": [[1.0, 2.0, 3.0]]}, ValueError, "y", "(1, 3)"),
    ({"y": [1.0, np.nan, 0.0]}, ValueError, "y", "nan"),
    ({"y": [1.0, np.inf, 0.0]}, ValueError, "y", "inf"),
    ({"y": [1.0, 0.0, 1.0], "loss": losses.Logistic()}, ValueError, "y", "0.0"),
    ({"y": [1.0, 2.0, 1.0], "loss": losses.Trigonometric()}, ValueError, "y", "2.0"),
    ({"m": [np.nan, 0.0, 0.0]}, ValueError, "m", "nan"),
    ({"sample_weight": [1.0, -2.0, 1.0]}, ValueError, "sample_weight", "-2.0"),
    ({"sample_weight": [1.0, np.inf, 1.0]}, ValueError, "sample_weight", "inf"),
    ({"sample_weight": [1.0, 1.0]}, ValueError, "sample_weight", "(2,)"),
    ({"a0": [1.0]}, ValueError, "a0", "(1,)"),
    ({"a0": [np.nan, 0.0, 0.0]}, ValueError, "a0", "nan"),
    ({"tol": 0.0}, ValueError, "tol", "0.0"),
    ({"tol": -1e-3}, ValueError, "tol", "-0.001"),
    ({"tol": np.nan}, ValueError, "tol", "nan"),
    ({"max_iter": -1}, ValueError, "max_iter", "-1"),
    ({"on_failure": "explode"}, ValueError, "on_failure", "'explode'"),
    ({"loss": "silf"}, TypeError, "loss", "'silf'"),
    ({"loss": losses.SILF}, TypeError, "loss", "SILF"),
    ({"loss": None}, TypeError, "loss", "None"),
]


@pytest.mark.parametrize(("bad", "error", "argument", "seen"), BAD)
def test_bad_arguments(bad, error, argument, seen):
    with pytest.raises(error) as caught:
        solve_dual(**{**GOOD, **bad})
    message = str(caught.value)
    assert argument in message, message
    assert seen in message, message
    assert message.endswith("."), message
    assert ". " in message, message


def test_a_prior_mean_of_the_wrong_length():
    with pytest.raises(ValueError, match="m must have shape") as caught:
        solve_dual(**GOOD, m=[0.0, 1.0])
    message = str(caught.value)
    assert message.startswith("m must have shape (3,)"), message
    assert ". " in message, message


def test_asymmetry_of_rounding_is_allowed():
    K, y = problem(losses.SILF(1.0, 0.1), 10)
    K[3, 4] *= 1.0 + 1e-12
    assert solve_dual(K, y, losses.SILF(1.0, 0.1)).converged


def test_matrix_that_is_indefinite_only_as_a_whole():
    n = 6
    K = 1.4 * np.eye(n) - 0.4 * np.ones((n, n))  # 2 x 2 minors are positive, one eigenvalue is -1
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(-1.0)
    y = np.ones(n)
    with pytest.raises(DualSolveError, match="K is not positive semidefinite") as caught:
        solve_dual(K, y, losses.Gaussian(0.1))
    assert caught.value.solution.status is Status.INDEFINITE
    assert "add a jitter" in str(caught.value)


def test_checks_can_be_left_out():
    K, y = problem(losses.SILF(10.0, 0.1), 20)
    checked = solve_dual(K, y, losses.SILF(10.0, 0.1))
    unchecked = solve_dual(K, y, losses.SILF(10.0, 0.1), check_input=False)
    np.testing.assert_array_equal(checked.a, unchecked.a)
    K[3, 7] = 5.0
    s = solve_dual(K, y, losses.SILF(10.0, 0.1), check_input=False, on_failure="ignore")
    assert isinstance(s.status, Status)


def test_prior_mean_behind_the_wall():
    K, y = problem(losses.Trigonometric(), 20)
    with pytest.raises(DualSolveError, match="prior mean") as caught:
        solve_dual(K, y, losses.Trigonometric(), m=-1.5 * y)
    assert caught.value.solution.status is Status.INFEASIBLE
    assert caught.value.solution.gap == np.inf


def test_prior_mean_far_inside_the_wall_is_fine():
    K, y = problem(losses.Trigonometric(), 20)
    s = solve_dual(K, y, losses.Trigonometric(), m=-0.999 * y)
    assert certify(losses.Trigonometric(), K, y, s.a, 0.0, -0.999 * y).gap <= 1e-9 * (1 + s.primal)


def test_sinc_regression_recovers_the_curve():
    X, y = sinc(300, seed=4)
    s = solve_dual(rbf(X, 1.0, 5.0, 0.1), y, losses.SILF(10.0, 0.1))
    assert np.sqrt(np.mean((s.f - np.sinc(5.0 * X[:, 0] / np.pi)) ** 2)) < 0.05


def test_engines_are_named_and_the_compiled_one_takes_no_callback():
    loss = losses.SILF(10.0, 0.1)
    K, y = problem(loss, 5)
    with pytest.raises(ValueError, match=r"engine must be 'numpy' or 'numba', but it is 'fast'\."):
        solve_dual(K, y, loss, engine="fast")
    with pytest.raises(ValueError, match=r"cannot call back into Python.*Leave out the callback"):
        solve_dual(K, y, loss, engine="numba", callback=print)


MEMORY = """
from pathlib import Path
import numpy as np
from pymc_bsvm import losses, solve_dual

def peak():  # bytes; unlike ru_maxrss, not inherited from the process that started this one
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(-3, 3, 2400))
y = np.where(np.sin(2 * x) + rng.normal(size=x.size) > 0, 1.0, -1.0)
K = np.subtract.outer(x, x)
for step in (np.square, lambda z, out: np.multiply(z, -0.5, out=out), np.exp):
    step(K, out=K)  # in place: the peak before the solve is K itself
for start in (None, np.zeros(700)):  # compiles
    solve_dual(K[:700, :700].copy(), y[:700], losses.Logistic(), start)
before = peak()
solve_dual(K, y, losses.Logistic())  # begins in low rank
solution = solve_dual(K, y, losses.Logistic(), np.zeros(x.size))
after = peak()
assert solution.free.all() and solution.n_iter > 2
print((after - before) / (8 * x.size**2))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
def test_memory_beyond_the_kernel_matrix_stays_below_three_halves_of_the_factor():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, timeout=120
    )
    assert 0.5 < float(done.stdout) < 1.5  # in units of m², here with m = n


def test_an_indefinite_kernel_is_not_certified():
    """The cosine of a distance in the plane is no covariance; its solutions gain without bound."""
    X = 2.0 * np.random.default_rng(0).normal(size=(40, 2))
    K = np.cos(2.0 * np.pi * np.linalg.norm(X[:, None] - X, axis=2))
    assert np.linalg.eigvalsh(K).min() < -1.0
    solution = solve_dual(K, np.sin(X[:, 0]), losses.SILF(10.0, 0.1), on_failure="ignore")
    assert solution.status is Status.INDEFINITE


@pytest.mark.parametrize(
    "loss", [losses.Trigonometric(1.2), losses.Logistic(), losses.Probit()], ids=lambda x: str(x)
)
def test_certified_duals_are_polished(loss):
    """The gap is of second order in the dual; its last factor removes what the gap cannot see."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    labels = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0, 1.0, -1.0)
    K = 9.0 * np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) + 1.0
    solution = solve_dual(K, labels, loss)
    optimality = solution.a + loss.derivative(labels, K @ solution.a)
    assert np.abs(optimality).max() < 1e-11 * np.abs(solution.a).max()


# ---- parameters by row ------------------------------------------------------------------------

parametric = pytest.mark.parametrize("loss", [x for x in ALL if x.domains], ids=name)


@parametric
@both
def test_rows_with_parameters_of_their_own(loss, bias):
    K, y = problem(loss, 60)
    rows = by_row(loss, 60)
    s = solve_dual(K, y, rows, bias=bias, tol=1e-11)
    assert certify(rows, K, y, s.a, s.offset).gap <= 1e-10 * (1.0 + s.primal)
    assert s.primal != pytest.approx(solve_dual(K, y, loss, bias=bias).primal, rel=1e-3)
    for i, one in enumerate(rows.take([i]) for i in range(60)):
        assert one.sets(y[[i]], s.f[[i]], s.a[[i]]).support == s.support[i]
    equal = type(loss)(**{k: np.full(60, x) for k, x in loss.fields.items()})
    shared = solve_dual(K, y, loss, bias=bias, tol=1e-11)
    np.testing.assert_allclose(solve_dual(K, y, equal, bias=bias, tol=1e-11).f, shared.f, rtol=1e-8)


@pytest.mark.parametrize("loss", [ALL[0], ALL[3], ALL[5]], ids=name)
def test_both_engines_with_parameters_by_row(loss):
    K, y = problem(loss, 50)
    rows, w = by_row(loss, 50), np.resize([1.0, 2.0, 0.5], 50)
    one, two = (
        solve_dual(K, y, rows, sample_weight=w, tol=1e-11, engine=engine)
        for engine in ("numpy", "numba")
    )
    assert certify(rows, K, y, two.a, w=w).gap <= 1e-10 * (1.0 + two.primal)
    np.testing.assert_allclose(two.a, one.a, rtol=0, atol=1e-11 * (1 + np.abs(one.a).max()))
    assert two.n_iter == one.n_iter


def test_gaussian_noise_by_row_is_gaussian_process_regression():
    X, y = sinc(70)
    K, sigma = rbf(X, 1.0, 5.0, 0.5), 0.1 * np.exp(np.linspace(-3.0, 3.0, 70))
    s = solve_dual(K, y, losses.Gaussian(sigma), tol=1e-13)
    a = scipy.linalg.solve(K + np.diag(sigma**2), y, assume_a="pos")
    np.testing.assert_allclose(s.a, a, rtol=1e-8, atol=1e-9 * np.abs(a).max())


@parametric
@both
def test_weights_repeat_rows_with_their_parameters(loss, bias):
    K, y = problem(loss, 30)
    rows = by_row(loss, 30)
    w = np.random.default_rng(1).integers(0, 4, 30)
    again = np.repeat(np.arange(30), w)
    s = solve_dual(K, y, rows, sample_weight=w, bias=bias, tol=1e-12)
    long = repeated(rows, w)
    t = solve_dual(K[np.ix_(again, again)], y[again], long, bias=bias, tol=1e-12)
    assert s.primal == pytest.approx(t.primal, rel=1e-10)
    np.testing.assert_allclose(s.f[again], t.f, rtol=0, atol=2e-5)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_one_row_with_a_very_narrow_bend(engine):
    """The bend of a single row decides how far the loss has to be smoothed."""
    X, y = sinc(60)
    K, beta = rbf(X, 1.0, 5.0), np.where(np.arange(60) == 7, 1e-12, 0.3)
    loss = losses.SILF(np.linspace(5.0, 20.0, 60), 0.1, beta)
    s = solve_dual(K, y, loss, engine=engine)
    assert certify(loss, K, y, s.a).gap <= 1e-9 * (1.0 + s.primal)


def test_parameters_of_another_number_of_rows():
    K, y = problem(losses.Gaussian(1.0), 5)
    for wrong in (np.ones(4), np.ones(1), np.ones(6)):
        with pytest.raises(ValueError, match=r"sigma of Gaussian has \d values, but there are 5 r"):
            solve_dual(K, y, losses.Gaussian(wrong))
    with pytest.raises(TypeError, match=r"sigma of Gaussian is a function of the inputs"):
        solve_dual(K, y, losses.Gaussian(lambda X: X[:, 0]))
