"""Priors from the scale of the data: what they are, what is said of them, and what they do."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm.gp.scales import spread_of
from tests.gp import cases
from tests.refusal import refused

NAMES = ["eta", "ls", "C", "epsilon"]


def made(X, y, **options):
    with pm.Model() as model:
        return bsvm.default_priors(X, y, **options), model


def fitted(X, y, *, restarts=1, **options):
    """Return the priors and a fit of the machine that the targets ask for."""
    with pm.Model():
        p = bsvm.default_priors(X, y, **options)
        machine = bsvm.gp.BSVR if p.task == "regression" else bsvm.gp.BTSVC
        gp = machine(mean_func=p.mean(), cov_func=p.covariance())
        gp.marginal_likelihood("y", X=X, y=y, **p.likelihood())
        fit = bsvm.fit_evidence(
            restarts=restarts, random_seed=1, progressbar=False, check=False, gtol=1e-5
        )
    return p, gp, fit


@pytest.fixture(scope="module")
def sinc():
    return bsvm.datasets.sinc(60, random_state=1)


def friedman1(n=100, random_state=0):
    """Friedman's first function: five of six columns matter."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(size=(n, 6))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return X, y + 5 * X[:, 4] + rng.normal(size=n)


def test_the_variables_have_the_densities_that_are_stated():
    # spacing 0.5 and 95 % of the rows within 4.75 of the middle; spread of y by hand
    X = np.linspace(0.0, 10.0, 21)[:, None]
    y = np.tile([1.0, 2.0, 3.0], 7)
    p, model = made(X, y)
    spread = 1.482602218505602  # median deviation 1
    value = {"eta_log__": 0.3, "ls_log__": 0.8, "C_log__": 1.1, "epsilon_log__": -1.7}
    found = model.compile_logp(sum=False, jacobian=False)(value)
    long = 2 * np.quantile(np.abs(X - 5.0), 0.95)
    # below 1 %, above 5 %: the quantiles of a gamma of the shape have the ratio of the distances
    alpha, beta = model["ls"].owner.op.dist_params(model["ls"].owner)
    ls = stats.invgamma(float(alpha.eval()), scale=float(beta.eval()))
    np.testing.assert_allclose([ls.cdf(0.5), ls.sf(long)], [0.01, 0.05], rtol=1e-8)
    expected = [
        stats.lognorm(0.75, scale=spread).logpdf(np.exp(0.3)),
        ls.logpdf(np.exp(0.8)),
        stats.lognorm(1.0, scale=5 / spread).logpdf(np.exp(1.1)),
        stats.gamma(2, scale=0.1 * spread).logpdf(np.exp(-1.7)),
    ]
    np.testing.assert_allclose([float(x) for x in found], expected, rtol=1e-10)
    assert (p.beta, p.centre, p.task) == (0.3, 2.0, "regression")


def test_what_is_said_is_what_was_made(sinc):
    p, model = made(*sinc)
    assert [rv.name for rv in model.free_RVs] == [c.name for c in p.chosen] == NAMES
    draws = pm.draw([p.eta, p.ls, p.C, p.epsilon], draws=4000, random_seed=1)
    for drawn, said in zip(draws, p.chosen, strict=True):
        # 5 %, 50 % and 95 % of 4000 draws: standard errors 0.0034, 0.008 and 0.0034, times five
        shares = [np.mean(drawn < q) for q in (said.low, said.median, said.high)]
        assert (np.abs(np.subtract(shares, [0.05, 0.5, 0.95])) < [0.017, 0.04, 0.017]).all()
    start = model.initial_point()
    np.testing.assert_allclose(
        [np.exp(start[f"{name}_log__"]) for name in NAMES], [c.median for c in p.chosen]
    )
    table = p.table()
    assert list(table.index) == NAMES
    assert table.loc["C", "median"] == pytest.approx(5.0 / spread_of(sinc[1]))


