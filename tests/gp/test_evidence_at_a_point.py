"""The evidence at a point, its support vectors, and pointwise likelihoods for ArviZ."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases
from tests.gp.cases import POINT, ard
from tests.oracle import evidence as oracle

every_loss = pytest.mark.parametrize("loss", cases.LOSSES, ids=repr)


def numeric(loss, data, curvature="smooth"):
    K = ard(data.X, data.X, POINT["ls"])
    return bsvm.laplace_evidence(K, cases.signed(data, loss), loss, curvature)


@every_loss
@pytest.mark.parametrize("curvature", ["smooth", "exact"])
def test_evidence(loss, curvature, data):
    model, gp = cases.of_loss(loss, data, curvature=curvature)
    got, expected = gp.evidence(cases.point_of(loss), model=model), numeric(loss, data, curvature)
    for name in ("log_evidence", "fit", "penalty", "log_det", "log_normalizer"):
        assert getattr(got, name) == pytest.approx(getattr(expected, name), rel=1e-11)
    assert got.curvature == curvature
    assert got.posterior.loss == loss


@every_loss
def test_support_vectors(loss, data):
    model, gp = cases.of_loss(loss, data)
    got = gp.support_vectors(cases.point_of(loss), model=model)
    y, evidence = cases.signed(data, loss), numeric(loss, data)
    K, s = ard(data.X, data.X, POINT["ls"]), evidence.solution
    np.testing.assert_array_equal(got.index, np.flatnonzero(s.a))
    np.testing.assert_allclose(got.dual, s.a[got.index], rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(got.free, oracle.curvature(loss, y, s.f)[got.index] > 0.0)
    np.testing.assert_array_equal(got.bound, ~got.free)
    assert got.n == 25
    if isinstance(loss, losses.SILF | losses.Huber):
        np.testing.assert_allclose(np.abs(got.dual[got.bound]), loss.C, rtol=1e-12)
        assert np.all(np.abs(got.dual[got.free]) < loss.C)
    W = oracle.curvature(loss, y, s.f)
    effective = np.trace(K * W @ np.linalg.inv(np.eye(25) + K * W))
    assert got.effective_parameters == pytest.approx(effective, rel=1e-9)
    assert abs(got.gap) < 1e-9
    if loss.task == "classification":
        assert got.noise_variance is None
    else:  # (2.33), by integration
        r = np.linspace(-30.0, 30.0, 600_001)
        density = np.exp(-loss.value(r, 0.0) - loss.log_normalizer())
        integral = np.trapezoid(r * r * density, r)
        assert got.noise_variance == pytest.approx(integral, rel=1e-6)


def test_table_and_summary_of_support_vectors(data):
    model, gp = cases.regression(data.X, data.y)
    got = gp.support_vectors({**POINT, "C": 1.0}, model=model)
    table = got.to_dataframe()
    np.testing.assert_array_equal(table.index, got.index)
    np.testing.assert_array_equal(table["dual"], got.dual)
    np.testing.assert_array_equal(table["kind"] == "free", got.free)
    assert set(table["kind"]) == {"free", "bound"}
    text = str(got)
    assert text.startswith(f"{got.index.size} support vectors of 25 rows (")
    assert f"({got.free.sum()} free, {got.bound.sum()} bound)" in text


# ---- one observation given all others -----------------------------------------------------------


@every_loss
def test_log_predictive(loss, data):
    """Rows are deleted from the Gaussian one at a time, with dense matrices."""
    model, gp = cases.of_loss(loss, data)
    got = gp.log_predictive(cases.point_of(loss), model=model)
    K, y, s = (
        ard(data.X, data.X, POINT["ls"]),
        cases.signed(data, loss),
        numeric(loss, data).solution,
    )
    without = oracle.leave_one_out(K, y, loss, s.a, s.f)
    expected = bsvm.evidence.log_predictive_density(loss, y, without.mean, without.variance)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)


def posterior_of(names_and_draws):
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    name: (("chain", "draw", *(["k"] if x.ndim > 2 else [])), x)
                    for name, x in names_and_draws.items()
                },
                coords={"chain": [0, 1], "draw": np.arange(30)},
            )
        }
    )


def draws_of_length_scales(spread=0.15):
    rng = np.random.default_rng(3)
    return POINT["ls"] * np.exp(spread * rng.normal(size=(2, 30, 2)))


def test_gaussian_log_likelihood_is_exact(data):
    """Each draw has the leave-one-out densities of Gaussian process regression."""
    loss, ls = losses.Gaussian(0.4), draws_of_length_scales()
    model, gp = cases.of_loss(loss, data)
    idata = posterior_of({"ls": ls, "sigma": np.full((2, 30), 0.4)})
    with model:
        returned = gp.compute_log_likelihood(idata, progressbar=False)
    assert returned is idata
    got = idata["log_likelihood"]["y"]
    assert got.dims == ("chain", "draw", "y_dim_0")
    for chain in (0, 1):
        for draw in (0, 17, 29):
            K = ard(data.X, data.X, ls[chain, draw])
            exact = oracle.gaussian_leave_one_out(K, data.y, 0.4)
            expected = oracle.log_normal(data.y, *exact)
            np.testing.assert_allclose(got[chain, draw], expected, rtol=1e-9, atol=1e-10)


def test_log_likelihood_has_the_dims_of_the_data(data):
    rows = [f"row {i}" for i in range(25)]
    model, gp = cases.regression(data.X, data.y, coords={"obs": rows}, dims="obs")
    idata = posterior_of(
        {
            "ls": draws_of_length_scales(),
            "C": np.full((2, 30), 4.0),
            "epsilon": np.full((2, 30), 0.25),
        }
    )
    idata["observed_data"] = xr.DataTree(xr.Dataset({"y": ("obs", data.y)}, coords={"obs": rows}))
    got = gp.compute_log_likelihood(idata, model=model, progressbar=False)["log_likelihood"]["y"]
    assert got.dims == ("chain", "draw", "obs")
    assert list(got.coords["obs"].values) == rows
    at = {**POINT, "ls": idata["posterior"]["ls"].values[1, 4]}
    expected = gp.log_predictive(at, model=model)
    np.testing.assert_allclose(got[1, 4], expected, rtol=1e-7, atol=1e-8)


# a row that says nothing about the length-scale has weights without a tail to speak of
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
def test_loo_is_leave_one_out():
    """Smoothed weights of ArviZ against the posterior of the others, by integration, and compare.

    The only hyperparameter is a common length-scale. For each row the model is refitted: its
    density is integrated over the posterior given the other rows.
    """
    data, loss = cases.plane(18, seed=2), losses.Gaussian(0.5)
    data = data._replace(y=np.clip(data.y, -1.5, 1.5))
    axis = np.linspace(-1.0, 1.0, 161)

    def log_normal_gp(rows, u, sigma):
        K = ard(data.X[rows], data.X[rows], np.exp(u)) + sigma**2 * np.eye(len(rows))
        r = data.y[rows]
        return -0.5 * (r @ np.linalg.solve(K, r) + np.linalg.slogdet(2.0 * np.pi * K)[1])

    every = np.arange(18)
    logs = {}
    for rows in (every, *(np.delete(every, i) for i in every)):
        prior = -0.5 * (axis / 0.2) ** 2
        logs[len(rows), rows.sum()] = prior + [log_normal_gp(rows, u, 0.5) for u in axis]
    whole = logs[18, every.sum()]

    def log_mean_exp(x):
        return np.logaddexp.reduce(x)

    expected = np.array(
        [log_mean_exp(whole) - log_mean_exp(logs[17, every.sum() - i]) for i in every]
    )
    # draws from the posterior given all rows
    weight = np.exp(whole - whole.max())
    rng = np.random.default_rng(0)
    draws = np.interp(rng.uniform(size=1000), np.cumsum(weight) / weight.sum(), axis)
    results = {}
    for name, used in (("gaussian", loss), ("wide", losses.Gaussian(3.0))):
        model, gp = cases.of_loss(used, data)
        ls = np.repeat(np.exp(draws).reshape(2, 500, 1), 2, axis=2)
        idata = xr.DataTree.from_dict(
            {
                "posterior": xr.Dataset(
                    {
                        "ls": (("chain", "draw", "k"), ls),
                        "sigma": (("chain", "draw"), np.full((2, 500), used.sigma)),
                    },
                    coords={"chain": [0, 1], "draw": np.arange(500)},
                )
            }
        )
        gp.compute_log_likelihood(idata, model=model, progressbar=False)
        results[name] = az.loo(idata, pointwise=True)
    loo = results["gaussian"]
    assert loo.n_data_points == 18
    np.testing.assert_allclose(loo.elpd_i, expected, atol=0.01)
    assert float(loo.elpd) == pytest.approx(expected.sum(), abs=0.03)
    table = az.compare(results)
    assert table.index[0] == "gaussian"
    difference = table["elpd"].iloc[0] - table["elpd"].iloc[1]
    assert difference == pytest.approx(float(loo.elpd - results["wide"].elpd), abs=0.3)  # rounded


def test_closed_form_is_near_to_refits(data):
    """One row left out at a time, the others solved anew, at fixed hyperparameters."""
    for loss, close in ((losses.SILF(4.0, 0.25, 1.0), 0.12), (losses.Trigonometric(1.2), 0.12)):
        model, gp = cases.of_loss(loss, data)
        got = gp.log_predictive(cases.point_of(loss), model=model)
        expected = []
        for i in range(25):
            rest = np.delete(np.arange(25), i)
            y = cases.signed(data, loss)
            K = ard(data.X, data.X, POINT["ls"])
            posterior = bsvm.laplace_evidence(K[np.ix_(rest, rest)], y[rest], loss).posterior
            mean = posterior.predict_mean(K[rest][:, [i]])
            variance = posterior.predict_variance(K[rest][:, [i]], K[[i], [i]])
            expected.append(bsvm.evidence.log_predictive_density(loss, y[[i]], mean, variance)[0])
        assert np.mean(got) == pytest.approx(np.mean(expected), abs=close)
        assert np.corrcoef(got, expected)[0, 1] > 0.9
