"""What a fit holds: numbers, tables, mixtures, draws, texts and what ArviZ makes of it."""

import re
from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import pymc_bsvm as bsvm
from pymc_bsvm.inference import Committee, fit_evidence
from pymc_bsvm.inference.summary import summary_of
from pymc_bsvm.search.hessian import Hessian
from tests.gp import cases
from tests.inference.conftest import gaussian, line, log_evidence

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def narrow(quick):
    """Return a fit with a Gaussian around its mode."""
    return fit_evidence(gaussian().model, hessian=True, progressbar=False)


@pytest.fixture(scope="module")
def mode_only(quick, process):
    return fit_evidence(process.model, progressbar=False)


# ---- the best point -----------------------------------------------------------------------------


def test_point(fit, process, data):
    point = fit.point
    assert list(point) == ["ls", "C", "epsilon"]
    expected = log_evidence(data, point["ls"], float(point["C"]), float(point["epsilon"]))
    assert fit.log_evidence == pytest.approx(expected, rel=1e-9)
    evidence = process.gp.evidence(point, model=process.model)
    assert evidence.log_evidence == pytest.approx(fit.log_evidence, rel=1e-9)
    mean, variance = process.gp.predict(data.new, point, diag=True, model=process.model)
    cross = cases.ard(data.new, data.X, point["ls"])
    np.testing.assert_allclose(mean, cross @ fit.solution.a, rtol=1e-6, atol=1e-8)
    assert np.all(variance > 0.0)


def test_evidence(fit):
    evidence = fit.evidence
    assert evidence is fit.evidences["y"]
    assert evidence.curvature == "smooth"
    total = evidence.fit + evidence.penalty + 0.5 * evidence.log_det + evidence.log_normalizer
    assert fit.log_evidence == pytest.approx(-total, rel=1e-9)
    assert fit.solution is evidence.solution
    assert abs(fit.solution.gap) < 1e-9
    assert fit.solution.a.shape == (25,)


def test_table_of_restarts(fit):
    table = fit.restarts
    names = ["ls_log__[0]", "ls_log__[1]", "C_log__", "epsilon_log__"]
    assert list(table) == [
        *["label", "log_evidence", "objective", "ending", "gradient", "evaluations", "seconds"],
        *(f"start {name}" for name in names),
        *(f"end {name}" for name in names),
    ]
    assert len(table) == 3
    assert set(table["label"]) == {"defaults", "jittered", "prior draw 1"}
    assert list(table["objective"]) == sorted(table["objective"], reverse=True)
    assert set(table["ending"]) == {"converged"}
    assert np.all(table["gradient"] <= 1e-2)
    assert np.all(table["seconds"] > 0.0)
    for k, run in enumerate(fit.runs):
        assert table.loc[k, "label"] == run.label
        assert table.loc[k, "evaluations"] == run.evaluations
        assert table.loc[k, "log_evidence"] == run.log_evidence
        np.testing.assert_array_equal(table.loc[k, [f"start {x}" for x in names]], run.start)
        np.testing.assert_array_equal(table.loc[k, [f"end {x}" for x in names]], run.end)
    assert fit.best is fit.runs[0]
    assert fit.objective == fit.best.objective


# ---- the committee ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("apart", "lower", "modes"),
    [(0.0, 0.0, 1), (0.04, 0.005, 1), (0.06, 0.0, 2), (0.0, 0.02, 2), (0.06, 0.02, 2)],
)
def test_one_mode_is_one_place_of_one_height(fit, apart, lower, modes):
    run = fit.runs[0]
    step = np.zeros(run.end.size)
    step[-1] = apart
    other = replace(run, end=run.end - step, objective=run.objective - lower)
    committee = replace(fit, runs=[run, other]).committee
    assert len(committee.points) == modes
    heights = np.array([0.0, -lower])[:modes]
    np.testing.assert_allclose(committee.weights, np.exp(heights) / np.exp(heights).sum())


def test_weights_of_the_committee(fit):
    """Three modes, in proportion to the posterior density."""
    heights = np.array([run.objective for run in fit.runs])
    assert np.ptp(heights) > 0.1
    weights = np.exp(heights) / np.exp(heights).sum()
    np.testing.assert_allclose(fit.committee.weights, weights, rtol=1e-9)
    for run, point in zip(fit.runs, fit.committee.points, strict=True):
        np.testing.assert_allclose(np.log(point["ls"]), run.end[:2], rtol=1e-12)
    assert fit.committee is fit.committee


