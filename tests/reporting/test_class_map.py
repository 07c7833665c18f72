"""The map of a classification is the probability on a grid, with the rows on top."""

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba
from matplotlib.contour import ContourSet
from matplotlib.path import Path

import pymc_bsvm as bsvm
from pymc_bsvm.reporting import plot_class_map
from pymc_bsvm.reporting.style import CLASSES
from tests.gp import cases
from tests.reporting.conftest import Refuses, labelled, on_a_line

POINT = {"ls": np.array([0.9, 1.6])}


def grid_of(X: np.ndarray, columns: tuple[int, int], resolution: int) -> np.ndarray:
    """Return the documented grid, whose first input varies fastest."""
    grid = np.tile(np.median(X, axis=0), (resolution**2, 1))
    ends = []
    for c in columns:
        low, high = X[:, c].min(), X[:, c].max()
        margin = 0.08 * (high - low)
        ends.append(np.linspace(low - margin, high + margin, resolution))
    grid[:, columns[0]] = np.tile(ends[0], resolution)
    grid[:, columns[1]] = np.repeat(ends[1], resolution)
    return grid


def contours(ax: Axes) -> tuple[ContourSet, ContourSet]:
    filled, line = (c for c in ax.collections if isinstance(c, ContourSet))
    return filled, line


def within(path: Path, places: np.ndarray) -> np.ndarray:
    """Return whether places are inside an odd number of the rings of a path."""
    starts = [] if path.codes is None else np.flatnonzero(path.codes == Path.MOVETO)[1:]
    rings = np.split(path.vertices, starts)
    inside = [Path(ring).contains_points(places) for ring in rings if len(ring) > 2]
    return np.sum(inside, axis=0, dtype=int) % 2 == 1 if inside else np.zeros(len(places), bool)


@pytest.fixture(scope="module")
def wide(data: cases.Data) -> cases.Process:
    """Return a model of three inputs, of which the last has no effect on labels."""
    X = np.c_[data.X, np.random.default_rng(0).normal(size=data.labels.size)]
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=3)
        gp = bsvm.gp.BTSVC(cov_func=2.0 * pm.gp.cov.ExpQuad(3, ls=ls))
        gp.marginal_likelihood("y", X=X, y=data.labels)
    return cases.Process(model, gp)


@pytest.mark.parametrize("columns", [(0, 1), (1, 0)])
def test_colours_are_the_probabilities_on_the_grid(
    classification: cases.Process, data: cases.Data, columns: tuple[int, int]
) -> None:
    model, gp = classification
    ax = plot_class_map(gp, POINT, columns=columns, resolution=15, model=model)
    grid = grid_of(data.X, columns, 15)
    p = gp.predict_proba(grid, POINT, model=model)
    filled, _ = contours(ax)
    assert filled.zmin == pytest.approx(p.min(), abs=1e-12)
    assert filled.zmax == pytest.approx(p.max(), abs=1e-12)
    np.testing.assert_allclose(filled.levels, np.arange(21) / 20.0, atol=1e-12)
    places = grid[:, list(columns)]
    inner = np.all((places > places.min(0)) & (places < places.max(0)), axis=1)
    inner &= np.abs(p * 20.0 - np.round(p * 20.0)) > 1e-3
    assert inner.sum() > 150
    for k, path in enumerate(filled.get_paths()):
        band = (p > k / 20.0) & (p < (k + 1) / 20.0)
        inside = within(path, places)
        np.testing.assert_array_equal(inside[inner], band[inner], err_msg=f"band {k}")


def test_the_line_is_at_one_half(classification: cases.Process, data: cases.Data) -> None:
    model, gp = classification
    ax = plot_class_map(gp, POINT, resolution=80, model=model)
    _, line = contours(ax)
    (path,) = line.get_paths()
    assert len(path.vertices) > 50
    np.testing.assert_array_equal(line.levels, [0.5])
    np.testing.assert_allclose(gp.predict_proba(path.vertices, POINT, model=model), 0.5, atol=4e-3)


