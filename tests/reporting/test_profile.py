"""A profile is the evidence at points that differ from the fit in one number."""

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.inference import EvidenceFit
from pymc_bsvm.reporting import plot_evidence_profile
from tests.gp import cases
from tests.reporting.conftest import Refuses, labelled


def twin(ax: Axes) -> Axes:
    (other,) = (a for a in ax.figure.axes if a is not ax and a.bbox.bounds == ax.bbox.bounds)
    return other


def moved(fit: EvidenceFit, name: str, index: Any, value: float) -> dict[str, Any]:
    array = np.array(fit.point[name])
    array[index] = value
    return {**fit.point, name: array}


def in_numpy(point: dict[str, Any], curvature: Any) -> float:
    """Return the log evidence of the model of the fit."""
    data = cases.plane(25)
    K = cases.ard(data.X, data.X, point["ls"])
    loss = losses.SILF(float(point["C"]), 0.2, 0.3)
    return bsvm.laplace_evidence(K, data.y, loss, curvature).log_evidence


@pytest.mark.parametrize(("name", "index"), [("C", ()), ("ls", (0,)), ("ls", (1,))])
def test_lines_are_the_evidence_at_moved_points(
    fit: EvidenceFit, process: cases.Process, name: str, index: tuple[int, ...]
) -> None:
    ax = plot_evidence_profile(fit, name, index=index, span=0.7, points=9)
    values = float(fit.point[name][index]) * np.exp(0.7 * np.linspace(-1.0, 1.0, 9))
    points = [moved(fit, name, index, value) for value in values]
    found = [process.gp.evidence(point, model=process.model) for point in points]
    lines = labelled(ax.lines)
    for line in (lines["laplace (smooth)"], lines["laplace (exact)"]):
        np.testing.assert_allclose(line.get_xdata(), values, rtol=1e-12)
    smooth, exact = (lines[f"laplace ({k})"].get_ydata() for k in ("smooth", "exact"))
    np.testing.assert_allclose(smooth, [e.log_evidence for e in found], rtol=1e-9)
    np.testing.assert_allclose(smooth, [in_numpy(p, "smooth") for p in points], rtol=1e-6)
    np.testing.assert_allclose(exact, [in_numpy(p, "exact") for p in points], rtol=1e-6)
    (counts,) = twin(ax).lines
    np.testing.assert_allclose(counts.get_xdata(), values, rtol=1e-12)
    np.testing.assert_array_equal(
        counts.get_ydata(),
        [process.gp.support_vectors(p, model=process.model).index.size for p in points],
    )


def test_the_profile_passes_through_the_fit(fit: EvidenceFit) -> None:
    ax = plot_evidence_profile(fit, "C", points=7)
    smooth = labelled(ax.lines)["laplace (smooth)"]
    assert smooth.get_xdata()[3] == pytest.approx(float(fit.point["C"]), rel=1e-12)
    assert smooth.get_ydata()[3] == pytest.approx(fit.log_evidence, abs=1e-6)
    assert twin(ax).lines[0].get_ydata()[3] == fit.solution.support.sum()
    (center,) = (line for line in ax.lines if line.get_color() == "0.7")
    np.testing.assert_allclose(center.get_xdata(), float(fit.point["C"]))


def test_axes_and_legend_are_labelled(fit: EvidenceFit) -> None:
    ax = plot_evidence_profile(fit, "ls", index=(1,), points=3)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ls[1]", "log evidence (nats)")
    assert ax.get_xscale() == "log"
    assert twin(ax).get_ylabel() == "support vectors (dotted)"
    assert twin(ax).lines[0].get_linestyle() == ":"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["laplace (exact)", "laplace (smooth)"]
    assert {k: to_rgba(v.get_color()) for k, v in labelled(ax.lines).items()} == {
        "laplace (exact)": to_rgba("C1"),
        "laplace (smooth)": to_rgba("C0"),
    }
    assert plot_evidence_profile(fit, "C", points=3).get_xlabel() == "C"


def test_the_exact_evidence_can_be_left_out(fit: EvidenceFit) -> None:
    ax = plot_evidence_profile(fit, "C", points=5, exact=False)
    assert list(labelled(ax.lines)) == ["laplace (smooth)"]
    counts = twin(ax).lines[0].get_ydata()
    both = twin(plot_evidence_profile(fit, "C", points=5)).lines[0].get_ydata()
    np.testing.assert_array_equal(counts, both)


