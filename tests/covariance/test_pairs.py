"""Steps on one dual or two of a piecewise linear loss, against brute force."""

import itertools

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.covariance.pairs import (
    PURSUIT,
    between,
    edges,
    fall,
    joint_step,
    pair_steps,
    rise,
    single_steps,
)

TUBE = losses.EpsilonInsensitive(2.0, 0.3)


def corners(y, C=2.0, epsilon=0.3):
    """Return the kinks and the levels of the epsilon-insensitive loss."""
    kinks = np.stack([y - epsilon, y + epsilon])
    return kinks, np.stack([np.full(y.size, C), np.zeros(y.size), np.full(y.size, -C)])


def state(n=12, seed=0):
    """Return K, y, a balanced dual on and between the levels, and ``K a``."""
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(n, n)), rng.normal(size=n)
    K, a = Z @ Z.T / n, np.zeros(n)
    a[:6] = 2.0, -2.0, 0.7, -0.4, 1.1, -1.4
    return K, y, a, K @ a


def dual(K, y, a):
    """Return the dual objective, from its definition."""
    return 0.5 * a @ K @ a + TUBE.conjugate(y, a).sum()


def test_a_dual_rises_and_falls_at_kinks_to_the_next_level():
    kinks, levels = corners(np.array([1.0]))
    table = {
        -2.0: ((1.3, 0.0), (np.inf, -2.0)),
        -0.5: ((1.3, 0.0), (1.3, -2.0)),
        0.0: ((0.7, 2.0), (1.3, -2.0)),
        0.5: ((0.7, 2.0), (0.7, 0.0)),
        2.0: ((-np.inf, 2.0), (0.7, 0.0)),
    }
    for a, (up, down) in table.items():
        assert rise(kinks, levels, a, 0) == pytest.approx(up)
        assert fall(kinks, levels, a, 0) == pytest.approx(down)


def test_slopes_of_the_dual_are_those_of_its_definition():
    """``g - up`` is the slope of the dual where a row rises, ``g - down`` where it falls."""
    K, y, a, g = state()
    up, down = edges(*corners(y), a)
    h = 1e-7
    for i in range(a.size):
        for sign, edge in ((1.0, up[i]), (-1.0, down[i])):
            near = a.copy()
            near[i] += sign * h
            if np.isfinite(edge):
                slope = sign * (dual(K, y, near) - dual(K, y, a)) / h
                assert slope == pytest.approx(g[i] - edge, abs=1e-5)
            else:
                assert dual(K, y, near) == np.inf


