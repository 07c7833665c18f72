"""The support vectors on an edge of the tube."""

from dataclasses import replace

import numpy as np
import pytest

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.evidence.margin import Margin

C, EPSILON = 3.0, 0.3


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.0, 12.0, 40))
    K = np.exp(-((x[:, None] - x) ** 2) / 1.6)
    y = np.sin(x) + 0.7 * rng.normal(size=40)
    return Problem.of(K, y, losses.EpsilonInsensitive(C, EPSILON))


@pytest.fixture(scope="module")
def margin(problem):
    solution = solve_dual(problem.K, problem.y, problem.loss)
    return Margin.of(problem, solution, np.full(40, C))


def test_its_rows_are_on_the_edges_of_the_tube(problem, margin):
    solution = solve_dual(problem.K, problem.y, problem.loss)
    residual = problem.y - problem.K @ solution.a
    expected = np.flatnonzero(np.abs(np.abs(residual) - EPSILON) < 1e-6)
    np.testing.assert_array_equal(margin.rows, expected)
    np.testing.assert_array_equal(np.sign(margin.a), np.sign(residual[expected]))
    assert np.abs(margin.a).max() < C


def test_a_row_that_counts_twice_may_have_twice_the_dual(problem):
    twice = replace(problem, sample_weight=np.full(40, 2.0))
    found = Margin.of(twice, twice.solve(), np.full(40, C))
    np.testing.assert_array_equal(found.most, 2.0 * C)


def test_widths_and_their_slopes(problem, margin):
    a, h = margin.a, 1e-6
    np.testing.assert_allclose(
        np.exp(margin.log_widths), 1.0 / np.abs(a) + 1.0 / (C - np.abs(a)), rtol=1e-12
    )
    low, high = (replace(margin, a=a + t).log_widths for t in (-h, h))
    np.testing.assert_allclose(margin.slopes, (high - low) / (2.0 * h), rtol=1e-5, atol=1e-6)
    inner = problem.K[np.ix_(margin.rows, margin.rows)]
    expected = np.linalg.slogdet(2.0 * np.pi * inner)[1]
    assert margin.log_det == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(margin.solve(inner @ a), a, atol=1e-9)
