"""The sequential search against dense matrices."""

import numpy as np
import pytest

from pymc_bsvm.estimators.relevance.regression import Regression
from pymc_bsvm.estimators.relevance.search import choose
from tests.estimators.relevance import cases

DATA = {
    "smooth": (cases.wave(60), 0.8),
    "rough": (cases.wave(50, seed=1), 0.15),
    "little noise": (cases.wave(40, seed=2, sigma=1e-3), 0.8),
    "noise alone": ((cases.wave(50)[0], np.random.default_rng(3).normal(size=50)), 0.5),
}


@pytest.fixture(scope="module", params=DATA.values(), ids=DATA)
def case(request):
    (X, t), ls = request.param
    found = choose(Regression(cases.dictionary(X, ls), t), 1e-9, 20_000)
    return cases.columns(X, ls), t, found


def test_the_evidence_is_that_of_dense_matrices(case):
    Phi, t, found = case
    expected = cases.log_evidence(Phi[:, found.places], found.alpha, found.variance, t)
    assert found.path[-1] == pytest.approx(expected, abs=1e-6)


def test_the_posterior_is_that_of_dense_matrices(case):
    Phi, t, found = case
    own = Phi[:, found.places]
    covariance = np.linalg.inv(np.diag(found.alpha) + own.T @ own / found.variance)
    fitted = own @ covariance @ own.T @ t / found.variance
    np.testing.assert_allclose(own @ found.mean, fitted, atol=1e-6)
    widths = np.einsum("ij,jk,ik->i", own, found.covariance, own)
    np.testing.assert_allclose(widths, np.einsum("ij,jk,ik->i", own, covariance, own), rtol=1e-4)


def test_the_evidence_rises(case):
    assert np.diff(case[2].path).min() > -1e-7


def test_no_precision_can_be_improved(case):
    """(7.101), and ``q² <= s`` for all columns that are left out."""
    Phi, t, found = case
    assert found.converged
    s, q = cases.qualities(Phi, found.places, found.alpha, found.variance, t)
    ratio = q**2 / s
    out = np.setdiff1d(np.arange(Phi.shape[1]), found.places)
    assert ratio[out].max() < 1.0 + 1e-3
    best = s[found.places] ** 2 / (q**2 - s)[found.places]
    np.testing.assert_allclose(best / found.alpha, 1.0, atol=2e-3)


def test_the_noise_is_stationary(case):
    """(7.88)."""
    Phi, t, found = case
    own = Phi[:, found.places]
    determined = found.places.size - found.alpha @ np.diag(found.covariance)
    residual = np.sum((t - own @ found.mean) ** 2)
    assert found.variance == pytest.approx(residual / (t.size - determined), rel=1e-3)


def test_columns_that_are_not_kept_are_the_same():
    X, t = cases.wave(50)
    kept, made = (
        choose(Regression(cases.dictionary(X, 0.5, held=held), t), 1e-3, 1000) for held in (2500, 0)
    )
    np.testing.assert_array_equal(made.places, kept.places)
    np.testing.assert_allclose(made.alpha, kept.alpha, rtol=1e-6)


def test_the_search_ends_where_it_is_told():
    X, t = cases.wave(60)
    found = choose(Regression(cases.dictionary(X, 0.15), t), 1e-9, 5)
    assert not found.converged
    assert found.path.size == 6


def test_targets_of_zero_need_no_column():
    X, t = cases.wave(10)
    found = choose(Regression(cases.dictionary(X, 0.5), 0.0 * t), 1e-3, 100)
    assert found.places.size == 0
    assert found.converged


def test_many_columns_fit():
    """More than the space that is taken first."""
    rng = np.random.default_rng(0)
    X, t = np.arange(60.0)[:, None], rng.normal(size=60)
    found = choose(Regression(cases.dictionary(X, 0.05), 3.0 * np.sign(t) + t), 1e-6, 5000)
    expected = cases.log_evidence(
        cases.columns(X, 0.05)[:, found.places], found.alpha, found.variance, 3.0 * np.sign(t) + t
    )
    assert found.places.size > 32
    # the noise is 1e-8 of the targets: rounding of their squares counts so many times more
    assert found.path[-1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("ls", [0.5, 1.0, 2.0])
def test_a_smooth_function_without_noise(ls):
    """Columns that the others make up are left out, so that no matrix is singular."""
    X = cases.wave(90)[0]
    t = np.sin(2.0 * X[:, 0])
    found = choose(Regression(cases.dictionary(X, ls), t), 1e-3, 10_000)
    assert found.converged
    fitted = cases.columns(X, ls)[:, found.places] @ found.mean
    np.testing.assert_allclose(fitted, t, atol=5e-3)