def test_a_mode_found_twice_counts_once():
    fit = fit_evidence(gaussian().model, restarts=4, random_seed=0, progressbar=False)
    ends = np.array([run.end for run in fit.runs])
    assert len(fit.runs) == 4
    assert np.ptp(ends, axis=0).max() < 0.05
    np.testing.assert_array_equal(fit.committee.weights, [1.0])
    assert fit.committee.points[0]["sigma"] == fit.point["sigma"]


def test_moments_of_the_mixture(fit, process, data):
    gp, model = process.gp, process.model
    mean, variance = fit.committee.predict(gp, data.new, model=model)
    each = [gp.predict(data.new, point, diag=True, model=model) for point in fit.committee.points]
    w = fit.committee.weights
    expected = sum(wk * m for wk, (m, _) in zip(w, each, strict=True))
    second = sum(wk * (v + m**2) for wk, (m, v) in zip(w, each, strict=True))
    np.testing.assert_allclose(mean, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(variance, second - expected**2, rtol=1e-8)
    within = sum(wk * v for wk, (_, v) in zip(w, each, strict=True))
    assert np.all(variance > within)


def test_noise_of_the_mixture(fit, process, data):
    gp, model = process.gp, process.model
    mean, variance = fit.committee.predict(gp, data.new, model=model)
    noisy_mean, noisy = fit.committee.predict(gp, data.new, pred_noise=True, model=model)
    np.testing.assert_array_equal(noisy_mean, mean)
    noise = [
        bsvm.losses.SILF(float(p["C"]), float(p["epsilon"]), 0.3).variance()
        for p in fit.committee.points
    ]
    np.testing.assert_allclose(noisy - variance, fit.committee.weights @ noise, rtol=1e-8)


def test_probabilities_of_the_mixture(data):
    model, gp = cases.classification(data.X, data.labels)
    points = [{"ls": np.array([0.8, 1.5])}, {"ls": np.array([1.6, 0.7])}]
    committee = Committee(points, np.array([0.3, 0.7]))
    one, other = (gp.predict_proba(data.new, point, model=model) for point in points)
    assert np.abs(one - other).max() > 0.05
    got = committee.predict_proba(gp, data.new, model=model)
    np.testing.assert_allclose(got, 0.3 * one + 0.7 * other, rtol=1e-12)


# ---- draws --------------------------------------------------------------------------------------


def test_draws(narrow):
    draws = narrow.draws(4000, random_seed=3)
    assert set(draws) == {"ls", "sigma"}
    logs = np.log([draws["ls"], draws["sigma"]])
    assert logs.shape == (2, 4000)
    covariance = narrow.hessian.covariance
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(logs.mean(axis=1) - narrow.hessian.mean) < 4.0 * sd / np.sqrt(4000))
    np.testing.assert_allclose(np.cov(logs), covariance, atol=0.1 * sd.max() ** 2)
    np.testing.assert_allclose(np.diag(np.cov(logs)), sd**2, rtol=0.1)
    again = narrow.draws(4000, random_seed=3)
    np.testing.assert_array_equal(again["sigma"], draws["sigma"])
    assert narrow.draws(7)["ls"].shape == (7,)


def test_no_draws_without_a_hessian(mode_only, refuses):
    with refuses(ValueError, "no Hessian", "hessian=True"):
        mode_only.draws()


def test_summary(narrow):
    """The Gaussian of the logarithms is log-normal on the variables' own scale."""
    table = narrow.summary()
    assert list(table.index) == ["ls", "sigma"]
    assert list(table) == ["mode", "mean", "sd", "eti89_lb", "eti89_ub"]
    for k, name in enumerate(["ls", "sigma"]):
        assert table.loc[name, "mode"] == narrow.point[name]
        m, s2 = narrow.hessian.mean[k], narrow.hessian.covariance[k, k]
        mean = np.exp(m + 0.5 * s2)
        assert table.loc[name, "mean"] == pytest.approx(mean, rel=1e-12)
        assert table.loc[name, "sd"] == pytest.approx(mean * np.sqrt(np.expm1(s2)), rel=1e-9)
        z = 1.5981931399228173  # 94.5 % of a standard normal are below
        ends = np.exp(m + np.array([-z, z]) * np.sqrt(s2))
        np.testing.assert_allclose(table.loc[name, ["eti89_lb", "eti89_ub"]], ends, rtol=1e-9)
    half = narrow.summary(ci_prob=0.5)
    assert list(half)[3:] == ["eti50_lb", "eti50_ub"]
    assert half.loc["ls", "eti50_lb"] < np.exp(narrow.hessian.mean[0]) < half.loc["ls", "eti50_ub"]


