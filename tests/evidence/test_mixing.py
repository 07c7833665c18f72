"""Anderson's acceleration on maps whose fixed points are known."""

import numpy as np
import pytest

from pymc_bsvm.evidence.mixing import Mixing


def iterate(g, x, count, window, damping=1.0):
    """Return the iterates of a map."""
    mixing, points = Mixing(window), [x]
    for _ in range(count):
        points.append(mixing.next(points[-1], g(points[-1]) - points[-1], np.asarray, damping))
    return points


def test_a_linear_map_is_solved_in_one_step_more_than_dimensions():
    rng = np.random.default_rng(0)
    A, b = 2.0 * rng.normal(size=(4, 4)), rng.normal(size=4)
    fixed = np.linalg.solve(np.eye(4) - A, b)
    for damping in (1.0, 0.3):
        points = iterate(lambda x: A @ x + b, np.zeros(4), 5, 4, damping)
        np.testing.assert_allclose(points[-1], fixed, rtol=1e-8)


def test_the_first_step_is_plain_and_damped():
    points = iterate(lambda x: x + 2.0, np.zeros(3), 1, 4, 0.5)
    np.testing.assert_array_equal(points[1], np.ones(3))


def test_it_is_faster_than_the_map():
    def g(x):
        return np.cos(x) + 0.1 * x[::-1]

    mixed, plain = iterate(g, np.zeros(2), 12, 2), [np.zeros(2)]
    for _ in range(12):
        plain.append(g(plain[-1]))
    mixed_error, plain_error = (np.abs(g(x[-1]) - x[-1]).max() for x in (mixed, plain))
    assert mixed_error < 1e-9 < 1e-3 < plain_error


def test_what_is_forgotten_is_not_mixed():
    mixing = Mixing(3)
    for k in range(6):
        mixing.next(np.full(2, float(k)), np.array([1.0, 0.5 / (k + 1)]), np.asarray)
    assert mixing.size == 4
    mixing.forget()
    assert mixing.size == 0
    got = mixing.next(np.zeros(2), np.array([1.0, 2.0]), np.asarray)
    np.testing.assert_array_equal(got, [1.0, 2.0])


@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_units_decide_what_is_small(scale):
    """With one earlier step the mixture is the one whose step is shortest in the given units."""
    units = np.array([1.0, scale])
    mixing = Mixing(1)
    mixing.next(np.zeros(2), np.array([1.0, 1.0]), lambda s: (s.T * units).T)
    got = mixing.next(np.ones(2), np.array([0.5, -1.0]), lambda s: (s.T * units).T)
    step, change = np.array([0.5, -1.0]), np.array([-0.5, -2.0])
    share = (units * change) @ (units * step) / ((units * change) @ (units * change))
    np.testing.assert_allclose(got, 1.0 + step - share * (1.0 + change))
