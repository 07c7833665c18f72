"""Predictions with the labels of their rows; arrays stay arrays."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pymc_bsvm as bsvm
from pymc_bsvm.gp.labelled import Rows
from tests.refusal import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=20)
NAMES = ["width", "height"]
DAYS = pd.date_range("2026-01-01", periods=4, name="day")
FRAME = pd.DataFrame(X[:4], index=DAYS, columns=NAMES)
LABELLED = xr.DataArray(X[:4], {"site": list("abcd"), "column": NAMES}, ["site", "column"])
POINT = {"ls": 1.3}


@pytest.fixture(scope="module")
def regression():
    return model_of(bsvm.gp.BSVR, y=Y, C=10.0, epsilon=0.1)


@pytest.fixture(scope="module")
def classification():
    return model_of(bsvm.gp.BTSVC, y=(Y > 0.0).astype(int))


def model_of(kind, **data):
    with pm.Model() as model:
        gp = kind(cov_func=pm.gp.cov.ExpQuad(2, ls=pm.InverseGamma("ls", 3.0, 3.0)))
        gp.marginal_likelihood("y", X=pd.DataFrame(X, columns=NAMES), **data)
    return gp, {"point": POINT, "model": model}


@pytest.mark.parametrize(
    ("new", "dim", "labels"),
    [
        (FRAME, "day", DAYS),
        (LABELLED, "site", list("abcd")),
        (X[:4], "row", range(4)),
        (FRAME.reset_index(drop=True), "row", range(4)),
    ],
    ids=["frame", "xarray", "array", "frame without names"],
)
def test_means_and_covariances(new, dim, labels, regression):
    gp, at = regression
    mean, covariance = gp.predict(new, **at)
    for plain in (mean, covariance):  # whatever comes in
        assert type(plain) is np.ndarray
    got, joint = gp.predict(new, **at, labelled=True)
    _, variance = gp.predict(new, **at, diag=True, labelled=True)
    assert got.dims == variance.dims == (dim,)
    assert joint.dims == (dim, f"{dim}_other")
    for array in (got, variance, joint):
        assert list(array.indexes[dim]) == list(labels)
    assert list(joint.indexes[f"{dim}_other"]) == list(labels)
    np.testing.assert_array_equal(got, mean)
    np.testing.assert_array_equal(joint, covariance)
    np.testing.assert_allclose(variance, covariance.diagonal(), rtol=1e-9)
    assert (got.name, variance.name, joint.name) == ("mean", "variance", "covariance")


def test_distributions(regression):
    gp, at = regression
    plain, got = gp.predictive(FRAME, **at), gp.predictive(FRAME, **at, labelled=True)
    assert isinstance(plain, bsvm.evidence.RegressionPredictive)
    u = [0.05, 0.5, 0.95]
    quantiles = got.quantile(u)
    assert quantiles.dims == ("quantile", "day")
    np.testing.assert_array_equal(quantiles, plain.quantile(np.reshape(u, (3, 1))))
    np.testing.assert_array_equal(quantiles.sel(quantile=0.5), got.quantile(0.5))
    interval = got.interval(0.9)
    assert interval.dims == ("ci_bound", "day")
    np.testing.assert_allclose(interval.sel(ci_bound="upper"), quantiles[2], rtol=1e-12)
    for name in ("mean", "variance"):
        np.testing.assert_array_equal(getattr(got, name), getattr(plain, name))
    for name in ("logpdf", "cdf"):
        for t in (0.2, got.mean):
            np.testing.assert_array_equal(getattr(got, name)(t), getattr(plain, name)(t))
        assert list(getattr(got, name)(0.2).indexes["day"]) == list(DAYS)
    with refused(ValueError, "Targets have no labels", "Use cdf"):
        got.probability()


def test_labels_of_classes(classification):
    gp, at = classification
    plain, got = gp.predict_proba(LABELLED, **at), gp.predict_proba(LABELLED, **at, labelled=True)
    assert type(plain) is np.ndarray
    assert got.dims == ("site",)
    np.testing.assert_array_equal(got, plain)
    distribution = gp.predictive(LABELLED, **at, labelled=True)
    np.testing.assert_array_equal(distribution.probability(), plain)
    with refused(ValueError, "no quantiles", "Use probability"):
        distribution.quantile(0.5)


def test_integrals_over_hyperparameters(regression, classification):
    for gp, at in (regression, classification):
        fit = bsvm.fit_evidence(at["model"], progressbar=False, check=False)
        integral = fit.integrate("grid", progressbar=False)
        if gp is regression[0]:
            got = integral.predictive(FRAME, labelled=True).quantile([0.1, 0.9])
            plain = integral.predictive(FRAME).quantile([[0.1], [0.9]])
        else:
            got = integral.predict_proba(FRAME, labelled=True)
            plain = integral.predict_proba(FRAME)
        np.testing.assert_array_equal(got, plain)
        assert list(got.indexes["day"]) == list(DAYS)


def test_rows_of_containers_and_of_several_levels():
    with pm.Model(coords={"site": list("abcd")}):
        data = pm.Data("new", X[:4], dims=("site", None))
        assert Rows.of(data).array("x", np.zeros(4)).indexes["site"].tolist() == list("abcd")
    index = pd.MultiIndex.from_product([["a", "b"], [0, 1]], names=["site", "visit"])
    rows = Rows.of(FRAME.set_axis(index))
    x = rows.array("x", np.arange(4.0))
    assert float(x.sel(site="b", visit=0).item()) == 2.0
    assert rows.covariance("K", np.eye(4)).shape == (4, 4)
