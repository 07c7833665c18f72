import matplotlib.pyplot as plt
import numpy as np
import pytest

from reproduce import outlier
from reproduce.plan import Plan
from tests.reproduce.fakes import found

PLAN = Plan(quick=True)


def result(cell):
    with_ = cell.arguments["outlier"]
    if cell.measure is outlier.shapes:
        x = np.linspace(-6.0, 6.0, 7)
        curves = {"x": x, "mean": -x, "deviation": 1.0 + 0.0 * x, "probability": 0.5 - x / 20.0}
        return {name: values.tolist() for name, values in curves.items()} | {
            "positive": (x < 0.0).astype(float).tolist()
        }
    facts = {
        "kappa_0": 1.0 if with_ else 7.0 + cell.arguments["draw"],
        "kappa": 0.8 if with_ else 0.2,
        "kappa_b": 0.5,
        "support": 70 if with_ else 9,
        "minus_log_evidence": 15.0,
        "below_outlier": 0,
        "C": 8.0,
    }
    if cell.measure is outlier.from_each_start:
        starts = cell.arguments["starts"]
        return {name: [value + k for k in starts] for name, value in facts.items()}
    return facts


@pytest.fixture
def cells():
    return list(outlier.cells(PLAN))


def test_the_outlier_is_one_row_more():
    X, labels = outlier.rows(True, 2)
    without = outlier.rows(False, 2)
    np.testing.assert_array_equal(X[:-1], without[0])
    assert (X[-1, 0], labels[-1], len(X)) == (-2.0, 0, 101)


def test_a_training_says_what_the_table_shows():
    facts = outlier.shown(None, "btsvc", True, 0)
    assert set(outlier.PAPERS["btsvc"][True]) <= set(facts)
    assert facts["below_outlier"] == 0  # the row that the class is least likely to have
    assert facts["support"] <= 101


def test_the_curves_agree_with_the_training():
    curves = outlier.shapes(None, "btsvc", False, 0)
    x, mean, p = (np.array(curves[name]) for name in ("x", "mean", "probability"))
    assert len(x) == 121
    inside = np.abs(mean) > 1e-3  # the probability has five decimals
    np.testing.assert_array_equal((p > 0.5)[inside], (mean > 0.0)[inside])
    assert mean[x == -2.0] > 0.0 > mean[x == 2.0]


def test_the_hyperparameters_of_the_thesis_are_worse_than_an_end_on_another_draw():
    there = outlier.at_papers(None, True, 0)
    ends = outlier.from_each_start(None, True, 0, "once", [0.1, 1.0])
    assert there["kappa_0"] == 0.776
    assert there["minus_log_evidence"] > min(ends["minus_log_evidence"])


def test_svc_changes_sides_between_the_classes():
    curves = outlier.shapes(None, "svc", False, 0)
    x, positive = np.array(curves["x"]), np.array(curves["positive"])
    [k] = np.flatnonzero(np.diff(positive))
    assert -1.0 < x[k] < 1.0


def test_the_page_with_nothing():
    assert outlier.section({}, PLAN).body == "Nothing is measured yet."


def test_the_page_with_one_cell(cells):
    one = [cell for cell in cells if cell.measure is outlier.shown][:1]
    section = outlier.section(found(one, result), PLAN)
    assert "| without | papers | 7.485 | 0.194 | 0.565 | 9 | 5.46 | 1 |  |" in section.body
    assert "| without | BTSVC, as the papers | 7.00 | 0.200 | 0.500 | 9.00 |" in section.body
    assert not section.figures


def test_the_page_with_all():
    plan = Plan(quick=False)
    section = outlier.section(found(outlier.cells(plan), result), plan)
    assert "lowers κ₀ in 100 of 100 draws, narrows the kernel in 100 and adds" in section.body
    assert "in 100 of 100 draws." in section.body
    assert "κ₀ with the outlier (0.776; the draws have 1.00 to 1.00)" in section.body
    assert "best of four starts | 1.10 (1.10 to 1.10) |" in section.body
    assert "exact evidence: 99.90 nats (median of 40 cases), 99.90 at most" in section.body
    assert (
        "the best end of the four starts by -0.1000 (-0.1000 to -0.1000) nats without"
        in section.body
    )
    assert "{outlier}" in section.body
    for figure, _ in section.figures.values():
        plt.close(figure)
