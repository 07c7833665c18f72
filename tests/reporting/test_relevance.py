"""Bars are inverse length-scales, and their error bars quantiles of the inverse draws."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.axes import Axes

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from pymc_bsvm.inference import EvidenceFit
from pymc_bsvm.reporting import plot_relevance
from tests.gp import cases
from tests.reporting.conftest import Refuses


def bars(ax: Axes) -> dict[str, float]:
    """Return the lengths of the bars by their labels, from bottom to top."""
    np.testing.assert_array_equal(ax.get_yticks(), np.arange(len(ax.patches)))
    for k, bar in enumerate(ax.patches):
        assert bar.get_x() == 0.0
        assert bar.get_y() + bar.get_height() / 2.0 == pytest.approx(k)
    names = [label.get_text() for label in ax.get_yticklabels()]
    return dict(zip(names, [bar.get_width() for bar in ax.patches], strict=True))


def whiskers(ax: Axes) -> np.ndarray:
    """Return the ends of the error bars, from bottom to top."""
    for k, line in enumerate(ax.lines):
        np.testing.assert_array_equal(line.get_ydata(), [k, k])
    return np.array([line.get_xdata() for line in ax.lines])


def posterior(**arrays: np.ndarray) -> xr.DataTree:
    """Return draws whose last axis has names, where there is one."""
    names = {"input": ["a", "b", "c"]}
    variables = {name: (("chain", "draw", "input")[: x.ndim], x) for name, x in arrays.items()}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables, coords=names)})


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array([2.0, 0.5, 8.0]) * np.exp(0.3 * rng.normal(size=(2, 100, 3)))


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(40, 2)), columns=["noise", "signal"])


@pytest.fixture(scope="module")
def estimator(X: pd.DataFrame) -> BayesianSVR:
    return BayesianSVR(ard=True).fit(X, np.sin(X["signal"]))


# ---- a fit --------------------------------------------------------------------------------------


def test_bars_of_a_fit_are_inverse_length_scales(bare: EvidenceFit) -> None:
    ax = plot_relevance(bare)
    ls = bare.point["ls"]
    assert ls[0] < ls[1]
    assert bars(ax) == pytest.approx({"right": 1.0 / ls[1], "left": 1.0 / ls[0]}, rel=1e-12)
    assert list(bars(ax)) == ["right", "left"]
    assert ax.get_xlabel() == "relevance, 1 / ls"


def test_the_order_is_that_of_the_values(bare: EvidenceFit) -> None:
    swapped = replace(bare, point={**bare.point, "ls": np.array([4.0, 0.5])})
    assert bars(plot_relevance(swapped)) == {"left": 0.25, "right": 2.0}
    assert list(bars(plot_relevance(swapped))) == ["left", "right"]


def test_bars_with_error_bars_are_medians(fit: EvidenceFit) -> None:
    """Not the mode, which may be outside of its error bar."""
    middle = 1.0 / np.median(fit.draws(1000, 0)["ls"], axis=0)
    expected = {"right": middle[1], "left": middle[0]}
    assert bars(plot_relevance(fit)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("count", [1000, 200])
def test_error_bars_of_a_fit_are_those_of_its_gaussian(fit: EvidenceFit, count: int) -> None:
    ends = whiskers(plot_relevance(fit, draws=count))
    inverse = 1.0 / fit.draws(count, 0)["ls"][:, ::-1]
    np.testing.assert_allclose(ends, np.quantile(inverse, [0.05, 0.95], axis=0).T, rtol=1e-12)
    place = [fit.hessian.names.index(f"ls_log__[{k}]") for k in (1, 0)]
    mean, sd = fit.hessian.mean[place], np.sqrt(np.diag(fit.hessian.covariance)[place])
    exact = np.exp(-mean[:, None] + 1.6449 * sd[:, None] * [-1.0, 1.0])
    np.testing.assert_allclose(np.log(ends), np.log(exact), atol=0.5 * sd.max())


def test_a_fit_without_hessian_has_no_error_bars(bare: EvidenceFit) -> None:
    ax = plot_relevance(bare)
    assert len(ax.patches) == 2
    assert not ax.lines


def test_inputs_without_names_have_numbers(bare: EvidenceFit, regression: cases.Process) -> None:
    ax = plot_relevance(replace(bare, model=regression.model))
    assert list(bars(ax)) == ["1", "0"]


# ---- draws --------------------------------------------------------------------------------------


def test_bars_of_draws_are_inverse_medians(draws: np.ndarray) -> None:
    ax = plot_relevance(posterior(ls=draws))
    flat = draws.reshape(-1, 3)
    middle = 1.0 / np.median(flat, axis=0)
    assert list(bars(ax)) == ["c", "a", "b"]
    assert bars(ax) == pytest.approx(dict(zip("abc", middle, strict=True)), rel=1e-12)
    ends = np.quantile(1.0 / flat, [0.05, 0.95], axis=0).T
    np.testing.assert_allclose(whiskers(ax), ends[[2, 0, 1]], rtol=1e-12)


def test_draws_of_another_name(draws: np.ndarray) -> None:
    ax = plot_relevance(posterior(scale=draws, ls=1.0 / draws), "scale")
    assert list(bars(ax)) == ["c", "a", "b"]
    assert ax.get_xlabel() == "relevance, 1 / scale"


def test_draws_without_coordinates_have_numbers(draws: np.ndarray) -> None:
    dataset = xr.Dataset({"ls": (("chain", "draw", "k"), draws)})
    ax = plot_relevance(xr.DataTree.from_dict({"posterior": dataset}))
    assert list(bars(ax)) == ["2", "0", "1"]


def test_a_fit_and_its_draws_agree(fit: EvidenceFit) -> None:
    ends = [whiskers(plot_relevance(x, draws=100)) for x in (fit, fit.to_datatree(100, 0))]
    np.testing.assert_allclose(*ends, rtol=1e-12)


# ---- estimators ---------------------------------------------------------------------------------


def test_bars_of_an_estimator_are_its_relevances(estimator: BayesianSVR) -> None:
    ax = plot_relevance(estimator)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, np.sort(estimator.relevance_), rtol=1e-12)
    named = dict(zip(["noise", "signal"], estimator.relevance_, strict=True))
    assert bars(ax) == pytest.approx(named, rel=1e-12)
    assert list(bars(ax)) == ["noise", "signal"]
    assert not ax.lines


def test_relevances_of_an_estimator_are_of_standardised_columns(
    estimator: BayesianSVR, X: pd.DataFrame
) -> None:
    expected = X.std(ddof=0) / estimator.hyperparameters_[0]["ls"]
    assert bars(plot_relevance(estimator)) == pytest.approx(expected.to_dict(), rel=1e-9)


def test_the_axis_of_an_estimator_tells_the_units(estimator: BayesianSVR) -> None:
    label = plot_relevance(estimator).get_xlabel()
    assert "relevance" in label
    assert label != "relevance, 1 / ls"  # which is what a fit shows, in units of the data


def test_columns_without_names_have_numbers(X: pd.DataFrame) -> None:
    model = BayesianSVR(ard=True).fit(X.to_numpy(), np.sin(X["signal"].to_numpy()))
    assert list(bars(plot_relevance(model))) == ["0", "1"]


def test_bars_of_a_classifier_of_three_classes(X: pd.DataFrame) -> None:
    model = BayesianSVC(ard=True).fit(X, np.digitize(X["signal"], [-0.5, 0.5]))
    ax = plot_relevance(model)
    assert list(bars(ax)) == ["noise", "signal"]
    np.testing.assert_allclose(list(bars(ax).values()), model.relevance_, rtol=1e-12)


def test_a_constant_column_is_the_least_relevant(X: pd.DataFrame) -> None:
    model = BayesianSVR(ard=True).fit(X.assign(flat=1.0), np.sin(X["signal"]))
    assert list(bars(plot_relevance(model)))[-1] == "signal"


def test_estimators_without_relevances_are_refused(refuses: Refuses, X: pd.DataFrame) -> None:
    fitted = BayesianSVR(tol=1.0).fit(X, X["noise"] + np.sin(X["signal"]))
    for model in (BayesianSVR(), fitted):
        with refuses(ValueError, "BayesianSVR has no relevance_", "ard=True"):
            plot_relevance(model)


# ---- labels, axes and errors --------------------------------------------------------------------


def test_labels_follow_their_bars(
    fit: EvidenceFit, estimator: BayesianSVR, draws: np.ndarray
) -> None:
    assert list(bars(plot_relevance(fit, labels=["one", "two"]))) == ["two", "one"]
    assert list(bars(plot_relevance(estimator, labels=["one", "two"]))) == ["one", "two"]
    assert list(bars(plot_relevance(posterior(ls=draws), labels=[1, 2, 3]))) == ["3", "1", "2"]


def test_the_axes_that_are_passed_are_used(bare: EvidenceFit) -> None:
    _, (ax, other) = plt.subplots(1, 2)
    assert plot_relevance(bare, ax=ax) is ax
    assert len(plt.get_fignums()) == 1
    assert not other.has_data()


def test_new_axes_are_made(bare: EvidenceFit) -> None:
    _, old = plt.subplots()
    plot_relevance(bare)
    assert len(plt.get_fignums()) == 2
    assert not old.has_data()


def test_unknown_names_are_refused(bare: EvidenceFit, draws: np.ndarray, refuses: Refuses) -> None:
    with refuses(ValueError, "'scale' is not in the fit", "ls, C, width"):
        plot_relevance(bare, "scale")
    with refuses(ValueError, "'scale' is not in the posterior", "Use one of ls"):
        plot_relevance(posterior(ls=draws), "scale")


def test_one_length_scale_is_no_vector(
    fit: EvidenceFit, draws: np.ndarray, refuses: Refuses
) -> None:
    for source in (fit, posterior(C=draws[..., 0])):
        with refuses(ValueError, "C must be a vector of length-scales", "0 dimensions"):
            plot_relevance(source, "C")


@pytest.mark.parametrize("labels", [["a"], ["a", "b", "c"], []])
def test_other_numbers_of_labels_are_refused(
    bare: EvidenceFit, refuses: Refuses, labels: list[str]
) -> None:
    with refuses(ValueError, f"number of labels is {len(labels)}"):
        plot_relevance(bare, labels=labels)