def test_the_summary_on_a_line_each():
    lines = repr(made(np.arange(20.0)[:, None], np.tile([0.0, 1.0, 5.0], 7)[:20])[0]).splitlines()
    assert lines[0] == "Priors for regression"
    assert lines[1] == "y: median 1, spread 1.483"
    assert lines[2] == "X: 20 rows, 1 column; distances from 1 to 19"
    assert lines[3].split() == ["prior", "5", "%", "median", "95", "%", "from"]
    assert [line.split()[0] for line in lines[4:]] == NAMES
    assert lines[6].startswith("C        LogNormal(1.22, 1)")
    assert lines[6].endswith("spread of y")


def test_a_fit_in_other_units_is_the_same_fit(sinc):
    X, y = sinc
    X_new = np.linspace(-10, 10, 7)[:, None]
    _, gp, fit = fitted(X, y)
    mean, variance = gp.predict(X_new, point=fit, pred_noise=True)
    for unit_x, unit_y, shift in ((1.0, 1e-3, 0.0), (1e-3, 1.0, 2.0), (1e3, 1e3, -5e3)):
        _, scaled, again = fitted(unit_x * X, shift + unit_y * y)
        m, v = scaled.predict(unit_x * X_new, point=again, pred_noise=True)
        # rounding alone, which the ends of two ascents magnify; gtol is 1e-5 nats per unit
        np.testing.assert_allclose((m - shift) / unit_y, mean, atol=1e-5)
        np.testing.assert_allclose(v / unit_y**2, variance, rtol=1e-4)
        assert again.log_evidence + len(y) * np.log(unit_y) == pytest.approx(
            fit.log_evidence, abs=1e-4
        )


def test_columns_in_other_units_are_the_same_model():
    X, y = friedman1(40)
    units = np.array([1e-3, 1.0, 1e3, 7.0, 1.0, 1e-6])
    one, two = made(X, y, ard=True)[0], made(X * units, y, ard=True)[0]
    np.testing.assert_allclose(
        [c.median for c in two.chosen[1:7]], units * [c.median for c in one.chosen[1:7]], rtol=1e-9
    )


@pytest.mark.parametrize(
    "data",
    [bsvm.datasets.sinc(100, random_state=1), friedman1(), bsvm.datasets.two_gaussians(100)],
    ids=["sinc", "friedman1", "two_gaussians"],
)
def test_the_fit_is_within_the_priors(data):
    p, _, fit = fitted(*data)
    for said in p.chosen:
        assert said.low < fit.point[said.name] < said.high


def test_simulated_targets_are_of_the_size_of_the_data():
    X, y = bsvm.datasets.sinc(60, outliers=0.05)
    with pm.Model():
        p = bsvm.default_priors(X, y)
        gp = bsvm.gp.BSVR(mean_func=p.mean(), cov_func=p.covariance())
        gp.marginal_likelihood("y", X=X, y=y, **p.likelihood())
        drawn = pm.sample_prior_predictive(200, random_seed=1, compile_kwargs=cases.QUICK)
    simulated = drawn["prior_predictive"]["y"].values[0]
    ratio = np.array([spread_of(row) for row in simulated]) / spread_of(y)
    # 1000 draws at 150 rows have 0.96 and 99.7 %; 200 draws: errors of the log of 0.07 and of 0.4 %
    assert abs(np.log(np.median(ratio))) < 0.3
    assert np.mean((ratio > 0.1) & (ratio < 10.0)) > 0.98


def test_outliers_hardly_matter(sinc):
    X, y = sinc
    wild_X, wild_y = np.vstack([X, [[1e6]]]), np.append(y, 1e9)
    clean, wild = made(X, y)[0], made(wild_X, wild_y)[0]
    for one, two in zip(clean.chosen, wild.chosen, strict=True):
        # one row of 61 moves medians to the next row, and the 95 % quantile of distances by two
        assert two.median == pytest.approx(one.median, rel=0.15)


