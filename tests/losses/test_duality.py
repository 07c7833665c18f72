"""Fenchel-Young, biconjugate, dual domain, projection and the sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.losses.cases import CASES, EPS, label, rows

every_row = pytest.mark.parametrize(("case", "p"), rows(), ids=label)
every_case = pytest.mark.parametrize("case", CASES, ids=label)
quiet = settings(max_examples=100, deadline=None, derandomize=True, database=None)


def _at_most(left, right, where):
    """Assert ``left <= right`` elementwise and name the worst offender."""
    left, right = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
    bad = ~(left <= right)
    if bad.any():
        excess = np.where(bad, left - right, -np.inf)
        i = np.unravel_index(int(np.argmax(excess)), left.shape)
        inputs = [float(np.broadcast_to(w, left.shape)[i]) for w in where]
        pytest.fail(f"{left[i]} > {right[i]} at {inputs}; {bad.sum()} of {bad.size} points")


def _rounding(loss, y, f, a):
    """Bound what the sum of the terms of a gap may lose."""
    with np.errstate(invalid="ignore"):
        terms = np.abs(loss.value(y, f)) + np.abs(loss.conjugate(y, a))
        return 16 * EPS * (terms + np.abs(a * f) + np.abs(a * y)) + 1e-290


@every_row
def test_gap_is_the_sum_of_its_terms_and_never_negative(case, p, rng):
    loss = case.loss(**p)
    x = case.points(**p)
    x = x[np.abs(x) < 1e7]
    for _ in range(5):
        y, f = case.arguments(x)
        a = case.duals(y, **p)
        rng.shuffle(a)
        a = loss.project(y, a)
        gap = loss.gap(y, f, a)
        slack = _rounding(loss, y, f, a)
        _at_most(-gap, slack, (y, f, a))
        total = loss.value(y, f) + loss.conjugate(y, a) + a * f
        _at_most(np.abs(gap - total), slack, (y, f, a))


@every_row
def test_gap_vanishes_exactly_at_the_dual_of_the_latent_value(case, p):
    loss = case.loss(**p)
    x = case.points(**p)
    x = x[np.abs(x) < 1e7]
    y, f = case.arguments(x)
    a = -loss.derivative(y, f)
    lower, upper = loss.dual_domain(y)
    assert np.all((lower <= a) & (a <= upper))
    slack = _rounding(loss, y, f, a)
    _at_most(np.abs(loss.gap(y, f, a)), slack, (y, f, a))


@every_row
def test_gap_is_positive_away_from_it(case, p):
    """A wrong sign of ``a f`` or of the conjugate would pass the two tests above only by luck."""
    loss = case.loss(**p)
    x = case.points(**p)
    x = x[(np.abs(x) < 100) & (np.abs(x) > 1e-3)]
    y, f = case.arguments(x)
    a = -loss.derivative(y, f)
    other = loss.project(y, np.where(np.abs(a) > 0, 0.5 * a, 0.5 * y * p.get("C", 1.0)))
    moved = np.abs(other - a) > 1e-3 * (1 + np.abs(a))
    gap, slack = loss.gap(y, f, other), _rounding(loss, y, f, other)
    _at_most(-gap, slack, (y, f, other))
    if not case.differentiable:  # the slope is -C on a half line: any |a| < C is far from it
        inside = moved & (loss.value(y, f) > 0)
        assert np.all(gap[inside] > 0)
    elif case.name in ("Gaussian", "Logistic", "Trigonometric"):
        assert np.all(gap[moved & (a != 0)] > 0)


@every_case
def test_biconjugate(case):
    """``sup_a -a f - l*(-a)`` is the loss again, and is attained at ``-l'(f)``."""
    p = case.parameters[0]
    loss = case.loss(**p)
    x = case.points(**p)
    x = x[(np.abs(x) > 1e-4) & (np.abs(x) < 40)]
    y, f = case.arguments(x)
    value = loss.value(y, f)
    lower, upper = loss.dual_domain(y)
    centre = -loss.derivative(y, f)
    reach = 4 * (1 + np.abs(centre))
    left, right = np.maximum(lower, centre - reach), np.minimum(upper, centre + reach)
    grid = left + np.linspace(0, 1, 2001)[:, None] * (right - left)
    grid = np.clip(grid, lower, upper)
    objective = -grid * f - loss.conjugate(y, grid)
    slack = _rounding(loss, y, f, centre) + 16 * EPS * reach * (1 + np.abs(f))
    _at_most(objective - value, slack, (y, f, grid))
    top = objective.max(axis=0)
    spacing = (right - left) / 2000
    curvature = np.maximum(loss.curvature(y, f), 1e-300)
    coarse = np.minimum(spacing**2 / curvature, spacing * 10)
    _at_most(value - top, slack + coarse, (y, f))
    attained = -centre * f - loss.conjugate(y, centre)
    _at_most(np.abs(attained - value), slack, (y, f))


@every_row
def test_dual_domain(case, p):
    loss = case.loss(**p)
    y = np.array([1.0, -1.0, 1.0])
    lower, upper = loss.dual_domain(y)
    C = p.get("C", np.inf)
    if case.name == "Logistic":
        C = 1.0
    if case.name == "SoftMarginL2":
        C = np.inf
    if case.task == "regression":
        assert np.all(lower == -C)
        assert np.all(upper == C)
    else:
        assert np.array_equal(np.broadcast_to(lower, 3), [0.0, -C, 0.0])
        assert np.array_equal(np.broadcast_to(upper, 3), [C, 0.0, C])


