"""A slice of the suite of hard duals, against an interior-point solver."""

import numpy as np
import pytest

from benchmarks import hard_duals

SUITE = hard_duals.suite()
SLICE = SUITE[::11][:10]


def test_the_suite_is_kept():
    assert len(SUITE) >= 100
    assert {p.kernel for p in SUITE} == set(hard_duals.KERNELS)
    assert {type(p.loss).__name__ for p in SUITE} == set(hard_duals.LOSSES)
    C = [p.loss.C for p in SUITE]
    assert min(C) == 1e-6
    assert max(C) == 1e8
    assert sum(np.linalg.matrix_rank(p.K) < len(p.y) for p in SUITE) > len(SUITE) / 2
    again = hard_duals.suite()
    for p, q in zip(SUITE, again, strict=True):
        np.testing.assert_array_equal(p.K, q.K)
        np.testing.assert_array_equal(p.y, q.y)
        assert p.loss == q.loss


@pytest.mark.parametrize("p", SLICE, ids=lambda p: f"{p.name}-{type(p.loss).__name__}-{p.kernel}")
def test_against_clarabel(p):
    ours = hard_duals.attempt(p, hard_duals.solve_here)
    theirs = hard_duals.attempt(p, hard_duals.solve_clarabel)
    assert ours.succeeds(1e-8), ours
    if theirs.succeeds(1e-6):
        scale = 1.0 + abs(theirs.objective)
        assert abs(ours.objective - theirs.objective) <= 2e-6 * scale
    # an infeasible answer may be lower; a feasible one may not, beyond our certificate
    if theirs.primal_residual <= 1e-15:
        assert ours.objective <= theirs.objective + 2e-8 * (1.0 + abs(theirs.objective))


def test_enough_of_the_slice_has_a_second_opinion():
    verdicts = [hard_duals.attempt(p, hard_duals.solve_clarabel) for p in SLICE]
    assert sum(v.succeeds(1e-6) for v in verdicts) >= 7


def test_every_problem_of_the_suite():
    verdicts = {p.name: hard_duals.attempt(p, hard_duals.solve_here) for p in SUITE}
    assert all(v.succeeds(1e-6) for v in verdicts.values())
    assert sum(v.succeeds(1e-8) for v in verdicts.values()) >= 0.98 * len(SUITE)


def test_the_judge_is_strict():
    p = SUITE[0]
    a, offset = hard_duals.solve_here(p)
    assert hard_duals.judge(p, a, offset).succeeds(1e-8)
    worse = hard_duals.judge(p, 0.9 * a, offset)
    assert worse.gap > 1e-6
    assert worse.dual_residual > 1e-3
    assert hard_duals.judge(p, a + 2.0 * p.loss.C, offset).primal_residual > 0.1
