"""The exact line search on functions whose minimum is known."""

import math

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.solvers.line_search import make_center, make_line_search, make_zero
from pymc_bsvm.solvers.weighted import interpreted
from tests.solvers.problems import ALL, name, problem, profile

SMOOTH = [loss for loss in ALL if loss.differentiable]


def plain(function):
    return function


def tools(loss):
    words = interpreted(type(loss))
    center = make_center(words.slope, words.curve, plain)
    return words, center, make_line_search(words.slope, center, plain)


def along(loss, y, f, a, w, df, da, t):
    """Return the derivative of the primal along the step, from the formulas of the tests."""
    g = f + t * df
    if loss.task == "regression":
        slope = -profile(loss, y - g).slope
    else:
        slope = y * profile(loss, y * g).slope
    return float((w * slope) @ df + (a + t * da) @ df)


def search(loss, y, f, a, df, da, w=None, offset=False, db=0.0):
    y, f, a, df, da = (np.asarray(v, dtype=float) for v in (y, f, a, df, da))
    w = np.ones_like(y) if w is None else w
    words, center, line_search = tools(loss)
    p = loss.parameters
    with np.errstate(all="ignore"):
        centred = f + center(y, f, w, p) if offset else f
        steep = float(words.slope(y, centred, w, p) @ df + a @ (df - db))
        return line_search(steep, y, f, a, w, p, df, da, db, offset)


def test_one_quadratic():
    # (1 - t)² / 2 + t² / 2 · 3: a = 0, f = t, K = 1/3
    t = search(losses.Gaussian(1.0), [1.0], [0.0], [0.0], [1.0], [3.0])
    assert t == pytest.approx(0.25, rel=1e-3)


def test_full_step_when_it_is_the_minimum():
    # (2 - t)² / 2 + t² / 2 at f = t, a = t
    assert search(losses.Gaussian(1.0), [2.0], [0.0], [0.0], [1.0], [1.0]) == 1.0


def test_zero_when_the_step_climbs():
    assert search(losses.Gaussian(1.0), [1.0], [0.0], [0.0], [-1.0], [-1.0]) == 0.0
    assert search(losses.SILF(1.0, 0.1), [1.0], [1.0], [0.0], [1.0], [1.0]) == 0.0


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 1e3, 1e8])
def test_the_unit_of_the_step_does_not_matter(scale):
    t = search(losses.Gaussian(1.0), [2.0], [0.0], [0.0], [1.0 / scale], [1.0 / scale])
    assert t / scale == pytest.approx(1.0, rel=2e-3)


@pytest.mark.parametrize("target", [0.3, 1.0, 5.0, 90.0])
def test_huber_in_each_of_its_pieces(target):
    # sum of |r| / r² pieces: Huber(C=2, eps=.5): slope 2 r up to |r| = 1, then 2; plus t² / 2
    t = search(losses.Huber(2.0, 0.5), [target], [0.0], [0.0], [1.0], [1.0])
    exact = 2.0 * target / 3.0 if target <= 1.5 else 2.0 if target >= 3.0 else target * 2.0 / 3.0
    assert t == pytest.approx(exact, rel=1e-3)


def test_piecewise_derivative_of_many_rows():
    rng = np.random.default_rng(0)
    for loss in (losses.SILF(5.0, 0.2, 0.1), losses.SILF(100.0, 0.05, 1e-6), losses.Huber(1, 0.1)):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            y, f = rng.normal(size=(2, 50))
            df = rng.normal(size=50)
            root = 0.1 * rng.normal(size=(50, 50))
            da, a = root @ (root.T @ df), np.zeros(50)
            w = rng.uniform(0.0, 2.0, size=50)
            start = along(loss, y, f, a, w, df, da, 0.0)
            t = search(loss, y, f, a, df, da, w)
            if start >= 0.0:
                assert t == 0.0
            else:
                assert abs(along(loss, y, f, a, w, df, da, t)) <= 1.0001e-3 * abs(start)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_the_slope_at_the_step_is_small(loss):
    K, y = problem(loss, 40)
    rng = np.random.default_rng(5)
    da = y * rng.uniform(0.0, 3.0, size=40)
    df = K @ da
    zero, one = np.zeros(40), np.ones(40)
    start = along(loss, y, zero, zero, one, df, da, 0.0)
    assert start < 0.0
    t = search(loss, y, zero, zero, df, da)
    assert 0.0 < t < math.inf
    assert abs(along(loss, y, zero, zero, one, df, da, t)) <= 1.0001e-3 * abs(start)


