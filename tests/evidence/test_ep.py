"""Expectation propagation against fixed points in multiple precision and exact integrals."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytensor.tensor as pt
import pytest

from pymc_bsvm import LowRank, ep_evidence, laplace_evidence, losses
from pymc_bsvm.approximations import EP, approximation_of
from pymc_bsvm.evidence import EPError, EPWarning
from pymc_bsvm.graph import log_evidence
from pymc_bsvm.solvers import DualSolveError
from tests import oracle
from tests.oracle import mp
from tests.oracle import propagation as reference
from tests.solvers.problems import problem, rbf, sinc, two_classes

DATA = Path(__file__).parent / "data" / "propagation.json"
PUBLISHED = json.loads(DATA.read_text(encoding="utf-8"))
LOSSES = [
    losses.SILF(10.0, 0.1, 0.3),
    losses.SILF(50.0, 0.3, 0.01),
    losses.Huber(2.0, 0.5),
    losses.EpsilonInsensitive(5.0, 0.3),
    losses.Laplace(3.0),
    losses.Gaussian(0.7),
    losses.Trigonometric(1.0),
    losses.Trigonometric(0.2),
    losses.Logistic(),
    losses.Probit(),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def named(text):
    """Return the loss that a file of data names."""
    return eval(text, dict(vars(losses)))


# ---- the fixed point ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda c: f"{c['loss']}-{c['eta2']}")
def test_published_fixed_points(case):
    x = np.array(case["x"])
    K = case["eta2"] * np.exp(-0.5 * (x[:, None] - x) ** 2 / case["lengthscale"] ** 2)
    got = ep_evidence(K, np.array(case["y"], dtype=float), named(case["loss"]), tol=1e-11)
    mean, variance, precision = (
        np.array(case[key], dtype=float) for key in ("ep_mean", "ep_variance", "site_precision")
    )
    assert got.log_evidence == pytest.approx(float(case["ep_log_evidence"]), abs=1e-10)
    np.testing.assert_allclose(got.mean, mean, atol=1e-10)
    np.testing.assert_allclose(got.variance, variance, rtol=1e-9)
    np.testing.assert_allclose(got.posterior.precision, precision, rtol=1e-8)


@pytest.mark.parametrize(
    "loss", [losses.Laplace(3.0), losses.Huber(2.0, 0.5), losses.Trigonometric(0.3)], ids=repr
)
def test_one_row_after_the_other_in_multiple_precision(loss):
    x = np.array([0.0, 0.4, 1.5])
    K = 2.0 * np.exp(-0.5 * (x[:, None] - x) ** 2) + 0.01 * np.eye(3)
    y = np.array([0.5, -0.2, 1.0]) if loss.task == "regression" else np.array([1.0, -1.0, 1.0])
    exact = getattr(oracle, type(loss).__name__)(**loss.fields)
    expected = reference.propagate(K, y, exact, loss.task)
    got = ep_evidence(K, y, loss, tol=1e-10)
    assert got.log_evidence == pytest.approx(float(expected.log_evidence), abs=1e-8)
    np.testing.assert_allclose(got.mean, [float(t) for t in expected.mean], atol=1e-6)
    np.testing.assert_allclose(got.variance, [float(t) for t in expected.variance], rtol=1e-6)


@every_loss
def test_every_row_has_the_moments_of_its_tilted_density(loss):
    K, y = problem(loss, 30, 1)
    got = ep_evidence(K, y, loss, tol=1e-7)
    K_inverse = np.linalg.inv(K + 1e-9 * np.eye(30))
    Sigma = np.linalg.inv(K_inverse + np.diag(got.posterior.precision))
    np.testing.assert_allclose(got.variance, np.diag(Sigma), rtol=1e-4)
    exact = getattr(oracle, type(loss).__name__)(**loss.fields)
    for i in (0, 7, 20):
        c, v = got.posterior.cavity.mean[i], got.posterior.cavity.variance[i]
        log_z, mean, variance = reference.moments(
            exact, loss.task, *(mp.mpf(float(t)) for t in (y[i], c, v))
        )
        sd = got.variance[i] ** 0.5
        assert abs(float(mean) - got.mean[i]) < 1e-6 * sd
        assert float(variance) == pytest.approx(got.variance[i], rel=1e-5)
        assert got.log_predictive[i] == pytest.approx(float(log_z), abs=1e-7)
    assert sum(got.terms.values()) == got.log_evidence
    assert got.converged
    assert got.residual < 1e-7


@every_loss
def test_close_to_the_exact_integral_of_two_rows(loss):
    K = np.array([[1.5, 0.9], [0.9, 1.2]])
    y = np.array([0.7, -0.3]) if loss.task == "regression" else np.array([1.0, -1.0])
    got = ep_evidence(K, y, loss)
    z = np.linspace(-8.0, 8.0, 1601)
    e = np.stack(np.meshgrid(z, z, indexing="ij")).reshape(2, -1)
    f = np.linalg.cholesky(K) @ e
    log_joint = -0.5 * (e * e).sum(axis=0) - np.log(2.0 * np.pi)
    for target, row in zip(y, f, strict=True):
        log_joint -= loss.value(np.full(row.size, target), row) + loss.log_normalizer()
    share = np.exp(log_joint)
    total = share.sum() * (z[1] - z[0]) ** 2
    assert got.log_evidence == pytest.approx(np.log(total), abs=0.02)
    mean = (f * share).sum(axis=1) / share.sum()
    np.testing.assert_allclose(got.mean, mean, atol=0.06 * np.sqrt(got.variance.min()))


def test_gaussian_noise_is_exact():
    X, y = sinc(40)
    K, loss, m = rbf(X, 1.0, 2.0, 0.3), losses.Gaussian(0.2), 0.1 * X[:, 0]
    got = ep_evidence(K, y, loss, m=m)
    inverse = np.linalg.inv(K + 0.04 * np.eye(40))
    a = inverse @ (y - m)
    fit = -0.5 * (y - m) @ a + 0.5 * np.linalg.slogdet(inverse)[1]
    assert got.log_evidence == pytest.approx(fit - 20.0 * np.log(2.0 * np.pi), abs=1e-9)
    np.testing.assert_allclose(got.posterior.a, a, rtol=1e-8)
    G = 0.5 * (np.outer(a, a) - inverse)  # (5.9) of [RW06]
    np.testing.assert_allclose(got.gradient.K, G, atol=1e-8)
    assert got.gradient.parameters[0] == pytest.approx(2.0 * 0.2 * np.trace(G), rel=1e-9)
    s = 1.0 / np.diag(inverse)  # (5.10)-(5.12)
    left_out = -0.5 * np.log(2.0 * np.pi * s) - 0.5 * a * a * s
    np.testing.assert_allclose(got.log_predictive, left_out, atol=1e-8)


# ---- the gradient -------------------------------------------------------------------------------


def slope(function, h):
    """Central difference of the fourth order."""
    return (8.0 * (function(h) - function(-h)) - function(2.0 * h) + function(-2.0 * h)) / (
        12.0 * h
    )


@every_loss
def test_gradient_against_central_differences(loss, rng):
    n, exact = 25, {"tol": 1e-9}
    K, y = problem(loss, n, 2)
    K, m = K + 0.1 * np.eye(n), 0.05 * rng.normal(size=n)
    gradient = ep_evidence(K, y, loss, m=m, **exact).gradient
    direction = rng.normal(size=(n, n)) / n
    direction = K @ direction @ direction.T @ K
    got = (gradient.K * direction).sum()
    of_K = slope(lambda h: ep_evidence(K + h * direction, y, loss, m=m, **exact).log_evidence, 1e-3)
    assert got == pytest.approx(of_K, rel=1e-6, abs=1e-7)
    d = rng.normal(size=n)
    of_m = slope(lambda h: ep_evidence(K, y, loss, m=m + h * d, **exact).log_evidence, 1e-3)
    assert gradient.m @ d == pytest.approx(of_m, rel=1e-6, abs=1e-7)
    for name, got in zip(loss.fields, gradient.parameters, strict=True):
        value = loss.fields[name]

        def moved(h, name=name, value=value):
            changed = type(loss)(**loss.fields | {name: value * (1.0 + h)})
            return ep_evidence(K, y, changed, m=m, **exact).log_evidence

        assert value * got == pytest.approx(slope(moved, 1e-3), rel=1e-6, abs=1e-7)


def test_gradient_of_parameters_by_row(rng):
    K, y = problem(losses.SILF(1.0, 0.1), 12, 3)
    C, d = rng.uniform(2.0, 9.0, 12), rng.normal(size=12)
    weight = rng.integers(1, 4, size=12).astype(float)

    def evidence(h):
        loss = losses.SILF(C + h * d, 0.2)
        return ep_evidence(K, y, loss, sample_weight=weight, tol=1e-9)

    of_C, of_epsilon, _ = evidence(0.0).gradient.parameters
    assert of_C.shape == (12,)
    assert isinstance(of_epsilon, float)
    expected = slope(lambda h: evidence(h).log_evidence, 1e-3)
    assert of_C @ d == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "loss", [losses.SILF(10.0, 0.1), losses.Laplace(5.0), losses.Trigonometric(0.5)], ids=repr
)
@pytest.mark.parametrize("vector", [False, True])
def test_low_rank_is_the_same_as_dense(loss, vector, rng):
    n = 40
    X, y = sinc(n)
    y = y if loss.task == "regression" else np.where(y > 0.2, 1.0, -1.0)
    A = np.exp(-0.5 * (X - np.linspace(-10.0, 10.0, 9)) ** 2 / 4.0)
    d = rng.uniform(0.01, 0.1, n) if vector else 0.05
    weight = rng.integers(0, 3, size=n).astype(float)
    options = {"sample_weight": weight, "m": 0.1 * np.ones(n), "tol": 1e-9}
    thin = ep_evidence(LowRank(A, d), y, loss, **options)
    full = ep_evidence(LowRank(A, d).dense(), y, loss, **options)
    assert thin.log_evidence == pytest.approx(full.log_evidence, abs=1e-8)
    np.testing.assert_allclose(thin.mean, full.mean, atol=1e-7)
    np.testing.assert_allclose(thin.variance, full.variance, rtol=1e-6)
    np.testing.assert_allclose(thin.log_predictive, full.log_predictive, atol=1e-6)
    G = full.gradient.K
    np.testing.assert_allclose(thin.gradient.K.A, 2.0 * G @ A, atol=1e-5)
    of_d = np.diag(G) if vector else np.trace(G)
    np.testing.assert_allclose(thin.gradient.K.d, of_d, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(thin.gradient.m, full.gradient.m, atol=1e-5)


@pytest.mark.parametrize("loss", [losses.SILF(20.0, 0.1), losses.Trigonometric(0.5)], ids=repr)
def test_slices_are_smooth(loss):
    """Fourth differences along the log length-scale, against those of the smooth Laplace one."""
    X, y = sinc(60) if loss.task == "regression" else two_classes(60)

    def roughness(evidence):
        scales = np.exp(np.linspace(0.2, 0.8, 61))
        values = [evidence(rbf(X, 9.0, 1.0 / s**2), y, loss).log_evidence for s in scales]
        return np.abs(np.diff(values, 4)).max()

    assert roughness(ep_evidence) < 0.01 * roughness(laplace_evidence)


# ---- weights and starts -------------------------------------------------------------------------


@every_loss
def test_a_weight_of_two_is_a_row_that_stands_twice(loss, rng):
    K, y = problem(loss, 15, 4)
    weight = rng.integers(0, 4, size=15).astype(float)
    rows = np.repeat(np.arange(15), weight.astype(int))
    got = ep_evidence(K, y, loss, sample_weight=weight, tol=1e-9)
    repeated = ep_evidence(K[np.ix_(rows, rows)], y[rows], loss, tol=1e-9)
    assert got.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-8)
    np.testing.assert_allclose(got.mean[rows], repeated.mean, atol=1e-7)
    np.testing.assert_allclose(got.variance[rows], repeated.variance, rtol=1e-6)
    np.testing.assert_allclose(got.log_predictive[rows], repeated.log_predictive, atol=1e-7)
    np.testing.assert_allclose(got.gradient.parameters, repeated.gradient.parameters, rtol=1e-6)
    np.testing.assert_allclose(got.gradient.m[weight == 0.0], 0.0)


def test_a_neighbour_is_a_good_start():
    X, y = sinc(80)
    loss = losses.SILF(10.0, 0.1)
    first = ep_evidence(rbf(X, 1.0, 2.0, 0.3), y, loss, m=0.3)
    again = ep_evidence(rbf(X, 1.0, 2.0, 0.3), y, loss, m=0.3, start=first.start)
    assert again.n_iter == 1
    assert again.log_evidence == pytest.approx(first.log_evidence, abs=1e-8)
    K = rbf(X, 1.05, 2.0, 0.3)
    cold, warm = (ep_evidence(K, y, loss, m=0.31, start=s) for s in (None, first.start))
    assert warm.n_iter < cold.n_iter
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-8)


def test_a_bad_start_does_no_harm(refuses):
    K, y = problem(losses.Laplace(5.0), 20, 5)
    expected = ep_evidence(K, y, losses.Laplace(5.0)).log_evidence
    start = np.concatenate([np.full(20, 1e8), np.full(20, -1e12)])
    got = ep_evidence(K, y, losses.Laplace(5.0), start=start).log_evidence
    assert got == pytest.approx(expected, abs=1e-7)
    with refuses(ValueError, "start must have shape (40,) for 20 rows"):
        ep_evidence(K, y, losses.Laplace(5.0), start=np.zeros(20))


# ---- what goes wrong ----------------------------------------------------------------------------


def test_a_residual_above_the_tolerance_is_reported():
    K, y = problem(losses.Trigonometric(0.2), 20, 5)
    few = {"max_iter": 2, "tol": 1e-9}
    with pytest.raises(
        EPError, match=r"^The residual is .*\. The largest number of sweeps"
    ) as caught:
        ep_evidence(K, y, losses.Trigonometric(0.2), **few)
    found = caught.value.evidence
    assert not found.converged
    assert found.residual > 1e-9
    assert found.n_iter == 2
    copy = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(copy, DualSolveError)
    assert str(copy) == str(caught.value)
    assert copy.evidence.log_evidence == found.log_evidence
    np.testing.assert_array_equal(copy.solution.a, caught.value.solution.a)
    with pytest.warns(EPWarning, match="The residual is"):
        ep_evidence(K, y, losses.Trigonometric(0.2), on_failure="warn", **few)
    quiet = ep_evidence(K, y, losses.Trigonometric(0.2), on_failure="ignore", **few)
    assert quiet.log_evidence == found.log_evidence
    assert repr(quiet).startswith("EPEvidence(log_evidence=")


def test_weights_below_one_may_leave_no_cavity():
    K, y = 100.0 * np.eye(2), np.array([0.3, 0.1])
    with pytest.raises(EPError, match="Use weights of at least one, or zero") as caught:
        ep_evidence(K, y, losses.Gaussian(0.1), sample_weight=np.array([0.1, 1.0]))
    assert not caught.value.evidence.converged


def test_what_is_refused(refuses):
    K, y = problem(losses.Probit(), 12, 1)
    with refuses(ValueError, "its ep evidence is not defined"):
        ep_evidence(K, y, losses.SoftMarginL1(1.0))
    with refuses(ValueError, "on_failure must be", "'never'"):
        EP(on_failure="never")
    with refuses(ValueError, "max_iter must be a positive whole number"):
        EP(max_iter=0)
    with refuses(ValueError, "tol must satisfy 0 < tol"):
        EP(tol=0.0)
    with refuses(ValueError, "start", "finite"):
        ep_evidence(K, y, losses.Probit(), start=np.full(24, np.nan))


def test_a_graph_has_an_expression_of_its_own(refuses):
    K, y = problem(losses.Probit(), 8, 1)
    with refuses(TypeError, "takes numbers", "graph.log_evidence"):
        ep_evidence(pt.constant(K), y, losses.Probit())
    expression = log_evidence(EP(), pt.constant(K), y, losses.Probit())
    expected = ep_evidence(K, y, losses.Probit()).log_evidence
    assert expression.eval(mode="FAST_COMPILE") == pytest.approx(expected, rel=1e-12)


def test_it_is_an_approximation_by_name():
    assert approximation_of("ep") == EP()
    K, y = problem(losses.Probit(), 12, 1)
    got = approximation_of("ep").evidence(K, y, losses.Probit())
    assert got.log_evidence == ep_evidence(K, y, losses.Probit()).log_evidence
    assert got.label == "ep"
    assert got.certificate.n_iter == got.n_iter
    assert got.certificate.residual == got.residual < 1e-6