def test_summary_without_a_hessian(mode_only):
    plain = mode_only.summary()
    assert list(plain) == ["mode"]
    assert list(plain.index) == ["ls[0]", "ls[1]", "C", "epsilon"]
    np.testing.assert_array_equal(plain.loc[["ls[0]", "ls[1]"], "mode"], mode_only.point["ls"])


def test_the_probability_of_the_interval_is_checked(narrow, refuses):
    with refuses(ValueError, "ci_prob", "1.5"):
        narrow.summary(ci_prob=1.5)


def test_the_mode_is_not_the_mean(fit):
    """A skewed posterior: the mode is far from the mean, and no column is about it."""
    table, draws = fit.summary(), fit.draws(20_000, random_seed=5)
    for k in range(2):
        x, row = draws["ls"][:, k], table.loc[f"ls[{k}]"]
        error = x.std() / np.sqrt(x.size)
        assert row["mean"] == pytest.approx(x.mean(), abs=5.0 * error)
        assert row["sd"] == pytest.approx(x.std(), rel=0.2)
        assert row["eti89_lb"] == pytest.approx(np.quantile(x, 0.055), rel=0.05)
        assert row["eti89_ub"] == pytest.approx(np.quantile(x, 0.945), rel=0.05)
        assert row["eti89_lb"] < row["mean"] < row["eti89_ub"]


def test_summary_by_coordinates_and_of_other_transforms():
    """A bounded and an unbounded variable, a vector of columns, and a deterministic variable."""
    X = np.eye(3, 2)
    with pm.Model(coords={"column": ["age", "width"]}) as model:
        pm.Normal("shift", dims="column")
        share = pm.Uniform("share", 0.0, 2.0)
        pm.Deterministic("half", share / 2.0)
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        gp.marginal_likelihood("y", X, np.zeros(3), C=1.0, epsilon=0.1)
    point = {"shift": np.array([0.5, -1.0]), "share": np.array(1.5), "half": np.array(0.75)}
    names = ["shift[0]", "shift[1]", "share_interval__"]
    mean, covariance = np.array([0.1, -0.2, 1.0]), np.diag([0.04, 0.25, 0.49])
    rng = np.random.default_rng(0)
    x = 2.0 / (1.0 + np.exp(-(1.0 + 0.7 * rng.standard_normal(4000))))
    table = summary_of(
        model, point, Hessian(names, mean, covariance), lambda: {"share": x, "half": x / 2}
    )
    assert list(table.index) == ["shift[age]", "shift[width]", "share", "half"]
    np.testing.assert_allclose(table["mode"], [0.5, -1.0, 1.5, 0.75])
    np.testing.assert_allclose(table["mean"][:2], [0.1, -0.2], rtol=1e-12)
    np.testing.assert_allclose(table["sd"][:2], [0.2, 0.5], rtol=1e-12)
    u, w = np.polynomial.hermite_e.hermegauss(60)
    f, w = 2.0 / (1.0 + np.exp(-(1.0 + 0.7 * u))), w / w.sum()
    sd = np.sqrt(w @ (f - w @ f) ** 2)
    assert table.loc["share", "mean"] == pytest.approx(w @ f, abs=4.0 * sd / np.sqrt(4000))
    assert table.loc["share", "sd"] == pytest.approx(sd, rel=0.05)
    np.testing.assert_allclose(table.loc["half"].drop("mode"), table.loc["share"].drop("mode") / 2)
    z = np.array([-1.5981931399228173, 1.5981931399228173])
    ends = 2.0 / (1.0 + np.exp(-(1.0 + 0.7 * z)))
    np.testing.assert_allclose(table.loc["share", ["eti89_lb", "eti89_ub"]], ends, atol=0.03)


# ---- texts --------------------------------------------------------------------------------------


