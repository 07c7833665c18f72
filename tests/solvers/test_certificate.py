"""The certificate: the gap that is judged is the gap of what is returned, rounding included."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import reliability
from pymc_bsvm import laplace_evidence, losses, solve_dual
from pymc_bsvm.evidence.laplace import TARGET_GAP
from pymc_bsvm.ops import DualSolve
from pymc_bsvm.solvers import Status
from tests import oracle
from tests.oracle import mp
from tests.solvers.problems import ALL, name, problem, rbf

EPS = float(np.finfo(float).eps)
UNDERFLOW = 1e-300  # gaps below are zero to a float
every_loss = pytest.mark.parametrize("loss", ALL, ids=name)


def certify(p, s):
    """Return the certificate of a solution in multiple precision."""
    reference = getattr(oracle, name(p.loss))(*p.loss.fields.values())
    m, w = p.options.get("m", np.zeros(p.n)), p.options.get("sample_weight", np.ones(p.n))
    return oracle.certify([reference] * p.n, p.K, p.y, s.a, s.offset, m, w)


def solve(p, tol=1e-9, engine="numpy"):
    return solve_dual(p.K, p.y, p.loss, tol=tol, on_failure="ignore", engine=engine, **p.options)


def assert_true(p, s, tol):
    """Assert that a solution is what its status and its certificate say."""
    if not math.isfinite(s.gap):
        assert not s.converged
        return
    exact = certify(p, s)
    assert exact.gap <= s.gap + s.rounding + UNDERFLOW
    if s.converged:
        assert s.gap + s.rounding <= tol * (1.0 + abs(s.primal))
        assert exact.gap <= tol * (1 + abs(exact.primal))


# ---- random problems --------------------------------------------------------------------------


@st.composite
def problems(draw, names=reliability.REGRESSION + reliability.CLASSIFICATION, longest=24):
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed"))
    n = draw(st.sampled_from([1, 2, 3, 6, 12, longest]), label="n")
    X, K = reliability.covariance(rng, draw(st.sampled_from(reliability.KERNELS)), n)
    loss = reliability.make_loss(
        draw(st.sampled_from(names)),
        C=10.0 ** draw(st.floats(-6.0, 8.0)),
        epsilon=10.0 ** draw(st.floats(-12.0, 1.0)),
        share=draw(st.sampled_from([0.001, 0.1, 0.3, 1.0])),
        scale=10.0 ** draw(st.floats(-3.0, 3.0)),
    )
    y = reliability.targets(rng, X, draw(st.sampled_from(reliability.TARGETS)), loss)
    return reliability.Problem("", K, y, loss, draw(options(rng, n, loss)))


@st.composite
def options(draw, rng, n, loss):
    chosen = {}
    weights = draw(st.sampled_from(["none", "counts", "numbers"]), label="weights")
    if weights != "none":
        counts, numbers = rng.integers(0, 4, n).astype(float), 10.0 ** rng.uniform(-3, 3, n)
        chosen["sample_weight"] = counts if weights == "counts" else numbers
    if draw(st.integers(0, 3), label="offset") == 0:
        chosen["bias"] = True
    if draw(st.integers(0, 2), label="mean") == 0:
        m = rng.normal(size=n) * 10.0 ** draw(st.floats(-3.0, 3.0))
        wall = 0.9 * getattr(loss, "delta", math.inf)
        chosen["m"] = np.clip(m, -wall, wall)
    start = draw(st.sampled_from(["cold", "cold", "bounds", "noise", "garbage"]), label="start")
    if start == "bounds":
        chosen["a0"] = rng.choice([-1.0, 1.0], n) * getattr(loss, "C", 1.0)
    elif start != "cold":
        size = draw(st.floats(-6.0, 9.0) if start == "noise" else st.floats(9.0, 300.0))
        chosen["a0"] = rng.normal(size=n) * 10.0**size
    return chosen


random_problems = settings(
    max_examples=250,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
tolerances = st.sampled_from([1e-6, 1e-8, 1e-9, 1e-12])


@random_problems
@given(problems(), tolerances)
def test_converged_means_a_small_gap(p, tol):
    assert_true(p, solve(p, tol), tol)


@pytest.mark.parametrize(
    "kind",
    [  # each is compiled anew, which takes a minute
        "Trigonometric",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("Huber", "EpsilonInsensitive")),
    ],
)
@settings(random_problems, max_examples=60)
@given(st.data())
def test_converged_means_a_small_gap_in_compiled_code(kind, data):
    p, tol = data.draw(problems(names=(kind,))), data.draw(tolerances)
    assert_true(p, solve(p, tol, "numba"), tol)


# ---- problems that were certified and should not have been ------------------------------------


def plain_huber(seed):
    """Return few rows and a bend of 3e-8: polishing left a larger gap than it found."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 30))
    X = rng.normal(size=(n, 1))
    y = np.sin(X[:, 0]) + 10 ** rng.uniform(-3, 0) * rng.normal(size=n)
    K = rbf(X, precision=10 ** rng.uniform(-1, 2)) * 10 ** rng.uniform(-1, 3)
    return reliability.Problem("rbf", K, y, losses.Huber(0.93, 1.7e-8))


