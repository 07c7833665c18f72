import numpy as np
import pytest
from scipy import stats

from reproduce import regression
from reproduce.regression import Split, apart, exponent, measured, paired, printed

rng = np.random.default_rng(3)


def line(n=40, m=15):
    X = rng.normal(size=(n + m, 2)) * [1.0, 5.0]
    y = 2.0 * X[:, 0] + 0.1 * rng.normal(size=n + m) + 10.0
    return Split(X[:n], y[:n], X[n:], y[n:])


def test_rows_are_standardised_by_those_to_learn_from():
    split = line()
    inputs, every = split.standardised(targets=False), split.standardised(targets=True)
    assert inputs.X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert inputs.X.std(axis=0) == pytest.approx(1.0)
    assert inputs.X_new * split.X.std(axis=0) + split.X.mean(axis=0) == pytest.approx(split.X_new)
    assert inputs.y is split.y
    assert inputs.unit == 1.0
    assert every.y.std() == pytest.approx(1.0)
    assert every.y_new * every.unit + split.y.mean() == pytest.approx(split.y_new)


def test_a_constant_column_stays_finite():
    X = np.column_stack([np.ones(4), np.arange(4.0)])
    assert Split(X, X[:, 1], X, X[:, 1]).standardised(targets=False).X[:, 0].tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("papers", {"beta": 0.1}),
        ("papers", {"ard": True}),
        ("default", {"ard": "auto"}),
        ("gpr", {"ard": True}),
        ("svr", {"epsilon": 0.05}),
    ],
)
@pytest.mark.filterwarnings("ignore:The optimal value found for dimension")
def test_methods_learn_a_line_in_the_units_of_the_data(method, settings):
    split = line()
    result = measured(method, split.standardised(targets=True), **settings)
    assert result["ase"] < 0.05  # the noise has a variance of 0.01, the targets one of 4
    assert result["aae"] ** 2 <= result["ase"]
    assert result["cpu"] > 0.0
    if settings.get("ard") is True:
        assert len(result["kappa"]) == 2
        assert result["kappa"][0] > 10.0 * result["kappa"][1]  # the second column tells nothing


def test_variances_are_those_of_new_targets():
    split = line().standardised(targets=True)
    result = measured("papers", split, predictions=True)
    assert len(result["mean"]) == len(result["variance"]) == 15
    assert min(result["variance"]) > result["noise"]
    error = split.unit * (split.y_new - result["mean"])
    assert result["ase"] == pytest.approx(np.mean(error**2))


def test_cross_validation_has_the_650_fits_of_the_thesis(monkeypatch):
    fits = []

    class Counted(regression.SVR):
        def fit(self, X, y, sample_weight=None):
            fits.append((len(y), self.C, self.gamma))
            return super().fit(X, y, sample_weight)

    monkeypatch.setattr(regression, "SVR", Counted)
    split = line(10, 2).standardised(targets=True)
    measured("svr", split)
    of_folds = [fit for fit in fits if fit[0] == 8]
    assert len(of_folds) == 650
    coarse = {fit[1:] for fit in of_folds[:245]}
    assert len(coarse) == 49
    assert min(coarse) == pytest.approx((10**-0.5, 0.5 * 10**-2.5))
    assert max(coarse) == pytest.approx((10**2.5, 0.5 * 10**0.5))
    fine = sorted({C for _, C, _ in of_folds[245:]})
    assert np.diff(np.log10(fine)) == pytest.approx(0.1)


def test_paired_tests_are_scipys():
    a, b = rng.normal(size=(2, 12))
    assert paired(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired(a, a) == 1.0
    d = a.mean() - b.mean()
    t = d / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 12)
    assert apart(a, b) == pytest.approx(2.0 * stats.t.sf(abs(t), 22))


@pytest.mark.parametrize(
    ("one", "two", "n", "p", "digits"),
    [
        ((10.27, 7.21), (12.34, 9.20), 100, 0.078, 3),
        ((8.32, 4.35), (6.99, 4.38), 100, 0.032, 3),
        ((13.80, 0.93), (17.59, 0.98), 10, 5.5e-8, 9),
    ],
)
def test_the_thesis_did_not_pair_its_tests(one, two, n, p, digits):
    assert round(printed(one, two, n), digits) == p


def test_the_exponent_of_a_power_is_found():
    n = np.array([100, 300, 1000])
    assert exponent(n, 2e-5 * n**2.36) == pytest.approx(2.36)