@every_row
def test_project_clips(case, p):
    loss = case.loss(**p)
    y = np.array([1.0, -1.0])
    lower, upper = loss.dual_domain(y)
    for a in (-1e9, -0.7e-3, 0.0, 0.7e-3, 1e9):
        assert np.array_equal(loss.project(y, a), np.clip(np.full(2, a), lower, upper))
    inside = case.duals(y, **p)
    assert np.array_equal(loss.project(y, inside), inside)


@pytest.mark.parametrize(("case", "p"), rows(lambda case: case.differentiable), ids=label)
def test_sets_of_consistent_pairs(case, p):
    loss = case.loss(**p)
    x = case.points(**p)
    y, f = case.arguments(x)
    a = -loss.derivative(y, f)
    sets = loss.sets(y, f, a)
    assert sets._fields == ("support", "free", "bound")
    support, free, bound = sets
    for s in sets:
        assert s.dtype == bool
        assert s.shape == x.shape
    assert np.array_equal(free, loss.curvature(y, f) > 0)
    assert np.array_equal(bound, ~free & (a != 0))
    assert np.array_equal(support, free | bound)
    if case.bounded and "C" in p:
        assert np.all(np.abs(a[bound]) == p["C"])


def test_sets_of_the_soft_insensitive_loss():
    loss = next(c for c in CASES if c.name == "SILF").loss(C=10.0, epsilon=0.1, beta=0.3)
    y = np.array([0.0, 0.069, 0.071, 0.1, 0.129, 0.131, 5.0, -0.05, -0.1, -0.2])
    support, free, bound = loss.sets(y, 0.0, -loss.derivative(y, 0.0))
    assert free.tolist() == [False, False, True, True, True, False, False, False, True, False]
    assert bound.tolist() == [False, False, False, False, False, True, True, False, False, True]
    assert support.tolist() == [False, False, *[True] * 5, False, True, True]


@pytest.mark.parametrize("name", ["EpsilonInsensitive", "Laplace", "SoftMarginL1"])
def test_sets_of_the_losses_with_kinks_follow_the_dual(name):
    case = next(c for c in CASES if c.name == name)
    p = {**case.parameters[0], "C": 2.0}
    loss = case.loss(**p)
    y = np.ones(5)
    f = np.full(5, 1.0 - p.get("epsilon", 0.0))
    a = np.array([0.0, 0.5, 2 - 1e-9, 2.0, 1e-12])
    support, free, bound = loss.sets(y, f, a)
    assert free.tolist() == [False, True, True, False, True]
    assert bound.tolist() == [False, False, False, True, False]
    assert support.tolist() == [False, True, True, True, True]
    support, free, bound = loss.sets(-y, -f, -a)
    assert free.tolist() == [False, True, True, False, True]
    assert bound.tolist() == [False, False, False, True, False]


@every_row
def test_flags(case, p):
    loss = case.loss(**p)
    assert loss.task == case.task
    assert loss.differentiable is case.differentiable
    assert loss.normalized is case.normalised


positive = st.floats(-3, 3).map(lambda e: 10.0**e)
latent = st.floats(-1e3, 1e3)


@st.composite
def _draw(draw, case):
    p = {}
    for key in case.parameters[0]:
        p[key] = draw(st.floats(1e-8, 1.0)) if key == "beta" else draw(positive)
    y = draw(latent) if case.task == "regression" else draw(st.sampled_from([-1.0, 1.0]))
    return case.loss(**p), y, draw(latent), draw(latent)


@every_case
def test_hypothesis_fenchel_young(case):
    @quiet
    @given(_draw(case))
    def check(drawn):
        loss, y, f, a = drawn
        a = loss.project(y, a)
        lower, upper = loss.dual_domain(y)
        assert lower <= a <= upper
        gap = float(loss.gap(y, f, a))
        if np.isinf(loss.value(y, f)):
            assert gap == np.inf
            return
        assert gap >= -_rounding(loss, y, f, a)
        best = -loss.derivative(y, f)
        # the residual y - f rounds at its own scale, the slope turns that into loss
        slack = _rounding(loss, y, f, best) + 4 * EPS * abs(best) * (abs(y) + abs(f))
        assert abs(loss.gap(y, f, best)) <= slack

    check()


@every_case
def test_hypothesis_convexity_and_monotone_slope(case):
    @quiet
    @given(_draw(case))
    def check(drawn):
        loss, y, f, g = drawn
        f, g = min(f, g), max(f, g)
        low, high = loss.derivative(y, f), loss.derivative(y, g)
        assert low <= high
        assert loss.value(y, f) >= 0
        assert loss.curvature(y, f) >= 0
        if np.all(np.isfinite(loss.value(y, np.array([f, g])))):
            chord = (loss.value(y, f) + loss.value(y, g)) / 2
            scale = EPS * (abs(f) + abs(g) + abs(y)) * max(abs(low), abs(high))
            assert loss.value(y, (f + g) / 2) <= chord * (1 + 16 * EPS) + 4 * scale
            tangent = loss.value(y, f) + low * (g - f)
            slack = 16 * EPS * (abs(loss.value(y, f)) + abs(low * (g - f))) + 4 * scale
            assert loss.value(y, g) >= tangent - slack

    check()


@every_case
def test_hypothesis_symmetry(case):
    """Regression losses are even in the residual, classification losses even in (y, f)."""

    @quiet
    @given(_draw(case))
    def check(drawn):
        loss, y, f, a = drawn
        a = loss.project(y, a)
        assert loss.value(-y, -f) == loss.value(y, f)
        assert loss.derivative(-y, -f) == -loss.derivative(y, f)
        assert loss.curvature(-y, -f) == loss.curvature(y, f)
        assert loss.conjugate(-y, -a) == loss.conjugate(y, a)

    check()