def weighted_huber(seed):
    """Return weights, a prior mean and a tiny bend: polishing left gaps of up to many nats."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 30))
    X = rng.normal(size=(n, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    K = rbf(X, precision=10 ** rng.uniform(-1, 2)) * 10 ** rng.uniform(-1, 3)
    loss = losses.Huber(10 ** rng.uniform(0, 3), 10 ** rng.uniform(-12, -7))
    options = {"sample_weight": rng.integers(0, 4, size=n).astype(float), "m": rng.normal(size=n)}
    return reliability.Problem("rbf", K, y, loss, options)


def hidden_by_rounding(seed):
    """Return a classical machine with a large covariance: K a lost more digits than the gap has."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    K = rbf(X, precision=10 ** rng.uniform(-1, 1)) * 10 ** rng.uniform(0, 6)
    return reliability.Problem("rbf", K + rng.choice([0.0, 100.0]), y, losses.SoftMarginL1(194.0))


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        *((plain_huber, seed) for seed in (100, 110, 161, 284, 356, 536, 558)),
        *((weighted_huber, seed) for seed in (5, 15, 16, 17, 19, 25, 29, 31)),
        *((hidden_by_rounding, seed) for seed in (11, 150)),
    ],
)
def test_certified_with_a_small_gap(make, seed):
    p = make(seed)
    s = solve(p)
    assert s.converged
    assert_true(p, s, 1e-9)


# ---- what rounding hides ----------------------------------------------------------------------


@every_loss
def test_rounding_of_ordinary_problems_is_small(loss):
    K, y = problem(loss, 60)
    p = reliability.Problem("", K, y, loss)
    s = solve(p)
    assert s.converged
    assert abs(s.gap - certify(p, s).gap) <= s.rounding
    assert 0.0 < s.rounding <= 1e-11 * (1.0 + s.primal)


def test_rounding_decides_on_twice_the_precision():
    """Where K a is too coarse to judge the gap, the latent values are the exact ones, rounded."""
    p = hidden_by_rounding(150)
    s = solve(p)
    exact = [float(mp.fdot(row, s.a)) for row in p.K.tolist()]
    terms = np.abs(p.K) @ np.abs(s.a)
    assert s.converged
    assert EPS * float(194.0 * terms.sum()) > 1e-9 * s.primal  # one rounding of each term
    assert s.rounding < 1e-3 * EPS * float(194.0 * terms.sum())
    np.testing.assert_array_equal(s.f, exact)


