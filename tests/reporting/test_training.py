"""What plots read off a process: its data and the part of each row in the solution."""

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.reporting import plot_class_map, plot_regression_band
from pymc_bsvm.reporting.training import Training, axes_or_new, check_column
from tests.gp import cases
from tests.reporting.conftest import POINT, Refuses


def test_data_and_support_vectors_of_a_regression(
    regression: cases.Process, data: cases.Data
) -> None:
    training = Training.of(regression.gp, POINT, regression.model)
    loss = losses.SILF(POINT["C"], POINT["epsilon"], 0.3)
    K = cases.ard(data.X, data.X, POINT["ls"])
    solution = bsvm.laplace_evidence(K, data.y, loss).solution
    np.testing.assert_array_equal(training.X, data.X)
    np.testing.assert_array_equal(training.y, data.y)
    np.testing.assert_array_equal(training.free, solution.free)
    np.testing.assert_array_equal(training.bound, solution.bound)
    residual = np.abs(data.y - solution.f)
    np.testing.assert_array_equal(training.bound, residual > 1.3 * 0.25)
    np.testing.assert_array_equal(training.free, (residual > 0.7 * 0.25) & ~training.bound)
    assert training.loss == loss


def test_labels_are_signs(classification: cases.Process, data: cases.Data) -> None:
    training = Training.of(classification.gp, {"ls": POINT["ls"]}, classification.model)
    np.testing.assert_array_equal(training.y, 2.0 * data.labels - 1.0)
    assert training.loss == losses.Trigonometric(0.5)


def test_the_model_of_the_context_is_used(regression: cases.Process) -> None:
    with regression.model:
        training = Training.of(regression.gp, POINT, None)
    assert training.X.shape == (40, 2)


def test_shared_data_are_those_of_the_moment(data: cases.Data) -> None:
    with pm.Model() as model:
        X, y = pm.Data("X", np.round(data.X).astype(int)), pm.Data("targets", data.y)
        gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(pm.LogNormal("ls", 0.0, 0.5, shape=2)))
        gp.marginal_likelihood("y", X=X, y=y, C=2.5, epsilon=0.25)
    point = {"ls": POINT["ls"]}
    np.testing.assert_array_equal(Training.of(gp, point, model).X, np.round(data.X))
    pm.set_data({"X": np.ones((3, 2), dtype=int), "targets": data.y[:3]}, model=model)
    training = Training.of(gp, point, model)
    np.testing.assert_array_equal(training.X, np.ones((3, 2)))
    np.testing.assert_array_equal(training.y, data.y[:3])
    assert training.free.shape == training.bound.shape == (3,)


def test_inputs_without_a_value_are_refused(data: cases.Data, refuses: Refuses) -> None:
    with pm.Model() as model:
        X = pt.exp(pm.Data("X", data.X))
        gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(pm.LogNormal("ls", 0.0, 0.5, shape=2)))
        gp.marginal_likelihood("y", X=X, y=data.y, C=2.5, epsilon=0.25)
    for plot in (plot_regression_band, plot_class_map):
        with refuses(ValueError, "expression without a value", "pm.Data"):
            plot(gp, {"ls": POINT["ls"]}, model=model)


@pytest.mark.parametrize("column", [-1, 2, 1.0, "x"])
def test_columns_are_counted_from_zero(column: object, refuses: Refuses) -> None:
    X = np.zeros((3, 2))
    for known in (0, 1, np.int64(1)):
        check_column("column", known, X)
    with refuses(ValueError, f"column is {column!r}", "2 columns", "from 0 to 1"):
        check_column("column", column, X)


def test_axes_are_kept_or_made() -> None:
    _, (first, second) = plt.subplots(1, 2)
    assert axes_or_new(first) is first
    assert len(plt.get_fignums()) == 1
    new = axes_or_new(None)
    assert new not in (first, second)
    assert len(plt.get_fignums()) == 2
