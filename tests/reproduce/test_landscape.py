import matplotlib.pyplot as plt
import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.datasets import two_gaussians
from reproduce import landscape
from reproduce.plan import Plan
from tests.reproduce.fakes import found


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "banana").mkdir()
    return Plan(quick=True, data=tmp_path)


def result(cell):
    x, y = np.log(cell.arguments["kappa_0"]), np.log(cell.arguments["kappa"])
    return {"minus_log_evidence": (100.0 + x**2 + y**2).tolist(), "error": (10 + x**2).tolist()}


@pytest.mark.parametrize(
    ("approximation", "evidence"),
    [
        ("laplace", lambda K, y, loss: bsvm.laplace_evidence(K, y, loss, "exact")),
        ("ep", lambda K, y, loss: bsvm.ep_evidence(K, y, loss)),
    ],
)
def test_a_line_has_evidence_and_error(approximation, evidence):
    X, labels = two_gaussians(30, dim=2, random_state=1)
    Z, truth = two_gaussians(200, dim=2, random_state=2)
    chosen = landscape.APPROXIMATIONS[approximation]
    found = landscape.along(X, labels, Z, truth == 1, chosen, 0.4, [0.5, 3.0])

    def kernel(A, B):
        squares = ((A[:, None] - B) ** 2).sum(axis=-1)
        return 3.0 * np.exp(-0.2 * squares) + 100.0

    y = 2.0 * labels - 1.0
    peer = evidence(kernel(X, X), y, bsvm.losses.Trigonometric())
    # the tolerance of EP: the square of its residual, for each row
    assert found["minus_log_evidence"][1] == pytest.approx(-peer.log_evidence, abs=1e-5)
    positive = kernel(Z, X) @ peer.posterior.a > 0.0
    assert found["error"][1] == pytest.approx(100.0 * np.mean(positive != (truth == 1)))


def test_the_page_with_nothing():
    assert landscape.section({}, Plan(quick=True)).body.startswith("Nothing is measured yet.")


def test_the_page_with_one_cell(plan):
    section = landscape.section(found(list(landscape.cells(plan))[:1], result), plan)
    assert "| banana | Laplace's method, as the papers | 7 of 49 |" in section.body
    assert "does not have them: waveform" in section.body
    assert not section.figures


def test_the_page_with_all(plan):
    section = landscape.section(found(landscape.cells(plan), result), plan)
    assert "| banana | expectation propagation | 49 of 49 | 1.08 | 0.823 |" in section.body
    # log(500)² less log(1.077)²
    assert (
        "banana: from the best point to the best one with κ₀ = 500 Laplace's evidence falls by 38.6"
        in (section.body)
    )
    [(figure, _)] = section.figures.values()
    plt.close(figure)
