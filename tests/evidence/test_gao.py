"""The evidence of Gao, Gunn, Harris and Brown against the formulas of their paper and by hand.

The oracle finds the sets of support vectors by trying all of them, and evaluates (16), (22) and
(30) with dense matrices. Nothing in it is from the library.
"""

import itertools
import math
import pickle

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import norm

from pymc_bsvm import LowRank, gao_evidence, losses
from pymc_bsvm.approximations import Gao, approximation_of
from pymc_bsvm.evidence import predictive
from pymc_bsvm.solvers import DualSolveError


def rbf(x, z, eta=1.0):
    """Return the covariance of their simulations, of length-scale sqrt(0.8)."""
    return eta**2 * np.exp(-((x[:, None] - z) ** 2) / 1.6)


def support_vector_machine(K, y, C, epsilon):
    """Return the dual of (7) by trying which rows are where, (8) to (11)."""
    for signs in itertools.product((-2, -1, 0, 1, 2), repeat=y.size):
        side, bound = np.sign(signs), np.abs(signs) == 2
        M = np.abs(signs) == 1
        a = np.where(bound, side * C, 0.0)
        a[M] = np.linalg.solve(K[np.ix_(M, M)], (y - epsilon * side - K @ a)[M])
        r = y - K @ a
        inside = (side[M] * a[M] > 0.0) & (np.abs(a[M]) < C)
        flat = np.abs(r[side == 0]) < epsilon
        beyond = side[bound] * r[bound] > epsilon
        if inside.all() and flat.all() and beyond.all():
            return a, M
    raise AssertionError("no solution")


def equation_16(K, y, C, epsilon, a, M):
    """Return the log evidence as (16) has it; G is that of (5)."""
    r, size = y - K @ a, np.abs(a[M])
    G = 0.5 * C / (epsilon * C + 1.0)
    value = -0.5 * a @ K @ a + y.size * math.log(G)
    value -= 0.5 * math.log(np.linalg.det(2.0 * math.pi * K[np.ix_(M, M)])) if M.any() else 0.0
    beyond = np.abs(a) >= C
    value -= C * (np.abs(r[beyond]) - epsilon).sum()
    return value + np.log(C / (size * (C - size))).sum()


def few_rows(seed, n=5):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 4.0, n)
    return x, np.sin(x) + 0.7 * rng.normal(size=n)


