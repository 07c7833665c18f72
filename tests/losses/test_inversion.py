"""Roots of increasing functions, with and without brackets."""

import numpy as np

from pymc_bsvm.losses.inversion import roots_of_increasing

SHIFTS = np.array([-3.0, 0.0, 0.5, 40.0])
ACCURACY = np.full(4, 1e-13)


def cubic(x, rows):
    """Return ``(x - s)³ + (x - s)`` and its slope."""
    d = x - SHIFTS[rows]
    return d**3 + d, 3.0 * d**2 + 1.0


def step(x, rows):
    """Return signs of both sides of the root s, without a slope."""
    return np.tanh(50.0 * (x - SHIFTS[rows])), np.zeros(x.shape)


def test_newton():
    x = roots_of_increasing(cubic, np.full(4, 7.0), ACCURACY)
    np.testing.assert_allclose(x, SHIFTS, atol=1e-12)


def test_bisection_where_steps_lead_away():
    ends = np.full(4, -100.0), np.full(4, 70.0)
    x = roots_of_increasing(step, np.full(4, 7.0), ACCURACY, ends)
    np.testing.assert_allclose(x, SHIFTS, atol=1e-12)


def test_only_rows_that_are_not_there_yet_are_evaluated():
    seen = []

    def counted(x, rows):
        seen.append(rows.tolist())
        return cubic(x, rows)

    start = SHIFTS.copy()
    start[2] += 1.0
    roots_of_increasing(counted, start, ACCURACY)
    assert seen[0] == [0, 1, 2, 3]
    assert all(rows == [2] for rows in seen[1:])


def test_arguments_stay_as_they_are():
    start, ends = np.full(4, 7.0), (np.full(4, -100.0), np.full(4, 70.0))
    roots_of_increasing(cubic, start, ACCURACY, ends)
    assert (start == 7.0).all()
    assert (ends[0] == -100.0).all()
    assert (ends[1] == 70.0).all()


def test_the_curvature_saves_steps():
    """Newton's method alone takes seven values from here."""
    seen = []

    def exponential(x, rows):
        seen.append(rows.size)
        return np.exp(x) - 1.0, np.exp(x)

    x = roots_of_increasing(exponential, np.full(4, 1.0), ACCURACY)
    np.testing.assert_allclose(x, 0.0, atol=1e-13)
    assert len(seen) <= 5
