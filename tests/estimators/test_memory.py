"""Starts of evaluations from where others ended."""

import numpy as np

from pymc_bsvm.estimators.memory import Memory


def test_the_nearest_is_the_start_unless_all_are_far():
    memory, x = Memory(), np.array([0.0, 1.0])
    assert memory.nearest(x) is None
    for name, moved in ((1.0, [0.3, 0.0]), (2.0, [0.1, 0.2]), (3.0, [0.0, -0.5])):
        memory.add(x + moved, np.array([name]))
    assert memory.nearest(x) == 2.0
    assert memory.nearest(x + np.array([0.3, 0.1])) == 1.0
    assert memory.nearest(x + np.array([0.0, -0.4])) == 3.0
    assert memory.nearest(x + np.array([0.0, 0.9])) is None


def test_the_last_of_equals_is_the_start():
    memory, x = Memory(), np.zeros(1)
    for name in (1.0, 2.0):
        memory.add(x, np.array([name]))
    assert memory.nearest(x) == 2.0


def test_points_may_change_afterwards():
    memory, x = Memory(), np.zeros(1)
    memory.add(x, np.ones(1))
    x += 5.0
    assert memory.nearest(np.zeros(1)) == 1.0


def test_old_points_are_forgotten():
    memory = Memory()
    for k in range(100):
        memory.add(np.array([float(k)]), np.array([k]))
    assert memory.nearest(np.array([35.0])) is None
    assert memory.nearest(np.array([36.0])) == 36


def of_plane(smooth, count=200):
    """Return a memory of ends that are linear in the point, with a little noise, and the plane."""
    rng, slopes, memory = np.random.default_rng(0), np.array([[1.0, -2.0, 0.5]]).T, Memory(count)
    for x in 0.3 * rng.normal(size=(count, 3)):
        memory.add(x, (x @ slopes) * np.ones(4) + 1e-3 * rng.normal(size=4))
    memory.hold(smooth)
    return memory, slopes


def test_ends_that_are_smooth_tell_of_those_between_them():
    (smooth, slopes), (nearest, _) = of_plane(True), of_plane(False)
    errors = []
    for x in 0.2 * np.random.default_rng(1).normal(size=(50, 3)):
        known = (x @ slopes)[0]
        errors.append([np.abs(m.nearest(x) - known).max() for m in (smooth, nearest)])
        np.testing.assert_array_equal(smooth.nearest(x), smooth.nearest(x))
    plane, constant = np.median(errors, axis=0)
    assert plane < 0.1 * constant
    assert smooth.nearest(np.full(3, 5.0)) is None


def test_few_ends_tell_of_none_between_them():
    memory, _ = of_plane(True, count=5)
    x = memory._points[2]
    np.testing.assert_array_equal(memory.nearest(x), memory._ends[2])