def test_a_gap_that_rounding_hides_is_not_certified():
    """The gap seems to be zero, but targets of 1e12 are known up to 1e-4, and C is 1e8."""
    X = np.linspace(-2.0, 2.0, 12)[:, None]
    y = 1e12 * np.sin(X[:, 0]) + np.cos(50.0 * X[:, 0])
    p = reliability.Problem("rbf", rbf(X), y, losses.Laplace(1e8))
    coarse, fine = solve(p, tol=1e-9), solve(p, tol=1e-18)
    assert coarse.converged
    assert fine.status is Status.STALLED
    assert fine.gap <= 1e-18 * fine.primal < fine.rounding <= 1e-9 * fine.primal


# ---- starts that fail -------------------------------------------------------------------------

SLOW_FROM_GARBAGE = pytest.mark.parametrize(
    "loss",
    [loss for loss in ALL if name(loss) in ("SILF", "Huber")],
    ids=name,
)


def garbage(n):
    return 1e9 * np.random.default_rng(0).normal(size=n)


@SLOW_FROM_GARBAGE
def test_a_start_that_fails_is_followed_by_one_from_zero(loss):
    K, y = problem(loss, 30)
    cold = solve_dual(K, y, loss)
    s = solve_dual(K, y, loss, garbage(30), max_iter=cold.n_iter)  # each start has all of the steps
    assert s.converged
    assert s.restarted
    assert not cold.restarted
    assert s.n_iter == 2 * cold.n_iter
    np.testing.assert_array_equal(s.a, cold.a)
    np.testing.assert_array_equal(s.f, cold.f)
    assert (s.gap, s.rounding) == (cold.gap, cold.rounding)


def test_the_better_of_two_failures_is_returned():
    loss = losses.SILF(10.0, 0.1, 0.3)
    K, y = problem(loss, 30)
    cold, wild = (
        solve_dual(K, y, loss, a0, max_iter=1, on_failure="ignore") for a0 in (None, garbage(30))
    )
    assert wild.restarted
    assert not wild.converged
    assert wild.gap == cold.gap
    np.testing.assert_array_equal(wild.a, cold.a)


@SLOW_FROM_GARBAGE
def test_the_evidence_and_its_op_start_again_too(loss):
    K, y = problem(loss, 30)
    cold = laplace_evidence(K, y, loss)
    steps = cold.solution.n_iter
    warm = laplace_evidence(K, y, loss, a0=garbage(30), max_iter=steps)
    assert warm.solution.restarted
    assert warm.log_evidence == cold.log_evidence
    op = DualSolve(type(loss), tol=TARGET_GAP, max_iter=steps)
    rows = np.broadcast_to(np.array(loss.parameters, float)[:, None], (len(loss.parameters), 30))
    a, status, f, *_ = op.solve(K, y, np.zeros(30), rows, garbage(30))
    assert status == 0
    np.testing.assert_array_equal(a, cold.solution.a)
    np.testing.assert_array_equal(f, cold.solution.f)


# ---- scales that no number holds --------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-155, 1e-100, 1e100, 1e200, 1e300])
@pytest.mark.parametrize("variance", [1e-300, 1.0, 1e300])
def test_hopeless_scales_stop_early(scale, variance):
    K, y = problem(losses.Gaussian(1.0), 30)
    p = reliability.Problem("", variance * K, y, losses.Gaussian(scale))
    s = solve(p)
    assert s.status in (Status.CONVERGED, Status.STALLED, Status.INFEASIBLE)
    assert s.n_iter <= 150
    assert s.converged or scale < 1.0
    if scale > 1e-150:
        assert_true(p, s, 1e-9)


def test_steps_from_far_away_do_not_leave_the_latent_values_behind():
    """A start of 1e100 loses all digits of f on the way to a solution of order one."""
    loss = losses.Gaussian(0.3)
    K, y = problem(loss, 30)
    s = solve_dual(K, y, loss, 1e91 * garbage(30))
    assert s.n_iter <= 60
    assert not s.restarted
    np.testing.assert_allclose(s.f, solve_dual(K, y, loss).f, rtol=0, atol=1e-4)