def test_text(fit):
    text = str(fit)
    assert f"log evidence {fit.log_evidence:.2f}" in text
    assert f"C = {float(fit.point['C']):.3f}"[:-1] in text
    assert f"{int(fit.solution.support.sum())} support vectors of 25 rows" in text
    assert f"duality gap {fit.solution.gap:.1e} nats" in text
    assert "3 of 3 starts converged. The gradient is below gtol." in text


def test_html(narrow):
    fit = narrow
    page = fit._repr_html_()
    assert page.startswith("<div>")
    assert page.endswith("</div>")
    assert f"log evidence {fit.log_evidence:.2f}" in page
    for run in fit.runs:
        assert f"<td>{run.label}</td>" in page
        assert f"<td>{run.objective:.3f}</td>" in page
    summary = fit.summary()
    for name in ("ls", "sigma"):
        assert f"<th>{name}</th>" in page
        assert f"<td>{summary.loc[name, 'mode']:.4g}</td>" in page
        for column in ("mean", "sd", "eti89_lb", "eti89_ub"):
            assert f"<td>{summary.loc[name, column]:.4g}</td>" in page
    assert page.count("<table") == page.count("</table>") == 2
    assert len(re.findall("<tr", page)) == 2 + 1 + 1 + 1


# ---- ArviZ --------------------------------------------------------------------------------------


def test_datatree_of_the_mode(mode_only, data):
    tree = mode_only.to_datatree()
    assert set(tree.children) == {"posterior", "sample_stats", "log_likelihood", "observed_data"}
    for name, value in mode_only.point.items():
        np.testing.assert_array_equal(tree["posterior"][name].values[0, 0], value)
    stats, evidence = tree["sample_stats"], mode_only.evidence
    assert stats["log_evidence"].item() == mode_only.log_evidence
    assert stats["lp"].item() == mode_only.objective
    assert stats["n_support"].item() == evidence.solution.support.sum()
    assert stats["n_free"].item() == evidence.solution.free.sum()
    assert stats["gap"].item() == evidence.solution.gap
    for name in ("fit", "penalty", "log_det", "log_normalizer"):
        assert stats[name].item() == getattr(evidence, name)
    effective = evidence.posterior.effective_parameters
    assert stats["effective_parameters"].item() == effective
    got = tree["log_likelihood"]["y"].values
    np.testing.assert_array_equal(got[0, 0], evidence.posterior.log_predictive)
    np.testing.assert_array_equal(tree["observed_data"]["y"], data.y)
    attrs = tree["posterior"].attrs
    assert attrs["inference_library"] == "pymc_bsvm"
    assert attrs["inference_library_version"] == bsvm.__version__
    assert attrs["inference_method"] == "evidence"
    assert attrs["include_prior"] == 1
    assert attrs["approximation"] == "laplace (smooth)"


def test_datatree_of_draws(narrow):
    tree = narrow.to_datatree(50, random_seed=8)
    draws = narrow.draws(50, random_seed=8)
    for name, values in draws.items():
        np.testing.assert_array_equal(tree["posterior"][name].values, values[None])
    np.testing.assert_array_equal(tree["fit"]["mean_vector"], narrow.hessian.mean)
    np.testing.assert_array_equal(tree["fit"]["covariance_matrix"], narrow.hessian.covariance)
    assert list(tree["fit"].coords["rows"].values) == ["ls_log__", "sigma_log__"]
    assert tree["sample_stats"]["lp"].shape == (1, 1)
    assert tree["log_likelihood"]["y"].shape == (1, 50, 30)
    X, y = line()
    for k in (0, 31):
        K = 1.4 * cases.expquad(X, X, draws["ls"][k])
        loss = bsvm.losses.Gaussian(float(draws["sigma"][k]))
        expected = bsvm.laplace_evidence(K, y, loss).posterior.log_predictive
        got = tree["log_likelihood"]["y"].values[0, k]
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_coordinates_and_data_reach_the_tree(data):
    rows = [f"row {i}" for i in range(25)]
    with pm.Model(coords={"obs": rows, "feature": ["one", "two"]}) as model:
        X = pm.Data("X", data.X, dims=("obs", "feature"))
        ls = pm.LogNormal("ls", 0.0, 0.5, dims="feature")
        gp = bsvm.gp.BTSVC(cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood("y", X, data.labels, dims="obs")
    tree = fit_evidence(model, progressbar=False).to_datatree()
    np.testing.assert_array_equal(tree["constant_data"]["X"], data.X)
    assert tree["constant_data"]["X"].dims == ("obs", "feature")
    assert tree["posterior"]["ls"].dims == ("chain", "draw", "feature")
    assert list(tree["posterior"].coords["feature"].values) == ["one", "two"]
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "obs")
    assert set(np.unique(tree["observed_data"]["y"])) == {0, 1}


