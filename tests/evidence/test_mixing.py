"""Anderson's acceleration on maps whose fixed points are known."""

import numpy as np
import pytest

from pymc_bsvm.evidence.mixing import mix, mixed


def iterate(g, x, count, window, damping=1.0, mix=mixed):
    """Return the iterates of a map."""
    points, steps = [x], []
    for _ in range(count):
        steps.append(g(points[-1]) - points[-1])
        last = np.array(points[-1 - window :]), np.array(steps[-1 - window :])
        points.append(mix(*last, last[1], damping))
    return points


@pytest.mark.parametrize("mix", [mixed, mix], ids=["interpreted", "compiled"])
def test_a_linear_map_is_solved_in_one_step_more_than_dimensions(mix):
    rng = np.random.default_rng(0)
    A, b = 2.0 * rng.normal(size=(4, 4)), rng.normal(size=4)
    fixed = np.linalg.solve(np.eye(4) - A, b)
    for damping in (1.0, 0.3):
        points = iterate(lambda x: A @ x + b, np.zeros(4), 5, 4, damping, mix)
        np.testing.assert_allclose(points[-1], fixed, rtol=1e-8)


def test_the_first_step_is_plain_and_damped():
    points = iterate(lambda x: x + 2.0, np.zeros(3), 1, 4, 0.5)
    np.testing.assert_array_equal(points[1], np.ones(3))


def test_it_is_faster_than_the_map():
    def g(x):
        return np.cos(x) + 0.1 * x[::-1]

    quick, plain = iterate(g, np.zeros(2), 12, 2), [np.zeros(2)]
    for _ in range(12):
        plain.append(g(plain[-1]))
    quick_error, plain_error = (np.abs(g(x[-1]) - x[-1]).max() for x in (quick, plain))
    assert quick_error < 1e-9 < 1e-3 < plain_error


@pytest.mark.parametrize("mix", [mixed, mix], ids=["interpreted", "compiled"])
def test_the_mixture_is_that_of_least_squares(mix, rng):
    points, steps, measured = rng.normal(size=(3, 5, 12))
    shares = np.linalg.lstsq(np.diff(measured, axis=0).T, measured[-1])[0]
    moves = np.diff(points, axis=0) + 0.7 * np.diff(steps, axis=0)
    expected = points[-1] + 0.7 * steps[-1] - shares @ moves
    np.testing.assert_allclose(mix(points, steps, measured, 0.7), expected, rtol=1e-10)


@pytest.mark.parametrize("mix", [mixed, mix], ids=["interpreted", "compiled"])
def test_a_step_that_is_repeated_counts_once(mix, rng):
    points, steps = rng.normal(size=(2, 3, 6))
    twice = np.array([0, 0, 1, 1, 2])
    got = mix(points[twice], steps[twice], steps[twice], 1.0)
    np.testing.assert_allclose(got, mix(points, steps, steps, 1.0), rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_units_decide_what_is_small(scale):
    """With one earlier step the mixture is the one whose step is shortest in the given units."""
    units = np.array([1.0, scale])
    points, steps = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 1.0], [0.5, -1.0]])
    step, change = np.array([0.5, -1.0]), np.array([-0.5, -2.0])
    share = (units * change) @ (units * step) / ((units * change) @ (units * change))
    got = mixed(points, steps, units * steps, 1.0)
    np.testing.assert_allclose(got, 1.0 + step - share * (1.0 + change))
