"""The choice of inducing points."""

import numpy as np
import pytest
from scipy.linalg.lapack import dpstrf

from pymc_bsvm.streamed.inducing import greedy


def rbf(X, Z, ls=1.0):
    return np.exp(-0.5 * (((X[:, None] - Z[None]) / ls) ** 2).sum(-1))


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_choice_is_that_of_the_pivots():
    """LAPACK factorises the whole matrix with pivots."""
    X = rows(60, 3)
    _, pivots, _, _ = dpstrf(rbf(X, X), lower=1)
    np.testing.assert_array_equal(greedy(rbf, np.ones(60), X, 25), pivots[:25] - 1)


def test_each_is_the_row_that_the_others_know_least():
    X = rows(50, 2, seed=3)
    chosen = greedy(rbf, np.ones(50), X, 12)
    for k in range(1, 12):
        Z = X[chosen[:k]]
        cross = rbf(X, Z)
        left = 1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(rbf(Z, Z), cross.T))
        assert left[chosen[k]] == pytest.approx(left.max(), rel=1e-6)


def test_a_short_length_scale_draws_points():
    """In units of length-scales, only the first column is wide."""
    X = rows(400, 2)
    Z = X[greedy(lambda A, B: rbf(A, B, ls=np.array([0.3, 30.0])), np.ones(400), X, 15)]
    gaps = np.diff(np.sort(Z[:, 0]))
    assert gaps.min() > 0.1
    assert gaps.max() < 1.0


def test_nothing_is_chosen_twice():
    X = np.repeat(rows(7, 2), 3, axis=0)
    chosen = greedy(rbf, np.ones(21), X, 20)
    assert len(chosen) == 7
    assert len(np.unique(X[chosen], axis=0)) == 7


def test_no_more_than_the_rank():
    X = rows(40, 3)
    assert len(greedy(lambda A, B: A @ B.T, (X * X).sum(axis=1), X, 10)) == 3


@pytest.mark.parametrize("count", [0, 1, 5, 9])
def test_a_longer_choice_begins_with_the_shorter(count):
    X = rows(30, 2)
    chosen = greedy(rbf, np.ones(30), X, 9)
    np.testing.assert_array_equal(greedy(rbf, np.ones(30), X, count), chosen[:count])


def test_no_variance_no_points():
    assert greedy(lambda A, B: np.zeros((len(A), len(B))), np.zeros(5), rows(5, 2), 3).size == 0