def test_other_inputs_are_at_their_medians(wide: cases.Process, data: cases.Data) -> None:
    point = {"ls": np.array([0.9, 1.6, 1.2])}
    ax = plot_class_map(wide.gp, point, columns=(2, 0), resolution=15, model=wide.model)
    p = wide.gp.predict_proba(grid_of(wide.gp.X.data, (2, 0), 15), point, model=wide.model)
    filled, _ = contours(ax)
    assert (filled.zmin, filled.zmax) == pytest.approx((p.min(), p.max()), abs=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("input 2", "input 0")


@pytest.mark.parametrize("columns", [(0, 1), (1, 0)])
def test_markers_are_the_rows_of_each_kind(
    classification: cases.Process, data: cases.Data, columns: tuple[int, int]
) -> None:
    model, gp = classification
    support = np.isin(np.arange(data.labels.size), gp.support_vectors(POINT, model=model).index)
    ax = plot_class_map(gp, POINT, columns=columns, resolution=10, model=model)
    markers = labelled(c for c in ax.collections if isinstance(c, PathCollection))
    shapes = {}
    for label in (0, 1):
        for kind, mask in (("support vectors", support), ("others", ~support)):
            rows = mask & (data.labels == label)
            assert rows.any()
            drawn = markers.pop(f"label {label}, {kind}")
            np.testing.assert_array_equal(
                np.asarray(drawn.get_offsets()), data.X[rows][:, list(columns)]
            )
            faces = drawn.get_facecolor()
            face = CLASSES[label] if kind == "support vectors" else "white"
            assert [tuple(found) for found in faces] == [to_rgba(face)]
            shapes[label, kind] = len(drawn.get_paths()[0].vertices)
    assert not markers
    assert shapes[0, "others"] == shapes[0, "support vectors"] != shapes[1, "others"]


def test_kinds_without_rows_are_not_in_the_legend(data: cases.Data) -> None:
    ones = cases.classification(data.X, np.ones(data.labels.size, dtype=int))
    ax = plot_class_map(ones.gp, POINT, resolution=10, model=ones.model)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend
    assert all(text.startswith("label 1") for text in legend)
    assert not np.concatenate([path.vertices for path in contours(ax)[1].get_paths()]).size


def test_the_colour_bar_is_labelled(classification: cases.Process) -> None:
    ax = plot_class_map(classification.gp, POINT, resolution=10, model=classification.model)
    bar = contours(ax)[0].colorbar
    assert bar.ax.get_ylabel() == "P(y = 1)"
    np.testing.assert_allclose(bar.get_ticks(), [0.0, 0.25, 0.5, 0.75, 1.0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("input 0", "input 1")


def test_more_probable_is_bluer(classification: cases.Process) -> None:
    ax = plot_class_map(classification.gp, POINT, resolution=10, model=classification.model)
    least, most = contours(ax)[0].get_facecolor()[[0, -1]]
    assert most[2] > most[0]
    assert least[0] > least[2]


def test_the_axes_that_are_passed_are_used(classification: cases.Process) -> None:
    _, (ax, other) = plt.subplots(1, 2)
    with classification.model:
        assert plot_class_map(classification.gp, POINT, resolution=8, ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    assert not other.has_data()


def test_new_axes_are_made(classification: cases.Process) -> None:
    _, old = plt.subplots()
    plot_class_map(classification.gp, POINT, resolution=8, model=classification.model)
    assert len(plt.get_fignums()) == 2
    assert not old.has_data()


def test_a_constant_input_has_a_map(data: cases.Data) -> None:
    X = np.c_[data.X, np.full(data.labels.size, 2.0)]
    with pm.Model() as model:
        cov = pm.gp.cov.ExpQuad(3, ls=pm.LogNormal("ls", 0.0, 0.5, shape=2), active_dims=[0, 1])
        gp = bsvm.gp.BTSVC(cov_func=2.0 * cov)
        gp.marginal_likelihood("y", X=X, y=data.labels)
    ax = plot_class_map(gp, POINT, columns=(0, 2), resolution=15, model=model)
    corners = np.concatenate([path.vertices for path in contours(ax)[0].get_paths()])
    assert np.all(np.ptp(corners, axis=0) > 0.0)


def test_one_input_is_not_enough(refuses: Refuses) -> None:
    process = on_a_line(bsvm.losses.Trigonometric(1.0))
    with refuses(ValueError, "A map needs two inputs", "1 column", "predict_proba"):
        plot_class_map(process.gp, {"ls": 1.0}, model=process.model)


def test_a_regression_has_no_map(regression: cases.Process, refuses: Refuses) -> None:
    with refuses(ValueError, "BSVR has no classes"):
        plot_class_map(regression.gp, cases.POINT, model=regression.model)


@pytest.mark.parametrize("columns", [(0, 2), (7, 1), (1, 1)])
def test_columns_that_are_no_two_inputs_are_refused(
    classification: cases.Process, refuses: Refuses, columns: tuple[int, int]
) -> None:
    with refuses(ValueError, "columns", str(columns[0])):
        plot_class_map(
            classification.gp, POINT, columns=columns, resolution=8, model=classification.model
        )
