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
