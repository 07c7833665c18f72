"""Inputs whose columns have names are matched by name, or refused."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_bsvm as bsvm
from tests.refusal import refused

POINT = {"ls": [0.7, 2.5]}  # not the same in both columns, so that their order matters
RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=20)
FRAME = pd.DataFrame(X, columns=["width", "height"])
SWAPPED = FRAME[["height", "width"]]
LABELLED = xr.DataArray(X, dims=("row", "column"), coords={"column": ["width", "height"]})


def model_of(X, y=Y, kind=bsvm.gp.BSVR, **changes):
    with pm.Model(coords={"column": ["width", "height"]}) as model:
        ls = pm.InverseGamma("ls", 3.0, 3.0, shape=2)
        gp = kind(cov_func=pm.gp.cov.ExpQuad(2, ls=ls))
        X = pm.Data("X", X, dims=("row", "column")) if changes.pop("container", False) else X
        gp.marginal_likelihood("y", X=X, y=y, C=4.0, epsilon=0.1, **changes)
    return model, gp


@pytest.fixture(scope="module")
def expected():
    model, gp = model_of(X)
    return gp.predict(X[:5], POINT, diag=True, model=model)


@pytest.mark.parametrize(
    "train", [FRAME, LABELLED, "container"], ids=["frame", "xarray", "container"]
)
def test_columns_in_another_order(train, expected):
    by_name = {"X": X, "container": True} if isinstance(train, str) else {"X": train}
    model, gp = model_of(**by_name)
    for new in (FRAME[:5], SWAPPED[:5], X[:5], LABELLED[:5], LABELLED[:5, ::-1]):
        found = gp.predict(new, POINT, diag=True, model=model)
        np.testing.assert_array_equal(found, expected)  # the same numbers, the same arithmetic
    predictive = gp.predictive(SWAPPED[:5], POINT, model=model)
    np.testing.assert_array_equal(predictive.latent_mean, expected[0])
    latent = bsvm.latent_model(model, new={"y_new": SWAPPED[:5]})
    with model:
        f = gp.conditional("f", SWAPPED[:5])
    known = {model["ls"]: POINT["ls"]}
    mean, first = f.owner.inputs[2].eval(known, mode="FAST_COMPILE"), latent["f_y_new"]
    np.testing.assert_allclose(mean, expected[0], rtol=1e-9, atol=1e-12)
    at = dict.fromkeys(latent.free_RVs, None) | {latent["ls"]: POINT["ls"]}
    at[latent["f_y_rotated_"]] = np.linspace(-1.0, 1.0, 20)
    by_position = bsvm.latent_model(model_of(X)[0], new={"y_new": X[:5]})
    other = {by_position[v.name]: x for v, x in at.items() if x is not None}
    at = {v: x for v, x in at.items() if x is not None}
    mean, known = (
        x.owner.inputs[2].eval(values, mode="FAST_COMPILE")
        for x, values in ((first, at), (by_position["f_y_new"], other))
    )
    np.testing.assert_allclose(mean, known, rtol=1e-9, atol=1e-12)


def test_names_of_given_data_count(expected):
    model, gp = model_of(RNG.normal(size=(20, 2)))
    given = {"X": FRAME, "y": Y, "C": 4.0, "epsilon": 0.1}
    found = gp.predict(SWAPPED[:5], POINT, diag=True, given=given, model=model)
    np.testing.assert_array_equal(found, expected)


def test_inducing_points_and_plots():
    model, gp = model_of(FRAME, kind=bsvm.gp.SparseBSVR, Xu=SWAPPED[::4])
    _, known = model_of(X, kind=bsvm.gp.SparseBSVR, Xu=X[::4])
    np.testing.assert_array_equal(gp.Xu.eval(), known.Xu.eval())
    model, gp = model_of(FRAME)
    axes = bsvm.reporting.plot_regression_band(gp, POINT, SWAPPED, column=1, model=model)
    (line, *_) = (line for line in axes.lines if line.get_label() == "mean")
    np.testing.assert_array_equal(line.get_xdata(), np.sort(X[:, 1]))


WRONG = {
    "another": (FRAME.rename(columns={"height": "depth"}), "lacks the columns 'height', and has"),
    "missing": (FRAME[["width"]], "Xnew lacks the columns 'height'. Pass the columns of X"),
    "more": (FRAME.assign(depth=0.0), "Xnew has 'depth', which X has not. Pass the columns"),
}


@pytest.mark.parametrize("new", WRONG)
def test_other_names_are_refused(new):
    model, gp = model_of(FRAME)
    with refused(ValueError, WRONG[new][1], "'width', 'height'"):
        gp.predict(WRONG[new][0], POINT, model=model)
    with model, refused(ValueError, WRONG[new][1]):
        gp.conditional("f", WRONG[new][0])


def test_names_that_are_not_unique():
    twice = pd.DataFrame(X[:, [0, 1, 0]], columns=["a", "b", "a"])
    model, gp = model_of(twice)
    assert len(gp.predict(twice, {"ls": POINT["ls"]}, diag=True, model=model)[0]) == 20
    with refused(ValueError, "The column 'a' is there more than once", "a name of its own"):
        gp.predict(twice[["b", "a"]], POINT, model=model)


def test_names_that_are_no_strings_go_by_position(expected):
    model, gp = model_of(pd.DataFrame(X, columns=[1, 0]))
    found = gp.predict(pd.DataFrame(X[:5]), POINT, diag=True, model=model)
    np.testing.assert_array_equal(found, expected)


def test_rows_in_another_order_are_refused():
    series = pd.Series(Y, index=FRAME.index)
    for backwards in (series[::-1], xr.DataArray(Y, {"row": FRAME.index}, ["row"])[::-1]):
        with refused(ValueError, "row 0 is 0 in X and 19 in y", "Pass y.loc[X.index]"):
            model_of(FRAME, backwards)
    model_of(FRAME, series)
    model_of(FRAME, series.set_axis(range(100, 120)))  # other labels say nothing of the order
    model_of(X, series[::-1])