def wave(n=40, seed=3):
    """Return a draw of their simulation, y = sin x with noise of variance 0.5."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, 4.0 * np.pi, n))
    return x, np.sin(x) + math.sqrt(0.5) * rng.normal(size=n)


# ---- the value ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("C", [0.8, 4.0])
def test_the_evidence_is_16(seed, C):
    x, y = few_rows(seed)
    K = rbf(x, x)
    a, M = support_vector_machine(K, y, C, 0.2)
    got = gao_evidence(K, y, losses.EpsilonInsensitive(C, 0.2))
    np.testing.assert_array_equal(got.margin.rows, np.flatnonzero(M))
    np.testing.assert_allclose(got.posterior.a, a, atol=1e-9)
    assert got.log_evidence == pytest.approx(equation_16(K, y, C, 0.2, a, M), abs=1e-8)
    assert sum(got.terms.values()) == got.log_evidence
    assert got.certificate.residual < 1e-9


def test_one_row_by_hand():
    """With y = 1, k = 2, epsilon = 0.2: a = 0.8 / 2 below C = 1, f = 0.8, 1 / 0.4 + 1 / 0.6."""
    got = gao_evidence([[2.0]], [1.0], losses.EpsilonInsensitive(1.0, 0.2))
    assert got.posterior.a == pytest.approx([0.4])
    assert got.posterior.mean == pytest.approx([0.8])
    expected = {
        "fit": 0.0,
        "penalty": -0.16,
        "log_det": -0.5 * math.log(4.0 * math.pi),
        "kinks": math.log(1.0 / 0.24),
        "log_normalizer": -math.log(2.4),
    }
    assert got.terms == pytest.approx(expected, abs=1e-12)


def test_a_bound_row_by_hand():
    """With y = 3, k = 2: a = C = 1, f = 2, loss 3 - 2 - 0.2; nothing is on the margin."""
    got = gao_evidence([[2.0]], [3.0], losses.EpsilonInsensitive(1.0, 0.2))
    assert got.margin.rows.size == 0
    assert got.log_evidence == pytest.approx(-1.0 - 0.8 - math.log(2.4), abs=1e-12)
    rows, G, g, parameters = got.gradient
    np.testing.assert_allclose((*rows, *G[0], *g), (0.0, 0.5, 1.0))
    # of C: -(3 - 2 C) + C + ..., of epsilon: the loss shrinks by C; less n d log Z
    np.testing.assert_allclose(parameters, (-0.8 - 0.2 / 1.2 + 1.0, 1.0 - 1.0 / 1.2), atol=1e-12)


def test_a_tube_that_holds_all_rows():
    x = np.linspace(0.0, 3.0, 7)
    got = gao_evidence(rbf(x, x), 0.3 * np.sin(x), losses.EpsilonInsensitive(2.0, 0.5))
    assert got.margin.rows.size == 0
    assert got.log_evidence == pytest.approx(-7.0 * math.log(2.0), abs=1e-12)  # 2 epsilon + 2 / C
    np.testing.assert_allclose(got.posterior.variance, 1.0)  # that of the prior
    rows, G, g, parameters = got.gradient
    assert (rows.size, G.shape, g.size) == (0, (0, 0), 0)
    np.testing.assert_allclose(parameters, (7.0 * 0.25, -7.0))  # -n d log Z
    assert got.start.tolist() == [0.0] * 7
    assert np.isfinite(got.log_predictive).all()


def test_a_row_that_counts_twice_has_twice_the_slope():
    K, y = np.array([[2.0]]), np.array([1.0])
    got = gao_evidence(K, y, losses.EpsilonInsensitive(0.5, 0.2), sample_weight=[2.0])
    once = gao_evidence(K, y, losses.EpsilonInsensitive(1.0, 0.2))
    log_z = 2.0 * math.log(2.0 * 0.2 + 2.0 / 0.5)
    assert got.terms == pytest.approx({**once.terms, "log_normalizer": -log_z}, abs=1e-12)


def test_weights_of_zero_and_a_prior_mean():
    x, y = few_rows(2)
    m, loss = 0.3 * x, losses.EpsilonInsensitive(4.0, 0.2)
    got = gao_evidence(rbf(x, x), y, loss, m=m, sample_weight=[1.0, 1.0, 0.0, 1.0, 1.0])
    keep = np.array([0, 1, 3, 4])
    alone = gao_evidence(rbf(x[keep], x[keep]), (y - m)[keep], loss)
    assert got.log_evidence == pytest.approx(alone.log_evidence, abs=1e-9)
    np.testing.assert_allclose(got.posterior.mean[keep], m[keep] + alone.posterior.mean, atol=1e-9)


def test_other_rows_are_integrated_out_under_the_prior():
    """A row that its own tube does not feel is nothing but its normaliser, whatever its K."""
    K, y = np.array([[4.0, 3.0], [3.0, 5.0]]), np.array([9.0, 2.0])
    C, epsilon = np.array([3.0, 1.0]), np.array([1.0, 1e3])
    got = gao_evidence(K, y, losses.EpsilonInsensitive(C, epsilon))
    alone = gao_evidence(K[:1, :1], y[:1], losses.EpsilonInsensitive(3.0, 1.0))
    assert got.margin.rows.tolist() == [0]
    log_z = math.log(2.0 * 1e3 + 2.0)
    assert got.log_evidence == pytest.approx(alone.log_evidence - log_z, abs=1e-10)


# ---- what it is of the evidence: a bound from above ----------------------------------------------


@pytest.mark.parametrize("y", [0.1, 0.9, 3.0])
@pytest.mark.parametrize("k", [0.05, 2.0, 50.0])
def test_above_the_integral_of_one_row(y, k):
    C, epsilon = 3.0, 0.3

    def joint(f):
        return math.exp(-C * max(abs(y - f) - epsilon, 0.0) - 0.5 * f * f / k)

    points = [y - epsilon, y + epsilon]
    total = quad(joint, -60.0, 60.0, points=points, limit=400)[0]
    exact = math.log(total / math.sqrt(2.0 * math.pi * k) / (2.0 * epsilon + 2.0 / C))
    got = gao_evidence([[k]], [y], losses.EpsilonInsensitive(C, epsilon))
    assert got.log_evidence >= exact - 1e-9
    peak = sum(got.terms[name] for name in ("fit", "penalty", "log_normalizer"))
    assert peak >= exact - 1e-9


def test_close_where_the_kinks_are_narrow():
    """The prior is all but flat over 1 / |a| and 1 / (C - |a|): what is discarded is small."""
    k, y, C, epsilon = 4.0, 41.0, 20.0, 1.0  # a = 10
    got = gao_evidence([[k]], [y], losses.EpsilonInsensitive(C, epsilon))

    def joint(f):
        return math.exp(200.0 - C * max(abs(y - f) - epsilon, 0.0) - 0.5 * f * f / k)

    total = quad(joint, 30.0, 50.0, points=[40.0, 42.0], epsabs=0.0)[0]
    scale = math.sqrt(2.0 * math.pi * k) * (2.0 * epsilon + 2.0 / C)
    exact = math.log(total / scale) - 200.0
    assert got.log_evidence == pytest.approx(exact, abs=5e-3)
    assert got.log_evidence > exact


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_above_the_integral_of_two_rows(rho):
    K, y = np.array([[1.5, rho], [rho, 1.2]]), np.array([1.3, -0.9])
    C, epsilon = 2.0, 0.3
    inverse = np.linalg.inv(K)

    def joint(g, f):
        lost = max(abs(y[0] - f) - epsilon, 0.0) + max(abs(y[1] - g) - epsilon, 0.0)
        form = inverse[0, 0] * f * f + 2.0 * inverse[0, 1] * f * g + inverse[1, 1] * g * g
        return math.exp(-C * lost - 0.5 * form)

    total = dblquad(joint, -8.0, 8.0, -8.0, 8.0, epsabs=1e-6)[0]
    scale = 2.0 * math.pi * math.sqrt(np.linalg.det(K)) * (2.0 * epsilon + 2.0 / C) ** 2
    got = gao_evidence(K, y, losses.EpsilonInsensitive(C, epsilon)).log_evidence
    assert got > math.log(total / scale)


# ---- error bars ---------------------------------------------------------------------------------


def test_error_bars_are_22_and_30():
    x, y = wave()
    new, loss = np.linspace(-2.0, 14.0, 33), losses.EpsilonInsensitive(2.1, 0.4)
    got = gao_evidence(rbf(x, x), y, loss)
    M, cross = got.margin.rows, rbf(x, new)
    assert 3 < M.size < 20
    explained = np.linalg.solve(rbf(x[M], x[M]), cross[M])
    variance = 1.0 - (cross[M] * explained).sum(axis=0)
    mean = got.posterior.predict_mean(cross)
    np.testing.assert_allclose(mean, cross.T @ got.posterior.a, atol=1e-12)
    np.testing.assert_allclose(
        got.posterior.predict_variance(cross, np.ones(33)), variance, atol=1e-7
    )
    sparse = cross[got.posterior.rows]  # the support vectors alone
    np.testing.assert_allclose(got.posterior.predict_mean(sparse), mean, atol=1e-12)
    total = predictive(loss, mean, variance).variance
    noise = 2.0 / 2.1**2 + 0.4**2 * (0.4 * 2.1 + 3.0) / (3.0 * (0.4 * 2.1 + 1.0))
    np.testing.assert_allclose(total, variance + noise, rtol=1e-12)
    on_margin = got.posterior.variance[M]
    assert on_margin.max() < 1e-10


def test_the_bound_23_is_one_from_below():
    """What the prior leaves once the row is known is in the exact variance, and there is more."""
    k, cross, y, C, epsilon = 2.0, 1.5, 1.4, 1.0, 0.2

    def moment(power):
        def joint(f):
            return f**power * math.exp(-C * max(abs(y - f) - epsilon, 0.0) - 0.5 * f * f / k)

        return quad(joint, -30.0, 30.0, points=[y - epsilon, y + epsilon], limit=200)[0]

    mean, square = (moment(power) / moment(0) for power in (1, 2))
    known = k - cross**2 / k  # (23)
    exact = known + (cross / k) ** 2 * (square - mean**2)
    assert exact > known + 0.3
    got = gao_evidence([[k]], [y], losses.EpsilonInsensitive(C, epsilon))
    assert got.margin.rows.size == 1
    variance = got.posterior.predict_variance([[cross]], [k])
    assert variance == pytest.approx([known])  # (22), with all rows on the margin


def test_rows_left_out():
    """On the margin the function is known but for the row itself; elsewhere it is what it was."""
    x, y = wave(20)
    got = gao_evidence(rbf(x, x), y, losses.EpsilonInsensitive(2.1, 0.4))
    M = got.margin.rows
    inverse = np.linalg.inv(rbf(x[M], x[M]))
    np.testing.assert_allclose(got.cavity.variance[M], 1.0 / np.diag(inverse), rtol=1e-6)
    rest = np.setdiff1d(np.arange(20), M)
    np.testing.assert_allclose(got.cavity.mean[rest], got.posterior.mean[rest] - (
        got.posterior.variance * got.posterior.a
    )[rest], atol=1e-9)  # fmt: skip


# ---- the gradient -------------------------------------------------------------------------------


def slope(function, h):
    """Central difference of the fourth order; the sets are the same at all four points."""
    found = [function(k * h) for k in (-2, -1, 1, 2)]
    sets = {tuple(np.sign(e.posterior.a)) + tuple(e.margin.rows) for e in found}
    assert len(sets) == 1, "a step"
    far, near, close, away = (e.log_evidence for e in found)
    return (8.0 * (close - near) + far - away) / (12.0 * h)


@pytest.mark.parametrize("weights", [None, np.resize([1.0, 2.0, 0.5], 40)], ids=["once", "often"])
def test_gradient_against_central_differences(weights, rng):
    x, y = wave()
    K, C, epsilon = rbf(x, x), 3.0, 0.3
    m, h = 0.1 * np.cos(x), 1e-6
    direction = rng.normal(size=(40, 40)) / 40.0
    direction = K @ direction @ direction.T @ K
    of_m = rng.normal(size=40)

    def at(t, of_K=0.0, m=m, y=y, C=C, epsilon=epsilon):
        loss = losses.EpsilonInsensitive(C, epsilon)
        return gao_evidence(K + t * of_K, y, loss, m=m, sample_weight=weights)

    rows, G, g, (of_C, of_epsilon) = at(0.0).gradient
    expected = (G * direction[np.ix_(rows, rows)]).sum()
    assert expected == pytest.approx(slope(lambda t: at(t, direction), h), rel=1e-4)
    expected = g @ of_m[rows]
    assert expected == pytest.approx(slope(lambda t: at(t, m=m + t * of_m), h), rel=1e-4)
    assert -expected == pytest.approx(slope(lambda t: at(t, y=y + t * of_m), h), rel=1e-4)
    assert of_C == pytest.approx(slope(lambda t: at(t, C=C + t), h), rel=1e-4)
    assert of_epsilon == pytest.approx(slope(lambda t: at(t, epsilon=epsilon + t), h), rel=1e-4)


def test_gradient_of_parameters_by_row(rng):
    x, y = wave(25)
    K, h = rbf(x, x), 1e-6
    C, epsilon = rng.uniform(1.0, 5.0, 25), rng.uniform(0.1, 0.5, 25)
    step = rng.normal(size=25)
    got = gao_evidence(K, y, losses.EpsilonInsensitive(C, epsilon)).gradient.parameters
    assert [x.shape for x in got] == [(25,), (25,)]

    def at(t, u):
        return gao_evidence(K, y, losses.EpsilonInsensitive(C + t * step, epsilon + u * step))

    assert got[0] @ step == pytest.approx(slope(lambda t: at(t, 0.0), h), rel=1e-4)
    assert got[1] @ step == pytest.approx(slope(lambda u: at(0.0, u), h), rel=1e-4)


def test_the_derivative_in_C_of_the_paper_holds_the_duals():
    """(17) is where (16) is stationary in C at fixed duals; here the duals follow C."""
    x, y = wave()
    K, n = rbf(x, x), y.size
    C, epsilon = 2.5, 0.4
    got = gao_evidence(K, y, losses.EpsilonInsensitive(C, epsilon))
    size = np.abs(got.margin.a)
    lost = -got.terms["fit"] / C
    held = n / (C * (epsilon * C + 1.0)) - lost + (1.0 / C - 1.0 / (C - size)).sum()
    new = (n + size.size) / (lost + (1.0 / (C - size)).sum() + n * epsilon / (epsilon * C + 1.0))
    assert held == pytest.approx((n + size.size) * (1.0 / C - 1.0 / new), abs=1e-9)
    assert got.gradient.parameters[0] != pytest.approx(held, rel=1e-2)


def test_the_function_depends_on_c_times_the_variance_of_the_kernel():
    """So the C of the lowest error moves with that variance, and the C of the noise does not."""
    x, y = wave()
    z, epsilon = np.linspace(0.0, 4.0 * np.pi, 50), 0.4
    one, other = (
        gao_evidence(
            rbf(x, x, eta), y, losses.EpsilonInsensitive(C, epsilon)
        ).posterior.predict_mean(rbf(x, z, eta))
        for eta, C in ((1.0, 0.6), (0.5, 2.4))
    )
    np.testing.assert_allclose(other, one, atol=1e-8)


def test_the_evidence_and_the_error_are_not_best_at_one_c():
    """Their figures 2 and 3 with their kernel: the evidence is for C = 2.1, the error for 0.6."""
    z, sets, values = np.linspace(0.0, 4.0 * np.pi, 200), 50, []
    sd, epsilon = math.sqrt(0.5), 0.4
    for seed in range(sets):
        x, y = wave(100, seed)
        K, cross = rbf(x, x), rbf(x, z)
        for C in (0.6, 2.1):
            found = gao_evidence(K, y, losses.EpsilonInsensitive(C, epsilon))
            off = found.posterior.predict_mean(cross) - np.sin(z)
            t = (np.stack([off, -off]) - epsilon) / sd  # new targets, on both sides of the tube
            error = sd * (t * norm.cdf(t) + norm.pdf(t)).sum(axis=0).mean()
            values.append((found.log_evidence, error))
    more = np.diff(np.reshape(values, (sets, 2, 2)), axis=1)[:, 0]
    # each is higher at 2.1 by more than three standard errors over the sets
    assert (more.mean(axis=0) > 3.0 * more.std(axis=0, ddof=1) / math.sqrt(sets)).all()


def test_it_rises_without_bound_where_a_row_leaves_the_margin():
    """One row, a = (y - epsilon) / k: it enters the tube with a logarithm, and is gone beyond."""
    k, epsilon, C = 2.0, 0.2, 1.0
    loss = losses.EpsilonInsensitive(C, epsilon)
    near, nearer, inside = (gao_evidence([[k]], [epsilon + d], loss) for d in (1e-3, 1e-5, -1e-3))
    gain = nearer.log_evidence - near.log_evidence
    assert gain == pytest.approx(math.log(100.0), abs=2e-3)
    assert inside.log_evidence == pytest.approx(-math.log(2.4), abs=1e-9)
    assert near.gradient.m[0] > 100.0  # a prior mean nearer to the target ...
    assert near.gradient.parameters[1] > 100.0  # ... and a wider tube lead there


# ---- covariances of low rank --------------------------------------------------------------------


@pytest.mark.parametrize("d", [0.05, np.linspace(0.01, 0.2, 30)], ids=["number", "vector"])
def test_low_rank(d):
    x, y = wave(30)
    K, loss = LowRank(rbf(x, np.linspace(0.0, 12.0, 6)), d), losses.EpsilonInsensitive(3.0, 0.3)
    got, expected = (gao_evidence(C, y, loss) for C in (K, K.dense()))
    assert got.log_evidence == pytest.approx(expected.log_evidence, abs=1e-8)
    G = np.zeros((30, 30))
    G[np.ix_(expected.gradient.rows, expected.gradient.rows)] = expected.gradient.K
    np.testing.assert_allclose(got.gradient.K.A, 2.0 * G @ K.A, atol=1e-6)
    of_d = np.diag(G) if np.ndim(d) else np.trace(G)
    np.testing.assert_allclose(got.gradient.K.d, of_d, atol=1e-6)
    np.testing.assert_allclose(got.gradient.m[expected.gradient.rows], expected.gradient.m)
    np.testing.assert_allclose(got.gradient.parameters, expected.gradient.parameters, atol=1e-6)
    np.testing.assert_allclose(got.posterior.variance, expected.posterior.variance, atol=1e-7)


def test_low_rank_with_nothing_on_the_margin():
    K = LowRank(np.ones((4, 1)), 0.1)
    got = gao_evidence(K, np.zeros(4), losses.EpsilonInsensitive(1.0, 0.5))
    assert got.log_evidence == pytest.approx(-4.0 * math.log(3.0))
    assert not got.gradient.K.A.any()


# ---- the habits of an approximation -------------------------------------------------------------


def test_it_starts_from_a_neighbour():
    x, y = wave()
    K, loss = rbf(x, x), losses.EpsilonInsensitive(2.1, 0.4)
    cold = gao_evidence(K, y, loss)
    warm = gao_evidence(K, y, loss, a0=cold.start)
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)
    assert warm.certificate.n_iter < cold.certificate.n_iter
    copy = pickle.loads(pickle.dumps(cold))
    assert copy.log_evidence == cold.log_evidence
    assert "gao" in repr(copy)


def test_by_name():
    assert approximation_of("gao") == Gao()
    assert hash(Gao(tol=1e-8)) == hash(Gao(tol=1e-8))
    assert str(Gao()) == "gao"


@pytest.mark.parametrize(
    "loss", [losses.SILF(1.0, 0.1, 0.3), losses.Laplace(2.0), losses.SoftMarginL1(1.0)], ids=repr
)
def test_other_losses_are_refused(loss, refuses):
    with refuses(ValueError, f"{type(loss).__name__} is not the epsilon-insensitive loss", "EP()"):
        gao_evidence(np.eye(2), [1.0, -1.0], loss)


def test_what_is_refused(refuses):
    loss = losses.EpsilonInsensitive(10.0, 0.1)
    with refuses(TypeError, "gao_evidence takes numbers", "graph.log_evidence"):
        gao_evidence(pt.dmatrix("K"), np.zeros(2), loss)
    with refuses(ValueError, "tol must satisfy 0 < tol"):
        Gao(tol=0.0)
    x, y = wave()
    with pytest.raises(DualSolveError, match="Raise max_iter"):
        gao_evidence(rbf(x, x), y, loss, max_iter=1)


def test_a_singular_covariance_on_the_margin(refuses):
    """Two rows with one latent value, each on its own edge of the tube."""
    loss = losses.EpsilonInsensitive(1.0, 0.5)
    with refuses(ValueError, "2 margin support vectors has no Cholesky factor", "jitter"):
        gao_evidence(np.ones((2, 2)), [0.3, 1.3], loss, a0=[-0.1, 0.9])
