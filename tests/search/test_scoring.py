"""The highest likelihood of many rows."""

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.search.scoring import most_likely

WIDE = np.array([[-5.0, 5.0], [-5.0, 5.0]])


def normal(rows):
    """Return the log densities in the mean and the logarithm of the standard deviation."""
    return lambda p: stats.norm(p[0], np.exp(p[1])).logpdf(rows)


@pytest.fixture
def rows():
    return 0.7 + 1.3 * np.random.default_rng(0).normal(size=300)


def test_a_normal_distribution_is_found(rows):
    (mean, log_sd), value = most_likely(normal(rows), np.zeros(2), WIDE, gain=1e-9)
    assert mean == pytest.approx(rows.mean(), abs=1e-4)
    assert log_sd == pytest.approx(np.log(rows.std()), abs=1e-4)
    assert value == pytest.approx(normal(rows)([rows.mean(), np.log(rows.std())]).sum(), abs=1e-7)


def test_the_end_is_within_a_gain(rows):
    best = normal(rows)([rows.mean(), np.log(rows.std())]).sum()
    for gain in (1.0, 1e-2, 1e-4):
        _, value = most_likely(normal(rows), np.zeros(2), WIDE, gain=gain)
        assert best - 2.0 * gain <= value <= best + 1e-9


def test_a_row_that_counts_twice_stands_twice(rows):
    weight = 1.0 + np.arange(300) % 3
    weighted = most_likely(normal(rows), np.zeros(2), WIDE, weight)
    repeated = most_likely(normal(np.repeat(rows, weight.astype(int))), np.zeros(2), WIDE)
    np.testing.assert_allclose(weighted[0], repeated[0], atol=1e-6)
    assert weighted[1] == pytest.approx(repeated[1], abs=1e-6)


def test_the_box_holds(rows):
    bounds = np.array([[-0.2, 0.3], [-5.0, 5.0]])
    (mean, log_sd), _ = most_likely(normal(rows), np.zeros(2), bounds, gain=1e-9)
    assert mean == 0.3
    assert log_sd == pytest.approx(0.5 * np.log(np.mean((rows - 0.3) ** 2)), abs=1e-4)


def test_a_wrong_distribution_takes_few_calls():
    """The squares of the slopes of gross errors are far from the curvature."""
    rows, calls = 0.1 * np.random.default_rng(1).standard_t(2.0, 500), []

    def log_density(p):
        calls.append(p)
        return normal(rows)(p)

    _, value = most_likely(log_density, np.array([0.0, np.log(0.1)]), WIDE)
    best = normal(rows)([rows.mean(), np.log(rows.std())]).sum()
    assert best - 0.01 < value <= best + 1e-9
    assert len(calls) < 60


def test_a_density_that_is_nowhere_is_no_step(rows):
    """Beyond a standard deviation of two there is no density."""

    def log_density(p):
        return normal(rows)(p) if p[1] < np.log(2.0) else np.full(rows.size, -np.inf)

    (_, log_sd), _ = most_likely(log_density, np.array([4.0, -1.0]), WIDE, gain=1e-9)
    assert log_sd == pytest.approx(np.log(rows.std()), abs=1e-4)


def test_what_cannot_come_near_is_left(rows):
    """At a hundred times the promise."""
    best, calls = normal(rows)([rows.mean(), np.log(rows.std())]).sum(), []

    def log_density(p):
        calls.append(p)
        return normal(rows)(p)

    start = np.array([0.5, 0.1])
    _, value = most_likely(log_density, start, WIDE, least=best - 0.5)
    assert value > best - 0.01
    full = len(calls)
    calls.clear()
    _, value = most_likely(log_density, start, WIDE, least=best + 1e4)
    assert value < best + 1e-9
    assert 3 < len(calls) < full
