import numpy as np
import pytest

from benchmarks.gao_readings import SLOPES
from reproduce import gao
from reproduce.plan import Plan


def test_the_optimum_is_that_of_a_parabola_in_log_c():
    values = -((np.log(SLOPES) - np.log(1.9)) ** 2)
    assert gao.peak(values) == pytest.approx(1.9, rel=1e-10)  # a parabola is met, to rounding
    assert gao.peak(np.arange(len(SLOPES), dtype=float)) == SLOPES[-1]
    assert gao.optimum(-values[None], -1.0) == "1.9"


def test_a_small_run_has_every_row():
    plan = Plan(True)
    seeds = [cell for cell in gao.cells(plan) if cell.arguments["seed"] == 0]
    assert [cell.measure for cell in seeds[:3]] == [gao.bars, gao.margin, gao.others]
    assert len(list(gao.cells(plan))) == 1 + 5 * gao.FEW
    assert len(list(gao.cells(Plan(False)))) == 1 + 5 * gao.SETS


def test_the_update_of_the_first_set_is_that_of_the_page():
    # docs/gao.md: 3.98, 2.13, 2.11 for the first set
    np.testing.assert_allclose(
        gao.path(None, 0)["C"], [10.0, 3.98, 2.13, 2.11], rtol=0.0, atol=5e-3
    )