def test_arviz_summarises_draws(narrow):
    table = az.summary(narrow.to_datatree(1000, random_seed=8), round_to="none")
    draws = narrow.draws(1000, random_seed=8)
    for name in ("ls", "sigma"):
        assert float(table.loc[name, "mean"]) == pytest.approx(draws[name].mean(), rel=1e-9)
        assert float(table.loc[name, "sd"]) == pytest.approx(draws[name].std(ddof=1), rel=1e-3)


# draws are independent of each other, and some rows say nothing about the hyperparameters
@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
def test_arviz_cross_validates_and_compares(narrow):
    X, y = line()
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        gp = bsvm.gp.Laplace(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, y, loss=bsvm.losses.Gaussian(1.5))
    wide = fit_evidence(model, hessian=True, progressbar=False)
    trees = {
        "wide": wide.to_datatree(400, random_seed=8),
        "free": narrow.to_datatree(400, random_seed=8),
    }
    loo = az.loo(trees["free"], pointwise=True)
    assert loo.n_data_points == 30
    pointwise = trees["free"]["log_likelihood"]["y"].values[0]
    raw = -np.log(np.mean(np.exp(-pointwise), axis=0))  # the same without smoothed weights
    others = np.arange(30) != 11  # the outlier has heavy weights
    np.testing.assert_allclose(loo.elpd_i[others], raw[others], atol=0.02)
    assert float(loo.elpd_i[11]) == pytest.approx(raw[11], abs=1.0)
    at_mode = narrow.evidence.posterior.log_predictive
    assert float(loo.elpd_i[others].sum()) == pytest.approx(at_mode[others].sum(), abs=3.0)
    table = az.compare(trees)
    assert list(table.index) == ["free", "wide"]
    other = az.loo(trees["wide"])
    difference = table["elpd"].iloc[0] - table["elpd"].iloc[1]
    assert difference == pytest.approx(float(loo.elpd - other.elpd), abs=1.5)  # rounded


def test_netcdf(narrow, tmp_path):
    tree = narrow.to_datatree(20, random_seed=8)
    tree.to_netcdf(tmp_path / "fit.nc")
    back = az.from_netcdf(tmp_path / "fit.nc")
    assert set(back.children) == set(tree.children)
    for group in tree.children:
        for name, values in tree[group].data_vars.items():
            np.testing.assert_array_equal(back[group][name].values, values.values)
    assert dict(back["posterior"].attrs) == dict(tree["posterior"].attrs)
    assert list(back["fit"].coords["rows"].values) == ["ls_log__", "sigma_log__"]


def test_netcdf_of_averages_and_weights(narrow, tmp_path):
    """What integrals and reweighting hand out is written and read as it is."""
    draws = narrow.to_datatree(8, random_seed=8)
    cheap = {"particles": 10, "temperatures": 2, "random_seed": 1, "progressbar": False}
    weighted = bsvm.reweight(draws, narrow.model, **cheap)
    trees = (
        narrow.integrate(progressbar=False).to_datatree(20, random_seed=8),
        weighted.to_datatree(),
        weighted.resample(20, random_seed=8),
    )
    for k, tree in enumerate(trees):
        tree.to_netcdf(tmp_path / f"{k}.nc")
        back = az.from_netcdf(tmp_path / f"{k}.nc")
        assert set(back.children) == set(tree.children)
        for group in tree.children:
            xr.testing.assert_equal(back[group].to_dataset(), tree[group].to_dataset())


def test_a_fit_stands_for_its_point_and_its_model(fit, process, data):
    """Also where there is no model in the context."""
    expected = fit.at()
    assert process.gp.at(fit) is expected
    assert process.gp.evidence(point=fit) is expected.evidence
    for got, known in zip(
        process.gp.predict(data.new, point=fit), expected.predict(data.new), strict=True
    ):
        np.testing.assert_array_equal(got, known)
    assert process.gp.at(fit, model=process.model) is expected