@pytest.mark.parametrize("reach", [0.5, 1.0, 7.0, 1e6])
def test_stops_short_of_the_wall(reach):
    # label +1 moves towards its wall at f = -1, four others pull the step along
    y, f = np.array([1.0, -1.0, -1.0, -1.0, -1.0]), np.zeros(5)
    df = -np.ones(5) * reach
    t = search(losses.Trigonometric(), y, f, np.zeros(5), df, np.zeros(5))
    assert 0.0 < t * reach < 1.0
    zero, one = np.zeros(5), np.ones(5)
    start = along(losses.Trigonometric(), y, f, zero, one, df, zero, 0.0)
    assert abs(along(losses.Trigonometric(), y, f, zero, one, df, zero, t)) <= 1e-3 * abs(start)


def test_infinite_when_nothing_ever_stops_the_step():
    y = np.ones(3)
    zero = np.zeros(3)
    # the linear part of a Huber loss of targets out of reach: descent without end
    t = search(losses.Huber(1.0, 0.1), 1e30 * y, zero, zero, y, zero)
    assert t == math.inf


def test_a_flat_bottom_ends_the_search():
    y, zero = np.ones(3), np.zeros(3)
    t = search(losses.SoftMarginL2(1.0), y, zero, zero, y, zero)
    assert t == pytest.approx(1.0, rel=1e-3)
    t = search(losses.Trigonometric(), y, zero, zero, 1e-3 * y, zero)
    assert t >= 900.0


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_center_minimises_the_loss_over_the_offset(loss, scale):
    if loss.task == "regression":
        y = scale * np.random.default_rng(0).normal(size=31) + 5.0 * scale
        f = np.zeros(31)
    else:
        y = np.where(np.arange(31) % 3 == 0, 1.0, -1.0)
        f = 0.3 * np.random.default_rng(0).normal(size=31)
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=31)
    words, center, _ = tools(loss)
    db = center(y, f, w, loss.parameters)

    def total(b):
        x = y - (f + b) if loss.task == "regression" else y * (f + b)
        return float(w @ profile(loss, x).value)

    with np.errstate(all="ignore"):
        near = [total(db + s * h) for h in (1e-2 * scale, 1e-1 * scale, scale) for s in (-1, 1)]
    assert total(db) <= min(near) + 1e-6 * (1.0 + abs(total(db)))
    before = abs(words.slope(y, f, w, loss.parameters).sum())
    after = abs(words.slope(y, f + db, w, loss.parameters).sum())
    assert after <= 1.0001e-3 * before


def test_center_of_a_balanced_state_is_zero():
    y = np.array([-1.0, 1.0])
    for loss in (losses.Gaussian(1.0), losses.Logistic()):
        assert tools(loss)[1](y, np.zeros(2), np.ones(2), loss.parameters) == 0.0


def test_joint_search_minimises_over_the_offset_too():
    loss = losses.Huber(3.0, 0.2)
    rng = np.random.default_rng(2)
    y = rng.normal(size=40) + 2.0
    root = rng.normal(size=(40, 3))
    da = rng.normal(size=40)
    df = root @ (root.T @ da)
    da, df = (da, df) if (y - 2.0) @ df > 0 else (-da, -df)
    _, center, _ = tools(loss)

    def reduced(t):
        g = t * df
        g = g + center(y, g, np.ones(40), loss.parameters)
        return float(profile(loss, y - g).value.sum() + 0.5 * t * t * da @ df)

    zero = np.zeros(40)
    start = center(y, zero, np.ones(40), loss.parameters)
    t = search(loss, y, zero + start, zero, df, da, offset=True)
    grid = [reduced(t * s) for s in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)]
    assert reduced(t) <= min(grid) + 1e-4 * abs(reduced(0.0) - reduced(t))


@pytest.mark.parametrize("edge", [0.3, 0.9999, 70.0])
def test_secants_that_never_settle(edge):
    """At a jump no slope is small: it is found as the end of a bracket."""
    zero = make_zero(lambda t: -0.5 if t < edge else 1e200, plain)
    assert zero(-1.0) == pytest.approx(edge, rel=1e-12)
