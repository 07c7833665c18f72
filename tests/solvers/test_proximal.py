"""Losses with kinks: LIBSVM, limits of smooth losses, closed forms; and the envelopes."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn import svm

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.solvers import Status
from tests.solvers.problems import ALL, certify, name, problem, rbf, sinc, two_classes

KINKED = tuple(loss for loss in ALL if not loss.differentiable)
WITH_ENVELOPE = tuple(loss for loss in ALL if loss.envelope_type is not None)


def libsvm_dual(model, n):
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_.ravel()
    return a


def compare(loss, K, y, theirs):
    """Hold our solution against another dual with an offset."""
    s = solve_dual(K, y, loss, bias=True)
    ours = certify(loss, K, y, s.a, s.offset)
    assert ours.gap <= 1e-9 * (1.0 + ours.primal)
    other = certify(loss, K, y, theirs)
    assert ours.dual <= other.dual + 1e-9 * (1.0 + abs(ours.primal))
    assert ours.dual >= other.dual - 1e-5 * (1.0 + abs(ours.primal))
    # the same support set, up to rows whose residual or margin is at the edge
    x = np.abs(y - s.f) - loss.epsilon if loss.task == "regression" else 1.0 - y * s.f
    clear = np.abs(x) > 1e-3
    np.testing.assert_array_equal(s.support[clear], (x > 0)[clear])
    np.testing.assert_array_equal((np.abs(theirs) > 0)[clear], s.support[clear])
    return s


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_libsvm_regression(n, C, epsilon):
    X, y = sinc(n)
    K = rbf(X, 1.0, 5.0)
    model = svm.SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-7).fit(K, y)
    s = compare(losses.EpsilonInsensitive(C, epsilon), K, y, libsvm_dual(model, n))
    np.testing.assert_allclose(s.f, model.predict(K), rtol=0, atol=1e-3)


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
def test_libsvm_classification(n, C):
    X, y = two_classes(n)
    K = rbf(X, 1.0, 1.0)
    model = svm.SVC(kernel="precomputed", C=C, tol=1e-7).fit(K, y)
    s = compare(losses.SoftMarginL1(C), K, y, libsvm_dual(model, n))
    np.testing.assert_allclose(s.f, model.decision_function(K), rtol=0, atol=1e-3)


def test_libsvm_with_sample_weights():
    X, y = two_classes(100)
    K = rbf(X, 1.0, 1.0)
    w = np.random.default_rng(0).uniform(0.2, 3.0, size=100)
    model = svm.SVC(kernel="precomputed", C=2.0, tol=1e-7).fit(K, y, sample_weight=w)
    s = solve_dual(K, y, losses.SoftMarginL1(2.0), bias=True, sample_weight=w)
    theirs = certify(losses.SoftMarginL1(2.0), K, y, libsvm_dual(model, 100), w=w)
    assert s.dual == pytest.approx(theirs.dual, rel=1e-6)
    assert s.dual <= theirs.dual + 1e-8 * (1.0 + s.primal)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("beta", [1e-4, 1e-6, 1e-8])
def test_silf_tends_to_epsilon_insensitive(beta, bias):
    X, y = sinc(100)
    K = rbf(X, 1.0, 5.0)
    limit = solve_dual(K, y, losses.EpsilonInsensitive(10.0, 0.1), bias=bias, tol=1e-10)
    s = solve_dual(K, y, losses.SILF(10.0, 0.1, beta), bias=bias, tol=1e-10)
    assert certify(losses.SILF(10.0, 0.1, beta), K, y, s.a, s.offset).gap <= 1e-9 * (1 + s.primal)
    # the losses differ by C beta epsilon / 4 at most
    assert abs(s.primal - limit.primal) <= 100 * 10.0 * beta * 0.1 / 4 + 1e-8
    np.testing.assert_allclose(s.f, limit.f, rtol=0, atol=5.0 * np.sqrt(100 * beta * 0.5) + 1e-4)


def test_epsilon_insensitive_tends_to_laplace():
    X, y = sinc(60)
    K = rbf(X, 1.0, 5.0)
    limit = solve_dual(K, y, losses.Laplace(3.0))
    s = solve_dual(K, y, losses.EpsilonInsensitive(3.0, 1e-9))
    assert s.primal == pytest.approx(limit.primal, rel=1e-7)


def test_rounded_hinge_tends_to_the_hinge():
    X, y = two_classes(80)
    K = rbf(X, 2.0, 1.0)
    limit = solve_dual(K, y, losses.SoftMarginL1(2.0))
    for epsilon in (1e-3, 1e-6, 1e-9):
        s = solve_dual(K, y, losses.SoftMarginLe(2.0, epsilon))
        assert abs(s.primal - limit.primal) <= 80 * 2.0 * epsilon + 1e-7


def test_independent_rows_have_a_closed_form():
    y = np.array([-5.0, -0.5, -0.1, 0.0, 0.05, 0.3, 2.0, 40.0])
    k = np.array([1.0, 2.0, 1.0, 1.0, 4.0, 0.5, 1.0, 3.0])
    for loss in (losses.EpsilonInsensitive(3.0, 0.1), losses.Laplace(3.0)):
        epsilon = getattr(loss, "epsilon", 0.0)
        a = np.sign(y) * np.clip((np.abs(y) - epsilon) / k, 0.0, 3.0)
        s = solve_dual(np.diag(k), y, loss, tol=1e-13)
        np.testing.assert_allclose(s.a, a, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(s.bound, np.abs(a) == 3.0)
    labels = np.array([1.0, -1.0, 1.0])
    s = solve_dual(np.diag([0.1, 1.0, 4.0]), labels, losses.SoftMarginL1(2.0), tol=1e-13)
    np.testing.assert_allclose(s.a, [2.0, -1.0, 0.25], rtol=0, atol=1e-7)


def test_the_offset_alone_is_a_median():
    y = np.array([3.0, -1.0, 4.0, 1.5, 9.0])
    s = solve_dual(np.zeros((5, 5)), y, losses.Laplace(2.0), bias=True)
    assert s.offset == pytest.approx(3.0, abs=1e-6)
    w = np.array([1.0, 1.0, 5.0, 1.0, 1.0])
    s = solve_dual(np.zeros((5, 5)), y, losses.Laplace(2.0), bias=True, sample_weight=w)
    assert s.offset == pytest.approx(4.0, abs=1e-6)


@pytest.mark.parametrize("loss", KINKED, ids=name)
def test_separable_or_interpolated_data(loss):
    K, y = problem(loss, 30)
    K = K + 1e-3 * np.eye(30)
    hard = type(loss)(**{**{key: getattr(loss, key) for key in loss.domains}, "C": 1e6})
    s = solve_dual(K, y, hard, tol=1e-7)
    c = certify(hard, K, y, s.a)
    assert c.gap <= 1e-7 * (1.0 + c.primal)
    fit = np.abs(y - s.f) - getattr(loss, "epsilon", 0.0)
    violation = fit.max() if loss.task == "regression" else (1.0 - y * s.f).max()
    assert violation < 1e-3


def test_repeated_rows_with_an_offset_and_a_tube():
    loss = losses.EpsilonInsensitive(10.0, 0.1)
    K, y = problem(loss, 30)
    w = np.random.default_rng(1).integers(0, 4, size=30)
    w[:2] = 1, 2
    rows = np.repeat(np.arange(30), w)
    s = solve_dual(K[np.ix_(rows, rows)], y[rows], loss, bias=True, on_failure="ignore")
    assert s.status is Status.CONVERGED, (s.status, s.gap, s.n_iter)


def test_costs_of_rows_of_very_different_size():
    """A narrow envelope of the costly rows is beyond the rounding errors of their latent values."""
    K, y = problem(losses.SoftMarginL1(1.0), 50)
    loss = losses.SoftMarginL1(np.where(np.arange(50) % 3 == 0, 1e3, 1e-4))
    s = solve_dual(K, y, loss, bias=True, on_failure="ignore")
    assert s.status is Status.CONVERGED, (s.status, s.gap, s.n_iter)


@pytest.mark.parametrize("loss", KINKED, ids=name)
def test_a_neighbour_is_a_good_start(loss):
    K, y = problem(loss, 100)
    near = type(loss)(**{**{key: getattr(loss, key) for key in loss.domains}, "C": 1.1 * loss.C})
    first, cold = (solve_dual(K, y, each, bias=True) for each in (loss, near))
    warm = solve_dual(K, y, near, a0=first.a, bias=True)
    assert warm.n_iter <= 0.7 * cold.n_iter
    assert warm.primal == pytest.approx(cold.primal, rel=2e-9)


# ---- envelopes --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", WITH_ENVELOPE, ids=name)
@pytest.mark.parametrize("h", [1e-3, 0.1, 2.0])
def test_envelope_is_the_moreau_envelope(loss, h):
    envelope = loss.envelope(h)
    if loss.task == "regression":
        pairs = [(0.3, f) for f in (-5.0, -0.4, 0.1, 0.25, 0.3, 0.37, 0.42, 1.0, 8.0)]
    else:
        pairs = [(y, f) for y in (-1.0, 1.0) for f in (-4.0, -0.5, 0.0, 0.4, 0.9, 1.0, 1.3, 3.0)]
    for y, f in pairs:
        low, high = f - 60.0 * np.sqrt(h) - 30.0 * h, f + 60.0 * np.sqrt(h) + 30.0 * h

        def inner(u, y=y, f=f):
            return float(loss.value(y, u)) + (u - f) ** 2 / (2.0 * h)

        grid = np.linspace(low, high, 4001)
        best = grid[np.argmin(loss.value(y, grid) + (grid - f) ** 2 / (2.0 * h))]
        step = grid[1] - grid[0]
        found = minimize_scalar(
            inner, bounds=(best - step, best + step), method="bounded", options={"xatol": 1e-12}
        )
        value = float(envelope.value(y, f))
        assert value <= found.fun * (1.0 + 1e-12) + 1e-14  # no point is lower
        assert value >= found.fun * (1.0 - 1e-7) - 1e-8  # a kink is found to this
    assert envelope.curvature(*np.array(pairs).T).max() <= (1.0 + 1e-12) / h


@pytest.mark.parametrize("loss", WITH_ENVELOPE, ids=name)
@pytest.mark.parametrize("scale", [1e-2, 1.0, 50.0])
def test_stiffness_is_the_largest_curvature(loss, scale):
    """Where the loss bends most it is a parabola; at a kink the slope jumps."""
    width = next(key for key in ("epsilon", "sigma", "C") if key in loss.fields)
    loss = type(loss)(**{**loss.fields, width: scale})
    stiffness = loss.stiffness(*loss.parameters)
    if not loss.differentiable:
        assert stiffness == np.inf
        return
    f = np.linspace(-200.0, 200.0, 400_001)
    rise = np.diff(loss.derivative(1.0, f)).max() / (f[1] - f[0])
    assert stiffness == pytest.approx(rise, rel=1e-6)


@pytest.mark.parametrize("loss", WITH_ENVELOPE, ids=name)
def test_conjugate_of_the_envelope(loss):
    y = np.ones(50) if loss.task == "classification" else np.linspace(-2, 2, 50)
    a = np.linspace(0.0, 1.9, 50)
    for h in (1e-3, 0.7):
        np.testing.assert_allclose(
            loss.envelope(h).conjugate(y, a),
            loss.conjugate(y, a) + 0.5 * h * a**2,
            rtol=1e-10,
            atol=1e-12,
        )


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.envelope_type is None], ids=name)
def test_no_envelope(loss):
    with pytest.raises(ValueError, match="has no closed form"):
        loss.envelope(1.0)


@pytest.mark.parametrize("h", [0.0, -1.0, np.inf])
def test_width_of_an_envelope(h):
    with pytest.raises(ValueError, match="h must satisfy"):
        losses.Laplace(1.0).envelope(h)


@pytest.mark.parametrize("loss", WITH_ENVELOPE, ids=name)
def test_solving_the_envelope_is_adding_a_ridge_to_the_dual(loss):
    """``D + h a'a / 2`` is the dual of the envelope, and that of the loss with ``K + h I``."""
    K, y = problem(loss, 50)
    h = 0.2
    soft = solve_dual(K, y, loss.envelope(h), tol=1e-12)
    ridge = solve_dual(K + h * np.eye(50), y, loss, tol=1e-12)
    assert soft.dual == pytest.approx(ridge.dual, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(soft.a, ridge.a, rtol=0, atol=1e-4)
