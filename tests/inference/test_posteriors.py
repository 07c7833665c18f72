"""Comparison of posteriors against distributions whose moments and distances are known."""

from types import SimpleNamespace

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats

from pymc_bsvm.inference.posteriors import compare_posteriors
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.search.hessian import Hessian

DRAWS = 2000


def normal(mean: float, sd: float, seed: int = 0) -> np.ndarray:
    """Return the quantiles of a normal distribution in random order, of shape (2, DRAWS)."""
    grid = (np.arange(2 * DRAWS) + 0.5) / (2 * DRAWS)
    values = stats.norm.ppf(grid, mean, sd)
    return np.random.default_rng(seed).permutation(values).reshape(2, DRAWS)


def tree_of(seconds: float | None = None, dims: dict | None = None, **variables) -> xr.DataTree:
    attrs = {} if seconds is None else {"posterior": {"sampling_time": seconds}}
    coords = {"feature": ["width", "height"]} if dims else None
    return az.from_dict({"posterior": variables}, attrs=attrs, dims=dims, coords=coords)


@pytest.fixture
def trees() -> dict[str, xr.DataTree]:
    wide = np.stack([normal(0.0, 1.0, 1), normal(5.0, 2.0, 2)], axis=-1)
    shifted = np.stack([normal(0.5, 1.0, 3), normal(5.0, 3.0, 4)], axis=-1)
    dims = {"ls": ["feature"]}
    return {
        "evidence": tree_of(2.0, dims, C=normal(4.0, 1.0, 5), ls=shifted),
        "latent": tree_of(50.0, dims, C=normal(3.0, 2.0, 6), ls=wide, f=normal(0.0, 1.0, 7)),
    }


# ---- hyperparameters ----------------------------------------------------------------------------


def test_known_moments_and_distances(trees):
    comparison = compare_posteriors(trees)
    assert comparison.reference == "latent"
    table = comparison.table
    assert table.index.names == ["variable", "route"]
    labels = ["C", "ls[width]", "ls[height]"]
    assert list(table.index) == [(x, r) for x in labels for r in ("evidence", "latent")]
    C = table.loc[("C", "evidence")]
    assert C["mean"] == pytest.approx(4.0, abs=1e-10)
    assert C["sd"] == pytest.approx(1.0, abs=1e-3)
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose(C[["q5", "q50", "q95"]].astype(float), [4 - z, 4, 4 + z], atol=2e-3)
    assert C["shift"] == pytest.approx(0.5, abs=1e-3)
    width, height = table.loc[("ls[width]", "evidence")], table.loc[("ls[height]", "evidence")]
    # of N(m + d, s) to N(m, s) the distance is d; of N(m, 3) to N(m, 2) it is sqrt(2 / pi)
    assert width["shift"] == pytest.approx(0.5, abs=1e-3)
    assert width["distance"] == pytest.approx(0.5, abs=1e-3)
    assert height["shift"] == pytest.approx(0.0, abs=1e-3)
    assert height["distance"] == pytest.approx(np.sqrt(2.0 / np.pi) / 2.0, abs=2e-3)
    np.testing.assert_array_equal(table.xs("latent", level="route")[["shift", "distance"]], 0.0)


def test_effective_sample_size_per_second(trees):
    comparison = compare_posteriors(trees)
    ess = float(az.ess(trees["evidence"]["posterior"]["C"].values))
    row = comparison.table.loc[("C", "evidence")]
    assert row["ess"] == pytest.approx(ess)
    assert 0.7 * 4000 < ess < 1.3 * 4000
    assert row["ess_per_second"] == pytest.approx(ess / 2.0)
    routes = comparison.routes
    assert list(routes["draws"]) == [4000, 4000]
    assert list(routes["seconds"]) == [2.0, 50.0]
    least = comparison.table["ess"].groupby("route").min()
    np.testing.assert_allclose(routes["min_ess"], least[routes.index])
    np.testing.assert_allclose(routes["min_ess_per_second"], routes["min_ess"] / [2.0, 50.0])


def test_without_a_time_there_is_no_rate():
    tree = tree_of(C=normal(0.0, 1.0))
    row = compare_posteriors({"one": tree}).table.loc[("C", "one")]
    assert row["ess"] > 0.0
    assert np.isnan(row["ess_per_second"])