def test_a_data_frame_gives_its_columns_names_and_constant_columns_are_left_out():
    X = pd.DataFrame({"age": np.arange(12.0), "site": 3, "dose": np.arange(12) % 4, "gate": 0.0})
    X.loc[7:, "gate"] = 1.0
    p, model = made(X, np.arange(12.0) ** 2, ard=True)
    assert model.coords["feature"] == ("age", "dose", "gate")
    assert p.active_dims == (0, 2, 3)
    assert [c.name for c in p.chosen][1:4] == ["ls[age]", "ls[dose]", "ls[gate]"]
    assert "X: left out, as constant: site" in p.data
    K = p.covariance()(X.to_numpy(dtype=float))
    K = K.eval({p.eta: 1.0, p.ls: np.full(3, 2.0)}, mode=cases.UNFUSED)
    # rows 0 and 4 differ by 4 in age alone
    assert K[0, 4] == pytest.approx(np.exp(-0.5 * (4.0 / 2.0) ** 2))


def test_columns_of_unequal_width_are_pointed_out():
    X = np.column_stack([np.linspace(0, 1, 9), np.linspace(0, 1000, 9) ** 1.1])
    p, _ = made(X, X[:, 0])
    assert p.data[-1].startswith("X: column 1 is 2e+03 times as wide as 0: standardise")
    assert len(made(X, X[:, 0], ard=True)[0].data) == 2


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([0, 1, 1, 0], "classification"),
        ([-1.0, 1.0, 1.0, -1.0], "classification"),
        (["no", "yes", "no", "no"], "classification"),
        ([True, False, False, True], "classification"),
        (pd.Series(["a", "b", "a", "a"], dtype="category"), "classification"),
        ([0.1, 0.7, 0.1, 0.7], "regression"),
        ([1, 2, 3, 2], "regression"),
    ],
)
def test_targets_say_what_they_are_for(y, task):
    assert made(np.arange(4.0)[:, None], y)[0].task == task


def test_labels_have_an_amplitude_in_units_of_delta_and_no_noise():
    X = np.arange(6.0)[:, None]
    p, model = made(X, ["no", "yes", "no", "no", "no", "yes"], delta=2.0)
    assert [rv.name for rv in model.free_RVs] == ["eta", "ls"]
    assert (p.C, p.epsilon, p.likelihood()) == (None, None, {"delta": 2.0})
    assert p.data[0] == "y: labels 'no' and 'yes', 33.3% of the second"
    assert p.chosen[0].median == 2.0
    # the width is 5, and a thirtieth of it less than a tenth
    assert "distances from 0.5 to 5" in p.data[1]
    assert isinstance(p.mean(), pm.gp.mean.Zero)


def test_a_task_that_is_stated_comes_before_the_values():
    X = np.arange(4.0)[:, None]
    assert made(X, [3, 4, 3, 4], task="regression")[0].task == "regression"
    assert made(X, [0.1, 0.7, 0.1, 0.7], task="classification")[0].task == "classification"


def test_names_prefix_dims_and_beta(sinc):
    X, y = np.hstack([sinc[0], sinc[0] ** 2]), sinc[1]
    with pm.Model(coords={"input": ["x", "x2"]}) as model:
        p = bsvm.default_priors(
            X, y, ard=True, prefix="f_", names={"eta": "amplitude"}, dims="input", beta=0.1
        )
        bsvm.default_priors(X, y, ard=True, prefix="g_")
    assert [rv.name for rv in model.free_RVs][:4] == ["f_amplitude", "f_ls", "f_C", "f_epsilon"]
    assert model.named_vars_to_dims["f_ls"] == ("input",)
    assert model.named_vars_to_dims["g_ls"] == ("g_feature",)
    assert p.beta == 0.1
    assert "f_ls" in p.table().index[1]


@pytest.mark.parametrize(("n", "beta"), [(1999, 0.3), (2000, 0.1), (4000, 0.1), (4001, 0.05)])
def test_beta_is_that_of_the_papers(n, beta):
    x = np.linspace(0, 1, n)
    assert made(x[:, None], x)[0].beta == beta


