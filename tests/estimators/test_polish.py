"""Newton steps with a curvature from elsewhere."""

import numpy as np
import pytest

from pymc_bsvm.estimators.polish import curvature_at, polish
from pymc_bsvm.search import Ending, Restart

A = np.array([[2.0, 1.9, 0.0], [1.9, 2.0, 0.3], [0.0, 0.3, 0.7]])
PEAK = np.array([0.3, -0.2, 0.4])
WIDE = np.array([[-5.0, 5.0]] * 3)


class Hill:
    """A log evidence of so many rows; a quartic term makes it no parabola."""

    def __init__(self, rows, quartic=0.0, curvature=A):
        self.rows, self.quartic, self.curvature = rows, quartic, curvature
        self.evaluations, self.log_evidence = 0, -np.inf
        self.fails_at = self.interrupted_at = np.inf

    def __call__(self, x):
        self.evaluations += 1
        if self.evaluations == self.interrupted_at:
            raise KeyboardInterrupt
        if self.evaluations == self.fails_at:
            return -np.inf, np.zeros_like(x)
        d = x - PEAK
        value = -0.5 * d @ self.curvature @ d - self.quartic * (d**4).sum()
        slope = -self.curvature @ d - 4.0 * self.quartic * d**3
        self.log_evidence = self.rows * value
        return self.rows * value, self.rows * slope

    def forget(self):
        pass


def run_to(x):
    """Return the account of a search on fewer rows that ended there."""
    nothing = np.zeros(3)
    return Restart(
        "grid 1", x - 1.0, x, -9.0, -9.0, 0.0, Ending.CONVERGED, 7, 1.0, nothing, nothing
    )


def test_curvature_is_that_of_a_row():
    np.testing.assert_allclose(curvature_at(Hill(30.0), np.ones(3), WIDE), A, atol=1e-9)


def test_curvature_is_positive_definite_and_inside_the_box():
    ridge = np.diag([1.0, 0.0, -0.5])
    box = np.array([[-5.0, 5.0], [1.0, 5.0], [-5.0, 1.0]])
    H = curvature_at(Hill(30.0, curvature=ridge), np.ones(3), box)
    assert np.linalg.eigvalsh(H)[0] > 0.0
    assert H[0, 0] == pytest.approx(1.0)


def test_one_step_is_enough_for_a_parabola():
    hill = Hill(1000.0)
    run = polish(hill, run_to(np.zeros(3)), A, WIDE, 1e-6)
    np.testing.assert_allclose(run.end, PEAK, atol=1e-9)
    assert run.ending is Ending.CONVERGED
    assert hill.evaluations == 2
    assert run.evaluations == 9
    np.testing.assert_array_equal(run.start, -1.0)


def test_a_small_promise_is_not_tried():
    hill = Hill(1000.0)
    polish(hill, run_to(PEAK + 0.01), A, WIDE, gain=1.0)
    assert hill.evaluations == 1


@pytest.mark.parametrize("curvature", [0.1 * A, 4.0 * A, np.eye(3)], ids=["flat", "steep", "other"])
def test_steps_correct_a_wrong_curvature(curvature):
    hill = Hill(1000.0, quartic=1.0)
    run = polish(hill, run_to(np.zeros(3)), curvature, WIDE, 1e-3)
    assert run.objective > -0.01
    assert hill.evaluations <= 12


def test_no_more_steps_than_allowed():
    hill = Hill(1000.0, quartic=1.0)
    run = polish(hill, run_to(np.zeros(3)), 4.0 * A, WIDE, 1e-9, steps=2)
    assert hill.evaluations == 3
    assert run.ending is Ending.MAX_ITER


def test_the_last_step_may_be_the_end():
    run = polish(Hill(1000.0), run_to(np.zeros(3)), A, WIDE, 1e-6, steps=1)
    assert run.ending is Ending.CONVERGED


def test_a_step_to_the_border_takes_the_others_along():
    """What is left of the joint step inside of the box leads downhill."""
    H = np.array([[1.0, -0.99, 0.0], [-0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
    slope = np.array([0.1, -0.09, 0.0])
    start = PEAK - np.linalg.solve(H, slope)
    box = np.array([[-5.0, start[0] + 1e-6], [-5.0, 5.0], [-5.0, 5.0]])
    run = polish(Hill(1000.0, curvature=H), run_to(start), H, box, 1e-6)
    assert run.ending is Ending.CONVERGED
    assert run.held[0] == 1.0
    assert run.end[1] == pytest.approx(PEAK[1] + 0.99 * (box[0, 1] - PEAK[0]), abs=1e-6)


def test_a_step_that_was_only_shortened_is_no_end():
    """Before the failure the way to the peak promised 48 nats, after it a 16th of them."""
    hill = Hill(1000.0)
    hill.fails_at = 2
    run = polish(hill, run_to(np.zeros(3)), A, WIDE, gain=10.0)
    assert run.ending is Ending.CONVERGED
    assert hill.evaluations > 2
    assert run.objective > -10.0


def test_an_interruption_before_anything_is_raised():
    hill = Hill(1000.0)
    hill.interrupted_at = 1
    with pytest.raises(KeyboardInterrupt):
        polish(hill, run_to(np.zeros(3)), A, WIDE, 1e-6)


def test_the_box_is_kept():
    box = np.array([[-5.0, 0.1], [-5.0, 5.0], [-5.0, 5.0]])
    run = polish(Hill(1000.0), run_to(np.zeros(3)), A, box, 1e-6)
    assert run.end[0] == 0.1
    np.testing.assert_array_equal(run.held, [1.0, 0.0, 0.0])
    rest = PEAK[1:] - np.linalg.solve(A[1:, 1:], A[1:, 0] * (0.1 - PEAK[0]))
    np.testing.assert_allclose(run.end[1:], rest, atol=1e-3)


def test_a_failure_shortens_the_step():
    hill = Hill(1000.0)
    hill.fails_at = 2
    run = polish(hill, run_to(np.zeros(3)), A, WIDE, 1e-6)
    assert run.objective > -1e-3


def test_nothing_finite_is_a_failure():
    hill = Hill(1000.0)
    hill.fails_at = 1
    assert polish(hill, run_to(np.zeros(3)), A, WIDE, 1e-6).ending is Ending.FAILED


def test_an_interruption_keeps_the_best():
    hill = Hill(1000.0, quartic=1.0)
    hill.interrupted_at = 3
    run = polish(hill, run_to(np.zeros(3)), 0.5 * A, WIDE, 1e-6)
    assert run.ending is Ending.INTERRUPTED
    assert run.objective >= Hill(1000.0, quartic=1.0)(np.zeros(3))[0]


def test_a_hopeless_climb_is_left():
    """The end is at zero, which 0.9 of the way to it is some nats away from."""
    start = run_to(10.0 * PEAK)
    hill = Hill(1000.0, quartic=0.5)
    assert polish(hill, start, A, WIDE, 1e-6, steps=30).ending is Ending.CONVERGED
    hill = Hill(1000.0, quartic=0.5)
    left = polish(hill, start, A, WIDE, 1e-6, steps=30, least=500.0)
    assert left.ending is Ending.BEATEN
    assert 2 <= hill.evaluations <= 12
    hill = Hill(1000.0, quartic=0.5)
    assert polish(hill, start, A, WIDE, 1e-6, steps=30, least=-1.0).ending is Ending.CONVERGED


def test_the_curvature_at_the_end_is_that_of_all_rows():
    run = polish(Hill(1000.0), run_to(np.zeros(3)), A, WIDE, 1e-9)
    np.testing.assert_allclose(run.curvature, 1000.0 * A, atol=1e-6)
