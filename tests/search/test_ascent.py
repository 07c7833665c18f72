"""Ascents of functions that are known."""

import numpy as np
import pytest

from pymc_bsvm.search import Ending, ascend
from pymc_bsvm.search import ascent as module
from tests.search.functions import Function, bowl, slope_of_bowl


def banana(x):
    return -((1.0 - x[0]) ** 2) - 100.0 * (x[1] - x[0] ** 2) ** 2


def slope_of_banana(x):
    inner = x[1] - x[0] ** 2
    return np.array([2.0 * (1.0 - x[0]) + 400.0 * x[0] * inner, -200.0 * inner])


def test_ascent_converges():
    f, reported = Function(bowl, slope_of_bowl), []
    run = ascend(f, np.array([4.0, 3.0]), "here", gtol=1e-5, callback=reported.append)
    assert run.ending is Ending.CONVERGED
    np.testing.assert_allclose(run.end, [1.0, -2.0], atol=1e-5)
    np.testing.assert_array_equal(run.start, [4.0, 3.0])
    assert run.label == "here"
    assert run.objective == pytest.approx(2.0, abs=1e-9)
    assert run.log_evidence == run.objective + 7.0
    assert run.gradient == np.abs(slope_of_bowl(run.end)).max() <= 1e-5
    assert run.evaluations == f.evaluations == len(reported)
    assert f.forgotten == 1
    assert 0.0 < run.seconds < 60.0
    assert reported[0] == bowl([4.0, 3.0])
    assert np.all(np.diff(reported) >= 0.0)


def test_evaluations_are_those_of_the_run():
    f = Function(bowl, slope_of_bowl)
    runs = [ascend(f, np.array([4.0, 3.0])) for _ in range(2)]
    assert runs[0].evaluations == runs[1].evaluations == f.evaluations / 2


def test_start_at_the_mode():
    f = Function(bowl, slope_of_bowl)
    run = ascend(f, np.array([1.0, -2.0]))
    assert run.ending is Ending.CONVERGED
    assert run.gradient == 0.0
    assert run.evaluations <= 2


def test_largest_number_of_iterations():
    start = np.array([-1.2, 1.0])
    full = ascend(Function(banana, slope_of_banana), start, gtol=1e-6)
    assert full.ending is Ending.CONVERGED
    np.testing.assert_allclose(full.end, 1.0, atol=1e-4)
    run = ascend(Function(banana, slope_of_banana), start, gtol=1e-6, maxiter=5)
    assert run.ending is Ending.MAX_ITER
    assert banana(start) < run.objective < -1e-3
    assert run.evaluations < full.evaluations
    assert run.gradient > 1e-6


def test_iterations_of_all_searches_count(monkeypatch):
    """Where each search is cut short after two, the third of five iterations in all has one."""
    allowed, minimize = [], module.minimize

    def short(function, x, options, **kwargs):
        allowed.append(options["maxiter"])
        cut = {**options, "maxiter": min(options["maxiter"], 2)}
        return minimize(function, x, options=cut, **kwargs)

    monkeypatch.setattr(module, "minimize", short)
    run = ascend(Function(banana, slope_of_banana), np.array([-1.2, 1.0]), gtol=1e-6, maxiter=5)
    assert run.ending is Ending.MAX_ITER
    assert allowed == [5, 3, 1]


def test_a_jump_is_reported_as_such():
    """The gradient points across a step down that it does not know."""

    def value(x):
        return -((x[0] - 3.0) ** 2) - 10.0 * (x[0] > 1.0)

    run = ascend(Function(value, lambda x: -2.0 * (x - 3.0)), np.array([0.0]))
    assert run.ending is Ending.STALLED
    assert "smooth" in run.ending.value
    assert 0.0 < run.end[0] <= 1.0
    assert run.gradient == pytest.approx(2.0 * (3.0 - run.end[0]))
    assert -9.0 < run.objective == value(run.end) <= -4.0


def test_a_line_search_that_broke_off_is_begun_again(monkeypatch):
    """Where each search is cut short, the next starts from the best point, four times."""
    starts, minimize = [], module.minimize

    def short(function, x, options, **kwargs):
        starts.append(x.copy())
        return minimize(function, x, options={**options, "maxiter": 2}, **kwargs)

    monkeypatch.setattr(module, "minimize", short)
    f = Function(banana, slope_of_banana)
    run = ascend(f, np.array([-1.2, 1.0]))
    assert run.ending is not Ending.CONVERGED
    assert run.gradient > 1e-2
    heights = [banana(x) for x in (*starts, run.end)]
    assert len(starts) == 4
    assert np.all(np.diff(heights) > 0.0)
    assert run.objective == max(value for value, _ in f.seen)


def test_a_wall_is_not_crossed():
    """Beyond it the value is -inf, and the mode is next to it."""

    def value(x):
        return -50.0 * (x[0] - 1.0) ** 2 if x[0] > 0.97 else -np.inf

    f = Function(value, lambda x: -100.0 * (x - 1.0))
    run = ascend(f, np.array([1.4]))
    assert any(value == -np.inf for value, _ in f.seen)
    assert run.ending is Ending.CONVERGED
    assert run.end[0] == pytest.approx(1.0, abs=1e-4)


def test_a_start_that_is_not_finite():
    f = Function(lambda x: -np.inf, lambda x: x)
    run = ascend(f, np.array([1.0, 2.0]))
    assert run.ending is Ending.FAILED
    assert run.objective == run.log_evidence == -np.inf
    assert run.evaluations == 1
    np.testing.assert_array_equal(run.end, [1.0, 2.0])


@pytest.mark.parametrize("after", [1, 2, 9])
def test_an_interruption_keeps_the_best_point(after):
    f = Function(banana, slope_of_banana, interrupt_at=after)
    run = ascend(f, np.array([-1.2, 1.0]))
    value, x = max(f.seen, key=lambda pair: pair[0])
    assert run.ending is Ending.INTERRUPTED
    assert run.evaluations == after
    assert run.objective == value
    assert run.log_evidence == value + 7.0
    np.testing.assert_array_equal(run.end, x)
    assert run.gradient == np.abs(slope_of_banana(x)).max()


def test_every_ending_is_a_sentence():
    for ending in Ending:
        assert ending.value.endswith(".")
        assert ending.value[0].isupper()


def test_an_optimum_on_a_bound():
    """What counts is the gradient that does not point out of the box."""
    f = Function(bowl, slope_of_bowl)
    run = ascend(f, np.array([-1.0, 0.0]), bounds=[(-3.0, 0.5), (-5.0, 5.0)], gtol=1e-5)
    assert run.ending is Ending.CONVERGED
    np.testing.assert_allclose(run.end, [0.5, -2.0], atol=1e-5)
    assert run.gradient <= 1e-5
    assert all(-3.0 <= x[0] <= 0.5 for _, x in f.seen)
    np.testing.assert_array_equal(run.held, [1.0, 0.0])
    np.testing.assert_allclose(run.slope, slope_of_bowl(run.end))
    assert run.slope[0] > 0.1
    below = ascend(f, np.array([2.0, 0.0]), bounds=[(1.5, 3.0), (-1.0, 5.0)])
    np.testing.assert_array_equal(below.held, [-1.0, -1.0])
    assert not ascend(f, np.array([2.0, 0.0])).held.any()


def test_the_earlier_import_path():
    from pymc_bsvm.evidence import restart

    assert restart.ascend is ascend
    assert restart.Ending is Ending
