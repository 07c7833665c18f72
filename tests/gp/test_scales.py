"""Robust scales of targets and distances, against values worked out by hand and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist

from pymc_bsvm.gp.scales import diameter_of, distances_of, inverse_gamma_between, spread_of


def test_spread_is_the_standard_deviation_of_a_gaussian():
    # quantiles of a Gaussian in place of draws: what is left is the step between them
    values = 3.0 + 2.0 * stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert spread_of(values) == pytest.approx(2.0, rel=1e-3)


def test_spread_by_hand():
    # median 3, deviations 2 1 0 1 97, their median 1
    assert spread_of(np.array([1.0, 2.0, 3.0, 4.0, 100.0])) == pytest.approx(1.482602, rel=1e-6)


def test_spread_of_values_that_are_equal_for_the_most_part():
    # median 0, median deviation 0, mean deviation 2 / 5
    assert spread_of(np.array([0.0, 0.0, 0.0, 0.0, 2.0])) == pytest.approx(1.253314 * 0.4, rel=1e-6)
    assert spread_of(np.full(4, 7.0)) == 0.0


def test_diameter_of_an_interval_is_its_length():
    # 95 % of evenly spaced points are within 0.475 of the middle
    assert diameter_of(np.linspace(0.0, 1.0, 2001)[:, None]) == pytest.approx(0.95, abs=1e-3)


def test_diameter_is_that_of_the_box_where_nearly_all_rows_are_equal():
    column = np.zeros((100, 1))
    column[0] = 5.0
    assert diameter_of(column) == 5.0
    assert diameter_of(np.array([[0.0], [1.0]])) == pytest.approx(0.95 + 0.05)


def test_diameter_of_a_plane_leaves_out_a_row_that_is_far(rng):
    X = rng.normal(size=(200, 2))
    far = np.vstack([X, [[1e6, -1e6]]])
    # one row of 201 moves the 95 % quantile by half a per cent of the rows
    assert diameter_of(far) == pytest.approx(diameter_of(X), rel=0.1)


def test_the_short_distance_is_the_median_of_nearest_neighbours(rng):
    X = rng.normal(size=(60, 1))
    D = np.abs(X - X.T) + np.diag(np.full(60, np.inf))
    assert distances_of(X, 1e9).short == np.median(D.min(axis=1))
    assert distances_of(np.repeat(X, 3, axis=0), 1e9).short == distances_of(X, 1e9).short


def test_the_short_distance_stays_between_two_shares_of_the_long_one(rng):
    fine = distances_of(np.linspace(0, 1, 1000)[:, None], 100.0)
    assert fine.long / fine.short == pytest.approx(100.0)
    many_columns = rng.normal(size=(50, 40))
    coarse = distances_of(many_columns, 100.0)
    assert pdist(many_columns).min() > coarse.long / 10
    assert coarse.long / coarse.short == pytest.approx(10.0)


@pytest.mark.parametrize("high", [10.0, 30.0, 100.0])
@pytest.mark.parametrize("above", [0.05, 0.25])
def test_inverse_gamma_has_the_masses_asked_for(high, above):
    shape, scale = inverse_gamma_between(1.0, high, 0.01, above)
    found = stats.invgamma(shape, scale=scale)
    # the root is found to 2e-12 of the log of the shape
    assert found.cdf(1.0) == pytest.approx(0.01, rel=1e-8)
    assert found.sf(high) == pytest.approx(above, rel=1e-8)
