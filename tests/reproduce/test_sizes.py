import matplotlib.pyplot as plt
import numpy as np
import pytest

from reproduce import sizes
from reproduce.plan import Plan
from tests.reproduce.fakes import DAY, found

QUICK, FULL = Plan(True), Plan(False)


def power_law(cell):
    """Return errors of 1 / n and the papers' times."""
    n, method = cell.arguments["n"], cell.arguments["method"]
    wobble = 1.0 + 0.1 * np.sin(cell.arguments["repetition"] + len(method))
    cpu = 1e-6 * n ** sizes.PAPERS.get(method, 1.5)
    return {"ase": wobble / n, "aae": 0.5 * wobble / n, "cpu": 0.9 * cpu, "cpu_new": 0.1 * cpu}


def test_new_rows_have_no_noise():
    result = sizes.trained(None, 100, "papers", 0)
    assert result["ase"] < 0.02  # of which the noise would be 0.04


def test_repetitions_are_other_rows():
    one, two = (sizes.trained(None, 10, "papers", k)["ase"] for k in (0, 1))
    assert one != two


def test_a_page_without_measures_says_what_it_is_about():
    section = sizes.section({}, FULL)
    assert section.body == sizes.INTRODUCTION
    assert not section.figures


def test_one_measure_is_a_row():
    section = sizes.section(found([next(iter(sizes.cells(FULL)))], power_law), FULL)
    assert f"| 10 | BSVR, as the papers | 1 | {1e3 * power_law_of_first():.2f} |" in section.body
    assert "Growth" not in section.body
    plt.close(section.figures["sinc_sizes"][0])


def power_law_of_first():
    return power_law(next(iter(sizes.cells(FULL))))["ase"]


@pytest.mark.parametrize("plan", [QUICK, FULL])
def test_all_measures_make_tables_and_a_figure(plan):
    section = sizes.section(found(sizes.cells(plan), power_law), plan)
    figure, _ = section.figures["sinc_sizes"]
    assert [ax.get_ylabel() for ax in figure.axes] == ["ASE", "AAE", "CPU seconds"]
    plt.close(figure)
    assert DAY in section.body
    if plan is FULL:
        last = "between the last two sizes"
        assert f"as the papers n^2.36 ({last} n^2.36; papers n^2.36)" in section.body
        assert f"GPR n^3.05 ({last} n^3.05; papers n^3.05)" in section.body
        assert "28 of them, not corrected" in section.body