def test_by_default_there_are_61_points_over_two_units_of_the_logarithm(fit: EvidenceFit) -> None:
    x = labelled(plot_evidence_profile(fit, "C", exact=False).lines)["laplace (smooth)"].get_xdata()
    expected = np.log(float(fit.point["C"])) + np.linspace(-1.0, 1.0, 61)
    np.testing.assert_allclose(np.log(x), expected, atol=1e-12)


def test_several_variables_are_added_up(fit: EvidenceFit) -> None:
    data = cases.plane(20, seed=3)
    with pm.Model() as model:
        C = pm.LogNormal("C", 1.0, 0.5)
        for name, n in (("a", 20), ("b", 12)):
            gp = bsvm.gp.BSVR(cov_func=1.4 * pm.gp.cov.ExpQuad(2, ls=1.1))
            gp.marginal_likelihood(name, X=data.X[:n], y=data.y[:n], C=C, epsilon=0.2)
    point = {"C": np.array(3.0)}
    ax = plot_evidence_profile(replace(fit, model=model, point=point), "C", points=5)
    expected, counts = np.zeros(5), np.zeros(5)
    for n in (20, 12):
        K = 1.4 * cases.expquad(data.X[:n], data.X[:n], 1.1)
        for k, c in enumerate(3.0 * np.exp(np.linspace(-1.0, 1.0, 5))):
            found = bsvm.laplace_evidence(K, data.y[:n], losses.SILF(c, 0.2, 0.3), "smooth")
            expected[k] += found.log_evidence
            counts[k] += found.solution.support.sum()
    np.testing.assert_allclose(
        labelled(ax.lines)["laplace (smooth)"].get_ydata(), expected, rtol=1e-6
    )
    np.testing.assert_array_equal(twin(ax).lines[0].get_ydata(), counts)


def test_expectation_propagation_beside(fit: EvidenceFit) -> None:
    data = cases.plane(25)
    ax = plot_evidence_profile(fit, "C", points=3, beside=["ep"])
    lines = labelled(ax.lines)
    assert sorted(lines) == ["ep", "laplace (exact)", "laplace (smooth)"]
    K, C = cases.ard(data.X, data.X, fit.point["ls"]), float(fit.point["C"])
    expected = [
        bsvm.ep_evidence(K, data.y, losses.SILF(c, 0.2, 0.3)).log_evidence
        for c in C * np.exp([-1.0, 0.0, 1.0])
    ]
    np.testing.assert_allclose(lines["ep"].get_ydata(), expected, atol=1e-6)
    assert lines["ep"].get_color() == "C2"


def test_the_fit_stays_as_it_is(fit: EvidenceFit) -> None:
    before = {name: np.array(value) for name, value in fit.point.items()}
    plot_evidence_profile(fit, "ls", index=(0,), points=3)
    for name, value in before.items():
        np.testing.assert_array_equal(fit.point[name], value)


def test_the_axes_that_are_passed_are_used(fit: EvidenceFit) -> None:
    _, (ax, other) = plt.subplots(1, 2)
    assert plot_evidence_profile(fit, "C", points=3, ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    assert not other.has_data()


def test_new_axes_are_made(fit: EvidenceFit) -> None:
    _, old = plt.subplots()
    plot_evidence_profile(fit, "C", points=3)
    assert len(plt.get_fignums()) == 2
    assert not old.has_data()


@pytest.mark.parametrize("name", ["width", "y", "sigma"])
def test_only_free_variables_have_profiles(fit: EvidenceFit, refuses: Refuses, name: str) -> None:
    with refuses(ValueError, f"{name!r} is no free variable", "ls, C"):
        plot_evidence_profile(fit, name)


@pytest.mark.parametrize("value", [0.0, -1.5])
def test_only_positive_values_have_profiles(
    fit: EvidenceFit, refuses: Refuses, value: float
) -> None:
    at = replace(fit, point={**fit.point, "C": np.array(value)})
    with refuses(ValueError, f"C is {value:g} at the fit", "positive"):
        plot_evidence_profile(at, "C")


@pytest.mark.parametrize("index", [(), (2,), (0, 0)])
def test_an_index_that_is_no_element_is_refused(
    fit: EvidenceFit, refuses: Refuses, index: tuple[int, ...]
) -> None:
    with refuses(ValueError, "index", str(index)):
        plot_evidence_profile(fit, "ls", index=index, points=3)
