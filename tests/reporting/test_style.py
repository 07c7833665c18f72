"""One colour for a class or a kind of row, and legends that cover no data."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from pymc_bsvm.reporting import plot_class_map, plot_regression_band
from pymc_bsvm.reporting.style import (
    BLUE,
    BOUND,
    CLASSES,
    FREE,
    GREEN,
    MARKERS,
    ORANGE,
    PROBABILITY,
    PURPLE,
    draw_classes,
    legend_below,
)
from tests.gp import cases
from tests.reporting.conftest import POINT

ROOT = Path(__file__).resolve().parents[2]


def test_the_map_ends_at_the_colours_of_the_classes() -> None:
    assert PROBABILITY(1.0) == pytest.approx(to_rgba(CLASSES[1]))
    assert PROBABILITY(0.0) == pytest.approx(to_rgba(CLASSES[0]))
    # 256 colours have none in the very middle
    assert PROBABILITY(0.5) == pytest.approx((1.0, 1.0, 1.0, 1.0), abs=1.0 / 128.0)


def test_kinds_have_colours_of_their_own() -> None:
    assert len({*CLASSES.values(), FREE, BOUND}) == 4
    assert len(set(MARKERS.values())) == 2


def test_rows_have_the_look_of_their_class() -> None:
    rng = np.random.default_rng(0)
    X, ones = rng.normal(size=(20, 2)), np.arange(20) % 2 == 0
    support = np.arange(20) < 8
    _, ax = plt.subplots()
    draw_classes(ax, X, ones, support)
    drawn = {str(c.get_label()): c for c in ax.collections}
    assert len(drawn) == 4
    for label, colour in CLASSES.items():
        inner, outer = drawn[f"label {label}, support vectors"], drawn[f"label {label}, others"]
        rows = ones == bool(label)
        np.testing.assert_array_equal(inner.get_offsets(), X[rows & support])
        np.testing.assert_array_equal(outer.get_offsets(), X[rows & ~support])
        assert tuple(inner.get_facecolor()[0]) == to_rgba(colour)
        assert tuple(outer.get_facecolor()[0]) == to_rgba("white")
        assert tuple(outer.get_edgecolor()[0]) == to_rgba(colour)


def below(ax: Axes) -> None:
    """Assert that the legend is under the axes and their label, and inside the figure."""
    figure = ax.figure
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.y1 < ax.xaxis.get_tightbbox().y0
    assert legend.y0 >= 0.0
    assert legend.x0 >= 0.0
    assert legend.x1 <= figure.bbox.x1


@pytest.mark.parametrize("size", [7.0, 10.0, 14.0])
@pytest.mark.parametrize("height", [3.0, 6.0])
def test_a_legend_is_below_the_axes(size: float, height: float) -> None:
    with plt.rc_context({"font.size": size}):
        _, ax = plt.subplots(figsize=(6.0, height), layout="constrained")
        ax.plot([0, 1], [0, 1], label="a line")
        ax.set(xlabel="input")
        legend_below(ax)
        below(ax)


def test_legends_of_plots_cover_no_data(
    regression: cases.Process, classification: cases.Process
) -> None:
    below(plot_regression_band(regression.gp, POINT, model=regression.model))
    point = {"ls": np.array([0.9, 1.6])}
    below(plot_class_map(classification.gp, point, resolution=8, model=classification.model))


def test_colours_are_stated_once() -> None:
    colours = (BLUE, ORANGE, GREEN, PURPLE)
    sources = [
        path
        for folder in ("pymc_bsvm", "docs/figures", "notebooks", "demo", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.name != "style.py"
    ]
    assert len(sources) > 100
    again = {
        str(path.relative_to(ROOT))
        for path in sources
        if any(colour.lower() in path.read_text(encoding="utf-8").lower() for colour in colours)
    }
    assert not again


def dots_per_inch(png: bytes) -> float:
    """Return the resolution that a PNG states, which is in dots per metre."""
    at = png.find(b"pHYs")
    return int.from_bytes(png[at + 4 : at + 8], "big") * 0.0254 if at > 0 else 0.0


def test_figures_have_a_hundred_dots_per_inch() -> None:
    figures = sorted((ROOT / "docs" / "figures").glob("*.png"))
    coarse = {p.name for p in figures if dots_per_inch(p.read_bytes()) < 99.5}
    assert not coarse  # the PNG rounds to dots per metre
    for path in sorted((ROOT / "notebooks").glob("*.py")):
        stated = re.findall(r'"figure.dpi": (\d+)', path.read_text(encoding="utf-8"))
        assert [int(dpi) >= 100 for dpi in stated] == [True], path.name