def test_a_single_draw_has_no_spread():
    mode = tree_of(C=np.array([[1.0]]))
    reference = tree_of(C=normal(3.0, 2.0))
    row = compare_posteriors({"map": mode, "nuts": reference}).table.loc[("C", "map")]
    assert row[["sd", "q5", "q95", "ess", "ess_per_second"]].isna().all()
    assert row["mean"] == row["q50"] == 1.0
    assert row["shift"] == pytest.approx(-1.0, abs=1e-3)
    expected = stats.foldnorm.mean(1.0)  # E|z + 1|
    assert row["distance"] == pytest.approx(expected, abs=2e-3)
    other = compare_posteriors({"nuts": reference, "map": mode}).table.loc[("C", "nuts")]
    assert other[["shift", "distance"]].isna().all()


def test_a_constant_variable_has_no_scale():
    constant = tree_of(C=np.full((2, 50), 2.0))
    row = compare_posteriors({"a": tree_of(C=normal(1.0, 1.0)), "b": constant}).table
    assert row.loc[("C", "b"), "sd"] == 0.0
    assert row["shift"].isna().all()


def test_choice_of_variables(trees):
    for names in ("ls", ["ls"]):
        table = compare_posteriors(trees, names).table
        assert set(table.index.get_level_values("variable")) == {"ls[width]", "ls[height]"}


def fit_of(hessian: Hessian | None) -> EvidenceFit:
    """Return a fit at C = 4 whose unconstrained space is the logarithm."""
    with pm.Model() as model:
        pm.LogNormal("C", 1.0, 1.0)
    return EvidenceFit(
        point={"C": np.array(4.0)},
        log_evidence=-10.0,
        objective=-11.0,
        include_prior=True,
        evidences={},
        runs=[],
        hessian=hessian,
        model=model,
        _objective=SimpleNamespace(point=lambda x: {"C": np.exp(x[0])}),
    )


def test_a_fit_is_a_route():
    """With a Hessian by its draws, without by its mode; neither has a Markov chain's size."""
    fit = fit_of(Hessian(["C_log__"], np.log([4.0]), np.array([[0.04]])))
    draws = np.exp(np.random.default_rng(1).normal(np.log(4.0), 0.2, size=(1, 1000)))
    tree = tree_of(C=draws)
    tree["posterior"].attrs["inference_method"] = "evidence"  # as of EvidenceFit.to_datatree
    routes = {"mode": fit_of(None), "map": fit, "tree": tree}
    comparison = compare_posteriors(routes, draws=400)
    table = comparison.table
    assert table.loc[("C", "mode"), "mean"] == 4.0
    assert np.isnan(table.loc[("C", "mode"), "sd"])
    expected = 4.0 * np.exp(0.2 * stats.norm.ppf(0.95))
    assert table.loc[("C", "tree"), "q95"] == pytest.approx(expected, rel=0.05)
    assert list(comparison.routes["draws"]) == [1, 400, 1000]
    assert table["ess"].isna().all()
    assert abs(table.loc[("C", "map"), "shift"]) < 0.25
    again = compare_posteriors(routes, draws=400).table
    np.testing.assert_array_equal(table, again)


# ---- held-out data ------------------------------------------------------------------------------


def with_predictions(group: str, centre, sd: float = 1.0, log_density=None) -> xr.DataTree:
    """Return a tree whose predictions are normal around a vector of centres."""
    y = np.stack([normal(c, sd, k) for k, c in enumerate(centre)], axis=-1)
    groups = {"posterior": {"C": normal(0.0, 1.0)}, group: {"y_new": y}}
    tree = az.from_dict(groups)
    if log_density is not None:
        extra = az.from_dict({"log_likelihood": {"y_new": log_density}})
        tree["predictions_log_likelihood"] = extra["log_likelihood"]
    return tree


