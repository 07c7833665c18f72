"""Panels show densities of draws and lines at modes, for what all routes have in common."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from arviz_base import from_dict
from arviz_stats.base.array import array_stats
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from scipy import stats

from pymc_bsvm.inference import EvidenceFit
from pymc_bsvm.reporting import plot_marginals
from tests.reporting.conftest import Refuses

PANELS = ["ls[0]", "ls[1]", "C", "width"]


def densities(ax: Axes) -> list[Line2D]:
    return [line for line in ax.lines if line.get_linestyle() == "-"]


def modes(ax: Axes) -> list[Line2D]:
    return [line for line in ax.lines if line.get_linestyle() == "--"]


def names(axes: np.ndarray) -> list[str]:
    return [ax.get_xlabel() for ax in axes]


@pytest.fixture(scope="module")
def normal() -> xr.DataTree:
    """Return draws from Gaussians: C around 3, ls around 1 and 2, and many latent values."""
    rng = np.random.default_rng(0)
    arrays = {
        "C": 3.0 + 0.2 * rng.normal(size=(2, 2000)),
        "ls": np.array([1.0, 2.0]) + 0.1 * rng.normal(size=(2, 2000, 2)),
        "f": rng.normal(size=(2, 2000, 21)),
    }
    return from_dict({"posterior": arrays})


def test_densities_of_draws_are_near_those_drawn_from(normal: xr.DataTree) -> None:
    axes = plot_marginals({"NUTS": normal})
    assert names(axes) == ["C", "ls[0]", "ls[1]"]
    for ax, mean, sd in zip(axes, (3.0, 1.0, 2.0), (0.2, 0.1, 0.1), strict=True):
        (line,) = ax.lines
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.02)
        np.testing.assert_allclose(y, stats.norm.pdf(x, mean, sd), atol=0.1 * y.max())


def test_densities_of_draws_are_those_of_arviz(normal: xr.DataTree) -> None:
    axes = plot_marginals({"NUTS": normal})
    dataset = normal["posterior"].dataset
    for ax, x in zip(
        axes, (dataset["C"], *dataset["ls"].transpose(..., "chain", "draw")), strict=True
    ):
        grid, density, _ = array_stats.kde(x.values.ravel())
        np.testing.assert_allclose(ax.lines[0].get_xdata(), grid, rtol=1e-12)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), density, rtol=1e-9, atol=1e-12)


def test_densities_of_a_fit_are_those_of_its_gaussian(fit: EvidenceFit) -> None:
    axes = plot_marginals({"MAP": fit})
    assert names(axes) == PANELS
    sd = np.sqrt(np.diag(fit.hessian.covariance))
    for ax, name, factor in zip(
        axes,
        ("ls_log__[0]", "ls_log__[1]", "C_log__", "C_log__"),
        (1.0, 1.0, 1.0, 2.0),
        strict=True,
    ):
        k = fit.hessian.names.index(name)
        (line,) = densities(ax)
        x, y = line.get_data()
        exact = stats.lognorm.pdf(x, sd[k], scale=factor * np.exp(fit.hessian.mean[k]))
        np.testing.assert_allclose(y, exact, atol=0.12 * exact.max())


def test_the_number_of_draws_is_what_was_asked_for(fit: EvidenceFit) -> None:
    axes = plot_marginals({"MAP": fit}, ["C"], draws=150)
    grid, density, _ = array_stats.kde(fit.draws(150, 0)["C"])
    np.testing.assert_allclose(axes[0].lines[0].get_data(), (grid, density), rtol=1e-9, atol=1e-12)


def test_lines_are_at_the_modes(fit: EvidenceFit, bare: EvidenceFit) -> None:
    expected = [*fit.point["ls"], float(fit.point["C"]), 2.0 * float(fit.point["C"])]
    for route, count in ((fit, 1), (bare, 0)):
        for ax, mode in zip(plot_marginals({"MAP": route}), expected, strict=True):
            (line,) = modes(ax)
            np.testing.assert_allclose(line.get_xdata(), mode, rtol=1e-12)
            assert len(densities(ax)) == count


def test_draws_have_no_mode(normal: xr.DataTree) -> None:
    assert not any(modes(ax) for ax in plot_marginals({"NUTS": normal}))


def test_routes_have_colours_and_one_entry_in_the_legend(
    fit: EvidenceFit, bare: EvidenceFit, normal: xr.DataTree
) -> None:
    axes = plot_marginals({"one": fit, "two": normal, "three": bare})
    assert names(axes) == PANELS[:3]
    legend = axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two", "three"]
    assert all(ax.get_legend() is None for ax in axes[1:])
    for ax in axes:
        colors = [to_rgba(line.get_color()) for line in ax.lines]
        assert colors == [to_rgba(c) for c in ("C0", "C0", "C1", "C2")]
        assert len(ax.get_yticks()) == 0


def test_many_latent_values_are_left_out(normal: xr.DataTree) -> None:
    assert not any("f" in name for name in names(plot_marginals({"NUTS": normal})))


def test_a_vector_of_twenty_is_not_too_many() -> None:
    ls = np.random.default_rng(2).lognormal(size=(1, 50, 20))
    axes = plot_marginals({"NUTS": from_dict({"posterior": {"ls": ls}})})
    assert names(axes) == [f"ls[{k}]" for k in range(20)]


@pytest.mark.parametrize(
    ("var_names", "expected"),
    [(["C"], ["C"]), (["ls"], PANELS[:2]), (["ls", "width"], [*PANELS[:2], "width"])],
)
def test_variables_can_be_chosen(
    bare: EvidenceFit, var_names: list[str], expected: list[str]
) -> None:
    assert names(plot_marginals({"MAP": bare}, var_names)) == expected


def test_variables_come_in_the_order_asked_for(bare: EvidenceFit) -> None:
    assert names(plot_marginals({"MAP": bare}, ["C", "ls"])) == ["C", "ls[0]", "ls[1]"]


def test_one_variable_may_be_a_string(bare: EvidenceFit) -> None:
    assert names(plot_marginals({"MAP": bare}, "C")) == ["C"]


def test_a_string_is_one_name(bare: EvidenceFit, refuses: Refuses) -> None:
    with refuses(ValueError, "Cls"):
        plot_marginals({"MAP": bare}, "Cls")


def test_unknown_variables_are_refused(bare: EvidenceFit, refuses: Refuses) -> None:
    with refuses(ValueError, "'sigma'"):
        plot_marginals({"MAP": bare}, ["C", "sigma"])


def test_one_draw_is_a_line(bare: EvidenceFit) -> None:
    axes = plot_marginals({"one draw": bare.to_datatree()})
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["one draw"]
    np.testing.assert_allclose(axes[2].lines[0].get_xdata(), float(bare.point["C"]))


def test_the_axes_that_are_passed_are_used(bare: EvidenceFit) -> None:
    _, given = plt.subplots(1, 4)
    axes = plot_marginals({"MAP": bare}, ax=given)
    assert all(new is old for new, old in zip(axes, given, strict=True))
    assert len(plt.get_fignums()) == 1
    _, one = plt.subplots()
    assert plot_marginals({"MAP": bare}, ["C"], ax=one)[0] is one


def test_new_axes_are_made(bare: EvidenceFit) -> None:
    _, old = plt.subplots()
    axes = plot_marginals({"MAP": bare})
    assert axes.shape == (4,)
    assert len(plt.get_fignums()) == 2
    assert not old.has_data()
    assert list(axes[0].figure.axes) == list(axes)


def test_no_routes_are_refused(refuses: Refuses) -> None:
    with refuses(ValueError, "no routes to plot"):
        plot_marginals({})


def test_routes_with_nothing_in_common_are_refused(bare: EvidenceFit, refuses: Refuses) -> None:
    other = from_dict({"posterior": {"sigma": np.arange(20.0).reshape(2, 10)}})
    with refuses(ValueError, "no variable in common"):
        plot_marginals({"MAP": bare, "NUTS": other})
    with refuses(ValueError, "'sigma'"):
        plot_marginals({"MAP": bare}, ["sigma"])


@pytest.mark.parametrize("count", [1, 3])
def test_other_numbers_of_axes_are_refused(bare: EvidenceFit, refuses: Refuses, count: int) -> None:
    _, given = plt.subplots(1, count)
    with refuses(ValueError, f"number of axes is {count}"):
        plot_marginals({"MAP": bare}, ax=given)
