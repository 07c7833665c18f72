"""How many operations fits and solves take, against stored numbers.

Times depend on the machine, counts less so. A path that got slow shows here as more solves, more
steps, each of which is a factorisation of the free set, or more kernel matrices.
"""

from collections import Counter

import numpy as np
import pytest

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.losses.convolution import Convolution, PiecewiseConvolution
from pymc_bsvm.solvers import dual

SLACK = 1.5  # rounding may decide between steps; seven BLAS kernels take the same on 600 rows
STALE = 0.6  # of a stored number: what takes so much less deserves a new one

FITS = {
    ("regression", 200): {"solves": 67, "steps": 179, "matrices": 117, "elements": 97},
    ("regression", 600): {"solves": 44, "steps": 139, "matrices": 69, "elements": 2.2},
    ("regression", 2000): {"solves": 43, "steps": 133, "matrices": 67, "elements": 1.2},
    ("outliers", 200): {"solves": 65, "steps": 195, "matrices": 113, "elements": 99},
    ("six columns", 200): {"solves": 106, "steps": 645, "matrices": 195, "elements": 155},
    ("classification", 200): {"solves": 7, "steps": 21, "matrices": 21, "elements": 18},
}
"""``elements`` are those of all kernel matrices and rows of them, in units of n²."""

SOLVES = {
    losses.SILF(20.0, 0.1, 0.3): 6,
    losses.SILF(20.0, 0.1, 0.01): 21,
    losses.EpsilonInsensitive(20.0, 0.1): 203,
    losses.Huber(20.0, 0.1): 4,
    losses.Trigonometric(): 3,
    losses.SoftMarginL1(1.0): 25,
}
"""Newton steps on 300 rows; with kinks, exact steps of the few rows between two levels."""

INTERVALS = {
    (0.9, 1000): {"calls": 9, "values": 217},
    ((0.5, 0.9, 0.98), 3000): {"calls": 9, "values": 650},
}
"""Values of the distribution function, by coverage and number of new rows."""


@pytest.fixture
def counts(monkeypatch):
    """Count while a test runs."""
    seen = Counter()
    solution, matrix = dual._solution, RBF.matrix

    def solved(*args):
        found = solution(*args)
        seen.update(solves=1, steps=found.n_iter)
        return found

    def built(self, values, X, Z=None):
        K = matrix(self, values, X, Z)
        seen.update(matrices=len(K) > 1, elements=K.size)
        return K

    monkeypatch.setattr(dual, "_solution", solved)
    monkeypatch.setattr(RBF, "matrix", built)
    return seen


def data(kind, n):
    """Return rows of one column or of six, and their targets."""
    rng = np.random.default_rng(n)
    if kind == "six columns":
        X = rng.normal(size=(n, 6))
        f = np.tanh(X[:, 0] + X[:, 1] * X[:, 2]) + np.sin(X[:, 3])
        return X, f + 0.01 * np.ptp(f) * rng.normal(size=n)
    x = rng.uniform(-10.0, 10.0, n)
    y = np.sinc(x / np.pi) + 0.1 * rng.normal(size=n)
    if kind == "outliers":
        y += rng.normal(size=n) * (rng.uniform(size=n) < 0.1)
    if kind == "classification":
        y = np.where(np.sin(x) + 0.5 * rng.normal(size=n) > 0.0, 1, 0)
    return x[:, None], y


def assert_as_stored(got, stored):
    for name, number in stored.items():
        assert STALE * number <= got[name] <= SLACK * number, (name, dict(got))


@pytest.mark.parametrize(("kind", "n"), FITS, ids=str)
def test_a_fit(kind, n, counts):
    X, y = data(kind, n)
    of_kind = BayesianSVC if kind == "classification" else BayesianSVR
    of_kind("rbf", ard=kind == "six columns", random_state=0).fit(X, y)
    counts["elements"] /= n * n
    assert_as_stored(counts, FITS[kind, n])


@pytest.mark.parametrize("loss", SOLVES, ids=repr)
def test_a_solve(loss, counts):
    X, y = data(loss.task, 300)
    y = 2.0 * y - 1.0 if loss.task == "classification" else y
    K = np.exp(-0.5 * ((X - X.T) / 1.5) ** 2)
    solve_dual(K, y, loss)
    assert_as_stored(counts, {"steps": SOLVES[loss]})


@pytest.mark.parametrize("loss", [losses.Trigonometric(), losses.Huber(20.0, 0.1)], ids=repr)
def test_a_solve_that_begins_in_low_rank(loss, counts):
    """Where the covariance has one; each further step would factorise the matrix once more."""
    X, y = data(loss.task, 900)
    y = 2.0 * y - 1.0 if loss.task == "classification" else y
    smooth, rough = np.exp(-0.5 * ((X - X.T) / 1.5) ** 2), np.exp(-np.abs(X - X.T))
    solve_dual(smooth, y, loss)
    assert counts["steps"] == 1
    for K in (smooth, rough):
        counts.clear()
        solve_dual(K, y, loss, np.zeros(900))
        assert 3 <= counts["steps"] <= 9


@pytest.fixture
def tails(monkeypatch):
    """Count values of the distribution function of targets: closed forms, and integrals."""
    seen = Counter()
    closed_form, quadrature = PiecewiseConvolution.log_tail_and_density, Convolution.log_tail

    def closed(self, d, variance):
        seen.update(calls=1, values=d.size)
        return closed_form(self, d, variance)

    def integrated(self, d, variance):
        seen.update(integrals=d.size)
        return quadrature(self, d, variance)

    monkeypatch.setattr(PiecewiseConvolution, "log_tail_and_density", closed)
    monkeypatch.setattr(Convolution, "log_tail", integrated)
    return seen


@pytest.fixture(scope="module")
def regressor():
    return BayesianSVR("rbf", noise="loss").fit(*data("outliers", 100))


@pytest.mark.parametrize(("coverage", "n"), INTERVALS, ids=str)
def test_intervals(coverage, n, regressor, tails):
    """Each end of each row by itself would take some five values."""
    regressor.predict_interval(np.linspace(-12.0, 12.0, n)[:, None], coverage)
    assert_as_stored(tails, INTERVALS[coverage, n])
    assert not tails["integrals"]