def test_known_scores():
    """True values at -2, -0.5, 0.5 and 1 standard deviations: two and three are covered."""
    truth = np.array([-2.0, -0.5, 0.5, 1.0])
    density = np.log(np.broadcast_to([[[0.1], [0.3]]], (1, 2, 4)))  # draws mix to 0.2
    trees = {
        "narrow": with_predictions("predictions", np.zeros(4), 0.4, density),
        "unit": with_predictions("posterior_predictive", np.zeros(4)),
        "exact": with_predictions("predictions", truth, 1e-3),
    }
    predictive = compare_posteriors(trees, held_out=("y_new", truth)).predictive
    rmse = np.sqrt(np.mean(truth**2))
    np.testing.assert_allclose(predictive["rmse"], [rmse, rmse, 0.0], atol=1e-10)
    assert list(predictive["coverage_50"]) == [0.0, 0.5, 1.0]
    assert list(predictive["coverage_90"]) == [0.5, 0.75, 1.0]
    assert predictive.loc["narrow", "log_score"] == pytest.approx(np.log(0.2))
    assert predictive["log_score"].isna().sum() == 2


def test_labels_have_a_brier_score():
    draws = np.zeros((1, 100, 2), dtype=int)
    draws[0, :80, 0] = 1  # P = 0.8 for a label 1, P = 0 for a label 0
    tree = az.from_dict({"posterior": {"C": normal(0, 1)}, "predictions": {"label": draws}})
    predictive = compare_posteriors({"one": tree}, held_out=("label", [1, 0])).predictive
    assert predictive.loc["one", "rmse"] == pytest.approx(np.sqrt(0.04 / 2))
    assert predictive[["coverage_50", "coverage_90"]].isna().all(axis=None)
    assert "log_score" not in predictive


def test_training_log_likelihood_is_no_score():
    tree = with_predictions("predictions", np.zeros(3))
    tree["log_likelihood"] = az.from_dict({"log_likelihood": {"y_new": np.zeros((1, 5, 3))}})[
        "log_likelihood"
    ]
    predictive = compare_posteriors({"one": tree}, held_out=("y_new", np.zeros(3))).predictive
    assert list(predictive.columns) == ["rmse", "coverage_50", "coverage_90"]


# ---- representations and errors -----------------------------------------------------------------


def test_representations(trees):
    tree = with_predictions("predictions", np.zeros(2))
    comparison = compare_posteriors({"only": tree}, held_out=("y_new", [0.0, 1.0]))
    text, html = str(comparison), comparison._repr_html_()
    assert text.startswith("distances to 'only'")
    assert text.count("\n\n") == 3
    assert html.count("<table") == 3
    assert str(compare_posteriors(trees)).count("\n\n") == 2


def test_errors(trees):
    with pytest.raises(ValueError, match=r"no posteriors to compare\. Pass a mapping"):
        compare_posteriors({})
    with pytest.raises(TypeError, match=r"'a' must be a DataTree .* type dict\. Sample"):
        compare_posteriors({"a": {}})
    with pytest.raises(ValueError, match=r"'a' has the groups prior, but no posterior\. Pass"):
        compare_posteriors({"a": az.from_dict({"prior": {"C": np.zeros((1, 5))}})})
    with pytest.raises(ValueError, match=r"no variable in common \('a': D; .*\)\. Compare"):
        compare_posteriors({"a": tree_of(D=np.zeros((1, 5))), **trees})
    with pytest.raises(ValueError, match=r"posterior of 'evidence' has no variable 'f'\. It has C"):
        compare_posteriors(trees, ["C", "f"])
    other = tree_of(C=np.zeros((1, 5)), ls=np.zeros((1, 5, 3)))
    with pytest.raises(ValueError, match=r"one of 'evidence' and 'other', but not .*\. Compare"):
        compare_posteriors({**trees, "other": other})
    flat = xr.DataTree.from_dict({"posterior": xr.Dataset({"C": ("sample", np.zeros(5))})})
    with pytest.raises(ValueError, match=r"has the dimensions sample\. It needs chain and draw"):
        compare_posteriors({"flat": flat})


def test_errors_of_held_out_data(trees):
    with pytest.raises(ValueError, match=r"but neither predictions nor .*\. Add one with pm\."):
        compare_posteriors(trees, held_out=("y_new", np.zeros(3)))
    tree = {"one": with_predictions("predictions", np.zeros(3))}
    with pytest.raises(
        ValueError, match=r"predictions of 'one' has no variable 'y'\. It has y_new"
    ):
        compare_posteriors(tree, held_out=("y", np.zeros(3)))
    with pytest.raises(ValueError, match=r"shape \(3,\), but .* shape \(4,\)\. Predict"):
        compare_posteriors(tree, held_out=("y_new", np.zeros(4)))
