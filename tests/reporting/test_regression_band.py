"""The curves and markers of a regression are those that the process predicts."""

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.reporting import plot_regression_band
from pymc_bsvm.reporting.style import BOUND, FREE, GREY
from tests.gp import cases
from tests.reporting.conftest import POINT, Refuses, labelled, on_a_line

KINDS = ("others", "free support vectors", "bound support vectors")


def grid_of(X: np.ndarray, column: int) -> np.ndarray:
    """Return the documented grid: 200 points across a column, the others at their medians."""
    low, high = X[:, column].min(), X[:, column].max()
    margin = 0.03 * (high - low)
    grid = np.tile(np.median(X, axis=0), (200, 1))
    grid[:, column] = np.linspace(low - margin, high + margin, 200)
    return grid


def edges(ax: Axes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the horizontal places of the band, and its lower and upper edge."""
    (band,) = [c for c in ax.collections if "of targets" in str(c.get_label())]
    corners = band.get_paths()[0].vertices
    x = np.unique(corners[:, 0])
    ends = np.array([np.sort(corners[corners[:, 0] == at, 1])[[0, -1]] for at in x])
    return x, ends[:, 0], ends[:, 1]


@pytest.mark.parametrize("column", [0, 1])
def test_the_mean_is_that_of_the_process(
    regression: cases.Process, data: cases.Data, column: int
) -> None:
    ax = plot_regression_band(regression.gp, POINT, column=column, model=regression.model)
    x, y = labelled(ax.lines)["mean"].get_data()
    grid = grid_of(data.X, column)
    mean, _ = regression.gp.predict(grid, POINT, diag=True, model=regression.model)
    np.testing.assert_allclose(x, grid[:, column], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(y, mean, rtol=1e-10, atol=1e-10)


def test_the_mean_is_that_of_dense_matrices(regression: cases.Process, data: cases.Data) -> None:
    ax = plot_regression_band(regression.gp, POINT, data.new, model=regression.model)
    K = cases.ard(data.X, data.X, POINT["ls"])
    loss = losses.SILF(POINT["C"], POINT["epsilon"], 0.3)
    a = bsvm.laplace_evidence(K, data.y, loss).solution.a
    order = np.argsort(data.new[:, 0])
    x, y = labelled(ax.lines)["mean"].get_data()
    np.testing.assert_array_equal(x, data.new[order, 0])
    mean = cases.ard(data.new, data.X, POINT["ls"]) @ a
    np.testing.assert_allclose(y, mean[order], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_the_band_ends_at_quantiles(
    regression: cases.Process, data: cases.Data, coverage: float
) -> None:
    ax = plot_regression_band(regression.gp, POINT, coverage=coverage, model=regression.model)
    grid = grid_of(data.X, 0)
    predictive = regression.gp.predictive(grid, POINT, model=regression.model)
    x, low, high = edges(ax)
    tail = (1.0 - coverage) / 2.0
    np.testing.assert_allclose(x, grid[:, 0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(low, predictive.quantile(tail), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(high, predictive.quantile(1.0 - tail), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(predictive.cdf(high) - predictive.cdf(low), coverage, rtol=1e-9)


def test_the_band_holds_draws_of_new_targets(regression: cases.Process, data: cases.Data) -> None:
    new = data.new[np.argsort(data.new[:, 0])]
    ax = plot_regression_band(regression.gp, POINT, new, coverage=0.8, model=regression.model)
    draws = regression.gp.predictive(new, POINT, model=regression.model).draws(20_000, 0)
    _, low, high = edges(ax)
    share = ((draws > low) & (draws < high)).mean(axis=0)
    np.testing.assert_allclose(share, 0.8, atol=0.015)  # five standard errors


@pytest.mark.parametrize(
    ("coverage", "label"),
    [(0.9, "90% of targets"), (0.5, "50% of targets"), (0.995, "99.5% of targets")],
)
def test_the_legend_names_the_coverage(
    regression: cases.Process, data: cases.Data, coverage: float, label: str
) -> None:
    ax = plot_regression_band(
        regression.gp, POINT, data.new, coverage=coverage, model=regression.model
    )
    assert label in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_tube_is_epsilon_around_the_mean(regression: cases.Process) -> None:
    ax = plot_regression_band(regression.gp, POINT, model=regression.model)
    mean = labelled(ax.lines)["mean"].get_ydata()
    tube = [line.get_ydata() for line in ax.lines if line.get_linestyle() == "--"]
    assert len(ax.lines) == 3
    np.testing.assert_allclose(min(tube, key=np.min), mean - 0.25, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(max(tube, key=np.max), mean + 0.25, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    "loss", [losses.Gaussian(0.3), losses.Huber(5.0, 0.2), losses.SILF(5.0, 0.2, 1.0)]
)
def test_losses_without_a_flat_part_have_no_tube(loss: losses.Loss) -> None:
    process = on_a_line(loss)
    ax = plot_regression_band(process.gp, {"ls": 1.0}, model=process.model)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "mean" in legend
    assert "tube" not in legend
    assert "others" not in legend
    assert [line.get_label() for line in ax.lines] == ["mean"]


@pytest.mark.parametrize("column", [0, 1])
def test_markers_are_the_rows_of_each_kind(
    regression: cases.Process, data: cases.Data, column: int
) -> None:
    found = regression.gp.support_vectors(POINT, model=regression.model)
    rows = dict(
        zip(
            KINDS,
            (
                np.setdiff1d(np.arange(data.y.size), found.index),
                found.index[found.free],
                found.index[found.bound],
            ),
            strict=True,
        )
    )
    assert all(index.size for index in rows.values())
    ax = plot_regression_band(regression.gp, POINT, column=column, model=regression.model)
    markers = labelled(ax.collections)
    for kind, index in rows.items():
        expected = np.c_[data.X[index, column], data.y[index]]
        np.testing.assert_array_equal(np.asarray(markers[kind].get_offsets()), expected)
    colors = [tuple(markers[kind].get_edgecolor()[0]) for kind in KINDS]
    assert colors == [to_rgba(GREY), to_rgba(FREE), to_rgba(BOUND)]


def test_rows_inside_the_tube_are_where_the_loss_is_flat() -> None:
    process = on_a_line(losses.SILF(5.0, 0.2, 0.3))
    ax = plot_regression_band(process.gp, {"ls": 1.0}, model=process.model)
    mean = process.gp.predict(process.gp.X.data, {"ls": 1.0}, diag=True, model=process.model)[0]
    ends = {"others": (0.0, 0.14), "free support vectors": (0.14, 0.26)}
    residual = dict(zip(process.gp.X.data[:, 0], np.abs(process.gp.y - mean), strict=True))
    for kind, (low, high) in (ends | {"bound support vectors": (0.26, np.inf)}).items():
        seen = np.array([residual[x] for x, _ in labelled(ax.collections)[kind].get_offsets()])
        assert seen.size
        assert np.all((seen >= low - 1e-9) & (seen <= high + 1e-9)), kind


def test_the_tube_follows_the_input() -> None:
    process = on_a_line(losses.SILF(5.0, lambda X: 0.2 + 0.05 * X[:, 0] ** 2, 0.3))
    ax = plot_regression_band(process.gp, {"ls": 1.0}, model=process.model)
    x, mean = labelled(ax.lines)["mean"].get_data()
    lower, upper = (line.get_ydata() for line in ax.lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(upper - mean, 0.2 + 0.05 * x**2, rtol=1e-10)
    np.testing.assert_allclose(mean - lower, 0.2 + 0.05 * x**2, rtol=1e-10)


def test_kinds_without_rows_are_not_in_the_legend() -> None:
    process = on_a_line(losses.Gaussian(0.3))
    ax = plot_regression_band(process.gp, {"ls": 1.0}, model=process.model)
    assert list(labelled(ax.collections)) == ["90% of targets", "free support vectors"]


def test_new_inputs_are_sorted_along_the_column(
    regression: cases.Process, data: cases.Data
) -> None:
    ax = plot_regression_band(regression.gp, POINT, data.new, column=1, model=regression.model)
    new = data.new[np.argsort(data.new[:, 1])]
    x, y = labelled(ax.lines)["mean"].get_data()
    np.testing.assert_array_equal(x, new[:, 1])
    mean, _ = regression.gp.predict(new, POINT, diag=True, model=regression.model)
    np.testing.assert_allclose(y, mean, rtol=1e-10, atol=1e-10)


def test_the_axes_that_are_passed_are_used(regression: cases.Process, data: cases.Data) -> None:
    _, (ax, other) = plt.subplots(1, 2)
    with regression.model:
        assert plot_regression_band(regression.gp, POINT, data.new, ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    assert not other.has_data()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("input 0", "y")


def test_new_axes_are_made(regression: cases.Process, data: cases.Data) -> None:
    _, old = plt.subplots()
    ax = plot_regression_band(regression.gp, POINT, data.new, column=1, model=regression.model)
    assert len(plt.get_fignums()) == 2
    assert not old.has_data()
    assert ax.get_xlabel() == "input 1"


def test_data_that_were_replaced_are_drawn(data: cases.Data) -> None:
    with pm.Model() as model:
        X, y = pm.Data("X", data.X), pm.Data("targets", data.y)
        gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(pm.LogNormal("ls", 0.0, 0.5, shape=2)))
        gp.marginal_likelihood("y", X=X, y=y, C=2.5, epsilon=0.25)
    for n in (40, 12):
        pm.set_data({"X": data.X[:n], "targets": data.y[:n]}, model=model)
        ax = plot_regression_band(gp, {"ls": POINT["ls"]}, data.new, model=model)
        markers = [c for c in ax.collections if c.get_label() in KINDS]
        drawn = np.vstack([c.get_offsets() for c in markers])
        expected = np.c_[data.X[:n, 0], data.y[:n]]
        np.testing.assert_array_equal(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])


@pytest.mark.parametrize("coverage", [0.0, 1.0, 1.2, -0.1, np.nan])
def test_coverages_that_are_none_are_refused(
    regression: cases.Process, refuses: Refuses, coverage: float
) -> None:
    with refuses(ValueError, "0 < coverage < 1", f"it is {coverage}"):
        plot_regression_band(regression.gp, POINT, coverage=coverage, model=regression.model)


def test_labels_have_no_band(refuses: Refuses) -> None:
    process = on_a_line(losses.Trigonometric(1.0))
    with refuses(ValueError, "Trigonometric is a loss of labels", "plot_class_map"):
        plot_regression_band(process.gp, {"ls": 1.0}, model=process.model)


def test_new_inputs_of_one_dimension_are_refused(
    regression: cases.Process, refuses: Refuses
) -> None:
    with refuses(ValueError, "Xnew must have two dimensions", "it has 1"):
        plot_regression_band(regression.gp, POINT, np.zeros(5), model=regression.model)


def test_new_inputs_with_other_columns_are_refused(
    regression: cases.Process, refuses: Refuses
) -> None:
    with refuses(ValueError, "Xnew has 3 columns, but X has 2"):
        plot_regression_band(regression.gp, POINT, np.zeros((5, 3)), model=regression.model)


def test_a_column_that_is_not_there_is_refused(regression: cases.Process, refuses: Refuses) -> None:
    with refuses(ValueError, "column", "5"):
        plot_regression_band(regression.gp, POINT, column=5, model=regression.model)