def test_gap_is_that_of_the_loss():
    _, y, a, _ = state()
    f = np.random.default_rng(1).normal(size=a.size)
    kinks, levels = corners(y)
    assert PURSUIT.gap(kinks, levels, a, f) == pytest.approx(TUBE.gap(y, f, a).sum(), rel=1e-13)
    margins = losses.SoftMarginL1(2.0)
    labels, a = np.where(y > 0.0, 1.0, -1.0), np.abs(a) * np.where(y > 0.0, 1.0, -1.0)
    levels = np.stack([np.maximum(2.0 * labels, 0.0), np.minimum(2.0 * labels, 0.0)])
    expected = margins.gap(labels, f, a).sum()
    assert PURSUIT.gap(labels[None], levels, a, f) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_on_one_row_is_the_best_of_all_on_one_row(seed):
    """Up to the next level; rows that have room enough gain most."""
    K, y, a, g = state(seed=seed)
    corner, moved = corners(y), a.copy()
    up, down = edges(*corner, a)
    after = g.copy()
    single_steps(K, after, up, down, *corner, moved, np.diag(K).copy(), 1e-12, 1)
    (row,) = np.flatnonzero(moved != a)
    np.testing.assert_allclose(after, K @ moved, rtol=0, atol=1e-13)
    low, high = sorted((rise(*corner, a[row], row)[1], fall(*corner, a[row], row)[1]))
    best = min(
        dual(K, y, a + (t - a[row]) * (np.arange(12) == row)) for t in np.linspace(low, high, 4001)
    )
    assert dual(K, y, moved) <= best + 1e-12
    gains = np.maximum(np.maximum(edges(*corner, a)[0] - g, g - edges(*corner, a)[1]), 0.0)
    assert row == np.argmax(gains**2 / np.diag(K))
    for got, expected in zip((up, down), edges(*corner, moved), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_on_two_rows_keeps_their_sum_and_gains_most(seed):
    K, y, a, g = state(seed=seed)
    corner, moved = corners(y), a.copy()
    up, down = edges(*corner, a)
    first, rest = np.argmax(up - g), (up - g).max() - (down - g)
    variances = K[first, first] + np.diag(K) - 2.0 * K[first]
    gains = np.where(rest > 0.0, rest**2 / np.maximum(variances, 1e-12), 0.0)
    after = g.copy()
    pair_steps(K, after, up, down, *corner, moved, np.diag(K).copy(), 1e-12, 1)
    assert set(np.flatnonzero(moved != a)) == {first, np.argmax(gains)}
    assert moved.sum() == pytest.approx(a.sum(), abs=1e-15)
    np.testing.assert_allclose(after, K @ moved, rtol=0, atol=1e-13)
    towards = np.zeros(12)
    towards[first], towards[np.argmax(gains)] = 1.0, -1.0
    best = min(dual(K, y, a + t * towards) for t in np.linspace(0.0, moved[first] - a[first], 999))
    assert dual(K, y, moved) <= best + 1e-12
    beyond = a + 1.01 * (moved - a)  # no further, or a level is in the way
    on_a_level = np.isin(moved[[first, np.argmax(gains)]], [-2.0, 0.0, 2.0]).any()
    assert on_a_level or dual(K, y, beyond) >= dual(K, y, moved)


@pytest.mark.parametrize("offset", [False, True])
def test_a_joint_step_puts_the_rows_between_on_their_kinks(offset):
    K, y, a, g = state()
    kinks, levels = corners(y, C=1e6)
    levels[1] = -1e6 + 1.0  # so far away that nothing is in the way
    a[0] = levels[0, 0] = 5.0
    g = K @ a
    up, down = edges(kinks, levels, a)
    rows = between(up, down)
    assert rows.tolist() == list(range(1, 12))
    moved = a.copy()
    length, count = joint_step(K, g, up, down, kinks, levels, moved, offset)
    assert (length, count) == (1.0, 11)
    np.testing.assert_allclose(g, K @ moved, rtol=0, atol=1e-10)
    lacking = (up - g)[rows]
    if offset:
        assert moved.sum() == pytest.approx(a.sum(), abs=1e-10)
        assert PURSUIT.offset(kinks[:, rows], levels[:, rows], moved[rows], g[rows]) == (
            pytest.approx(lacking.mean(), abs=1e-8)
        )
        lacking = lacking - lacking.mean()
    np.testing.assert_allclose(lacking, 0.0, rtol=0, atol=1e-8)


def test_a_joint_step_ends_where_a_row_meets_a_level():
    K, y, a, g = state()
    kinks, levels = corners(y)
    up, down = edges(kinks, levels, a)
    rows, before = between(up, down), a.copy()
    full = np.zeros(12)
    full[rows] = np.linalg.solve(K[np.ix_(rows, rows)], (up - g)[rows])
    length, count = joint_step(K, g, up, down, kinks, levels, a, False)
    assert count == rows.size == 4
    room = np.where(full > 0.0, np.where(before < 0.0, 0.0, 2.0), np.where(before > 0.0, 0.0, -2.0))
    expected = np.min((room - before)[rows] / full[rows])
    assert 0.0 < expected < 1.0
    assert length == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(a, before + length * full, rtol=0, atol=1e-8)
    assert np.isin(a[rows], [-2.0, 0.0, 2.0]).sum() == 1
    np.testing.assert_allclose(g, K @ a, rtol=0, atol=1e-13)


def test_a_joint_step_without_a_factor_changes_nothing():
    K, y, a, g = state()
    corner = corners(y)
    up, down = edges(*corner, a)
    for bad in (-K, np.full_like(K, np.nan), np.zeros_like(K)):
        moved, after = a.copy(), g.copy()
        length, count = joint_step(bad, after, up, down, *corner, moved, True)
        assert (length, count) == (0.0, 4)
        np.testing.assert_array_equal(moved, a)
        np.testing.assert_array_equal(after, g)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_rounds_find_the_minimum(offset, seed):
    """Against all ways to put three rows on levels or between them."""
    K, y, _, _ = state(seed=seed)
    K, y = K[:3, :3], 3.0 * y[:3]
    kinks, levels = corners(y)
    a, g = np.zeros(3), np.zeros(3)
    for _ in range(20):
        PURSUIT.advance(K, g, kinks, levels, a, np.diag(K).copy(), offset, 5, 5)
    least = np.inf
    for places in itertools.product([-2.0, -1.0, 0.0, 1.0, 2.0], repeat=3):
        free = [i for i in range(3) if places[i] in (-1.0, 1.0)]
        trial = np.array([0.0 if i in free else places[i] for i in range(3)])
        if free:
            target = np.array([y[i] - 0.3 * np.sign(places[i]) for i in free]) - (K @ trial)[free]
            A = np.ones((len(free) + 1,) * 2)
            A[:-1, :-1], A[-1, -1] = K[np.ix_(free, free)], 0.0
            right = np.append(target, -trial.sum())
            found = np.linalg.solve(A, right) if offset else np.linalg.solve(A[:-1, :-1], target)
            trial[free] = found[: len(free)]
        if not offset or abs(trial.sum()) < 1e-12:
            least = min(least, dual(K, y, trial))
    assert dual(K, y, a) == pytest.approx(least, abs=1e-10)
    assert not offset or abs(a.sum()) < 1e-14


def test_balance_moves_the_rows_that_are_nearest_to_it():
    y = np.array([3.0, 1.0, 2.0, -1.0])
    kinks, levels = corners(y)
    a, g = np.array([2.0, 2.0, 1.0, 0.0]), np.zeros(4)
    assert PURSUIT.balance(kinks, levels, a, g)
    np.testing.assert_allclose(a, [2.0, -0.0, 0.0, -2.0])  # down - g: 2.7, 0.7, 1.7, -0.7
    a = -np.array([2.0, 2.0, 1.0, 0.0])
    assert PURSUIT.balance(-kinks[::-1], levels, a, g)
    np.testing.assert_allclose(a, [-2.0, 0.0, 0.0, 2.0])
    a = np.array([0.5, 0.25, -0.75, 0.0])
    assert PURSUIT.balance(kinks, levels, a, g)
    np.testing.assert_array_equal(a, [0.5, 0.25, -0.75, 0.0])


def test_balance_says_where_there_is_none():
    levels = np.stack([np.full(3, 2.0), np.full(3, 1.0)])
    assert not PURSUIT.balance(np.zeros((1, 3)), levels, np.full(3, 1.5), np.zeros(3))


def test_the_offset_is_where_the_rows_want_it():
    y = np.array([0.0, 1.0, 5.0])
    kinks, levels = corners(y)
    assert PURSUIT.offset(kinks, levels, np.array([0.5, 0.0, 0.0]), y) == pytest.approx(-0.3)
    top, low = np.full(3, 2.0), np.full(3, -2.0)
    assert PURSUIT.offset(kinks, levels, top, y) == pytest.approx(-0.3)  # down - g, all rows fall
    assert PURSUIT.offset(kinks, levels, low, y) == pytest.approx(0.3)
    nothing = np.zeros((3, 3))
    assert PURSUIT.offset(kinks, nothing, np.zeros(3), y) == 0.0