def test_the_covariance_is_written_out_as_users_write_it(sinc):
    p, _ = made(*sinc)
    own = p.eta**2 * pm.gp.cov.Matern52(1, ls=p.ls)
    X, at = sinc[0][:5], {p.eta: 1.3, p.ls: 2.0}
    np.testing.assert_array_equal(p.covariance(pm.gp.cov.Matern52)(X).eval(at), own(X).eval(at))


def test_a_fit_starts_where_the_model_says(sinc):
    X, y = sinc
    with pm.Model() as model:
        C = pm.LogNormal("C", 2, 1, initval=4.0)
        epsilon = pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=2.0))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon)
        fit = bsvm.fit_evidence(progressbar=False, check=False)
    # C as stated; epsilon has no word of the model and starts where the papers do
    start = dict(zip(["C", "epsilon"], np.exp(fit.runs[0].start), strict=True))
    assert start == pytest.approx({"C": 4.0, "epsilon": 0.05})
    assert model is fit.model


X5, Y5 = np.arange(5.0)[:, None], np.array([0.0, 1.0, 4.0, 9.0, 16.0])
GAP = np.where(Y5 == 4.0, np.nan, Y5)


@pytest.mark.parametrize(
    ("error", "X", "y", "options", "words"),
    [
        (ValueError, X5, GAP, {}, ("element 2 is nan", "Remove or impute")),
        (ValueError, X5, np.ma.masked_values(Y5, 4.0), {}, ("element 2 is --",)),
        (ValueError, X5, ["a", None, "b", "a", "b"], {}, ("element 1 is None",)),
        (ValueError, np.where(X5 == 3, np.inf, X5), Y5, {}, ("X must be finite", "inf")),
        (ValueError, X5[:, 0], Y5, {}, ("X must have two dimensions", "x[:, None]")),
        (ValueError, X5, Y5[:4], {}, ("y has 4 values, but X has 5 rows",)),
        (ValueError, X5, np.full(5, 3.5), {}, ("one value only, 3.5", "Pass targets that vary")),
        (ValueError, 0 * X5, Y5, {}, ("no column that varies within its 5 rows",)),
        (ValueError, X5[:1], Y5[:1], {}, ("one value only, 0",)),
        (ValueError, X5, ["a"] * 5, {}, ("two labels, but it has 1: ['a']", "both classes")),
        (ValueError, X5, list("abcab"), {}, ("two labels, but it has 3: ['a', 'b', 'c']",)),
        (TypeError, X5, list("abcab"), {"task": "regression"}, ("vector of numbers",)),
        (ValueError, X5, Y5, {"task": "ranking"}, ("'ranking'", "'regression'")),
        (ValueError, X5, Y5, {"beta": 2.0}, ("beta must satisfy 0 < beta <= 1", "2.0")),
        (ValueError, X5, Y5, {"delta": -1.0}, ("delta must satisfy 0 < delta", "-1.0")),
        (ValueError, X5, Y5, {"names": {"sigma": "s"}}, ("'sigma'", "eta, ls, C, epsilon")),
        (TypeError, X5, pm.Normal.dist(size=5), {}, ("y must be known",)),
        (TypeError, [["a"]] * 5, Y5, {}, ("X must be a matrix of numbers", "Encode")),
    ],
)
def test_bad_input_is_refused(error, X, y, options, words):
    with pm.Model() as model, refused(error, *words):
        bsvm.default_priors(X, y, **options)
    assert not model.named_vars


def test_without_a_model_it_says_so():
    with refused(TypeError, "no model is open", "with pm.Model()"):
        bsvm.default_priors(X5, Y5)


def test_a_name_or_a_dimension_that_is_taken_is_refused():
    with pm.Model(coords={"feature": ["a", "b", "c"]}) as model:
        with refused(ValueError, "'feature' has 3 entries, but 1 columns", "another name"):
            bsvm.default_priors(X5, Y5, ard=True)
        pm.Normal("C")
        with refused(ValueError, "a variable 'C' already", "prefix"):
            bsvm.default_priors(X5, Y5)
        assert list(model.named_vars) == ["C"]
