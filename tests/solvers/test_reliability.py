"""Random problems, easy and absurd: a certified gap or an explicit status."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import reliability
from pymc_bsvm import solve_dual
from pymc_bsvm.solvers import Status
from tests.solvers.problems import certify

EPS = float(np.finfo(float).eps)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20), label="seed"))
    n = draw(st.sampled_from([1, 2, 3, 7, 20, 60]), label="n")
    X, K = reliability.covariance(rng, draw(st.sampled_from(reliability.KERNELS)), n)
    loss = reliability.make_loss(
        draw(st.sampled_from(reliability.REGRESSION + reliability.CLASSIFICATION)),
        C=10.0 ** draw(st.integers(-3, 6)),
        epsilon=10.0 ** draw(st.integers(-6, 1)),
        share=draw(st.sampled_from([0.01, 0.1, 0.3, 1.0])),
        scale=draw(st.sampled_from([0.1, 1.0, 10.0])),
    )
    kind = draw(st.sampled_from(reliability.TARGETS))
    y = reliability.targets(rng, X, kind, loss)
    return reliability.Problem(K=K, y=y, loss=loss, kernel="", options=draw(options(n, loss.task)))


@st.composite
def options(draw, n, task):
    chosen = {}
    if draw(st.booleans()):
        chosen["sample_weight"] = np.resize([1.0, 0.0, 2.0, 0.3], n)
    if draw(st.integers(0, 3)) == 0:
        chosen["bias"] = True
    if task == "regression" and draw(st.integers(0, 3)) == 0:
        chosen["m"] = np.resize([0.5, -1.0, 0.0], n)
    return chosen


@settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(problems())
def test_certified_or_told(p):
    s = solve_dual(p.K, p.y, p.loss, tol=1e-8, on_failure="ignore", **p.options)
    if not s.converged:
        assert s.status in (Status.MAX_ITER, Status.STALLED, Status.UNBOUNDED)
        return
    m, w = p.options.get("m", 0.0), p.options.get("sample_weight")
    c = certify(p.loss, p.K, p.y, s.a, s.offset, m, w)
    size = 1.0 + abs(c.primal)
    slope = getattr(p.loss, "C", 0.0) + np.abs(s.a)
    f_rounds = EPS * (np.abs(p.K) @ np.abs(s.a) + np.abs(s.f) + np.abs(p.y))
    rounding = float(slope @ f_rounds) * (1.0 if w is None else max(w.max(), 1.0))
    assert c.gap <= 1e-8 * size + 4.0 * rounding
    np.testing.assert_allclose(s.f, c.f, rtol=1e-12, atol=8.0 * len(p.y) * f_rounds.max() + 1e-300)


def test_most_random_problems_are_certified():
    statuses = []
    for seed in range(200):
        p = reliability.problem(seed)
        s = solve_dual(p.K, p.y, p.loss, tol=1e-8, on_failure="ignore", **p.options)
        statuses.append(s.status)
    assert statuses.count(Status.CONVERGED) >= 197, statuses
