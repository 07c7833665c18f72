import matplotlib.pyplot as plt
import numpy as np
import pytest

from pymc_bsvm.datasets import two_gaussians, two_gaussians_probability
from reproduce import two_classes
from reproduce.plan import Plan
from tests.reproduce.fakes import found

PLAN = Plan(quick=True)
LARGEST = max(two_classes.QUICK_SIZES)


def result(cell):
    if cell.measure is two_classes.contours:
        return {"p": np.linspace(0.0, 1.0, two_classes.GRID**2).tolist()}
    n = cell.arguments["n"]
    return {
        "error": 0.05 + 1.0 / n,
        "nll": 2500.0 + cell.arguments["draw"],
        "seconds": 1e-4 * n**2,
        "evaluations": n,
        "C": 1.0,
        "kappa": 0.1,
    }


@pytest.fixture
def cells():
    return list(two_classes.cells(PLAN))


def test_the_exact_optimum_is_that_of_draws():
    error, nll, deviation = two_classes.exact()
    X, labels = two_gaussians(200_000, dim=2, random_state=8)
    p = two_gaussians_probability(X)
    wrong = np.minimum(p, 1.0 - p)
    assert error == pytest.approx(wrong.mean(), abs=4.0 * wrong.std() / np.sqrt(len(p)))
    nats = -np.log(np.where(labels == 1, p, 1.0 - p))
    share = two_classes.TEST_ROWS / len(nats)
    assert nll == pytest.approx(share * nats.sum(), abs=4.0 * np.sqrt(share) * deviation)
    assert deviation == pytest.approx(np.sqrt(two_classes.TEST_ROWS) * nats.std(), rel=0.1)


def test_the_optimal_classifier_errs_as_it_should():
    error, nll, deviation = two_classes.exact()
    found = two_classes.classified(None, "optimal", 1000, 0)
    of_error = np.sqrt(error * (1.0 - error) / two_classes.TEST_ROWS)
    assert found["error"] == pytest.approx(error, abs=3.0 * of_error)
    assert found["nll"] == pytest.approx(nll, abs=3.0 * deviation)


def test_estimated_moments_cost_little():
    best = two_classes.classified(None, "optimal", 1000, 0)
    found = two_classes.classified(None, "bayes", 1000, 0)
    # ten parameters cost half a nat each in 1000 rows, 100 nats in 20002, give or take
    assert 0.0 < found["nll"] - best["nll"] < 400.0


def test_a_method_is_judged_on_the_test_rows():
    found = two_classes.classified(None, "btsvc", 20, 1)
    assert 0.04 < found["error"] < 0.25
    assert found["nll"] > two_classes.classified(None, "optimal", 20, 1)["nll"]
    assert found["seconds"] > 0.0


def test_contours_are_on_the_grid():
    p = np.reshape(two_classes.contours(None, "bayes", 50)["p"], (two_classes.GRID,) * 2)
    assert p[30, 0] > 0.9 > 0.1 > p[30, -1]  # label 1 is on the left
    X, _ = two_gaussians(50, dim=2)
    assert X.shape == (50, 2)


def test_growth_is_the_power():
    assert two_classes.growth([10, 100, 1000], [0.02, 2.0, 200.0]) == pytest.approx(2.0)
    assert two_classes.growth([10], [1.0]) is None


def test_the_page_with_nothing():
    assert two_classes.section({}, PLAN).body == "Nothing is measured yet."


def test_the_page_with_one_cell(cells):
    section = two_classes.section(found(cells[:1], result), PLAN)
    assert "| Optimal | 2532.5 | 2500.0 | 0.0 | 0.0 | 0.0490 |" in section.body
    _close(section)


def test_the_page_with_all(cells):
    section = two_classes.section(found(cells, result), PLAN)
    assert "| GPC | 2570.3 | 2500.5 ± 0.7 | 37.8 | 0.5 ± 0.7 |" in section.body
    assert (
        f"| SVC | {LARGEST} | {1e-4 * LARGEST**2:.2f} | {LARGEST} | 2.00 | 1.00 |" in section.body
    )
    assert "from 0 with C = 1.00 and κ = 0.100 to 1 with C" in section.body
    assert set(section.figures) == {"two_classes_contours", "two_classes_sizes"}
    _close(section)


def _close(section):
    for figure, _ in section.figures.values():
        plt.close(figure)
