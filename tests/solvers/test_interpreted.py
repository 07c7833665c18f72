"""The determinant's derivatives and the system of the free set by NumPy, against compiled code."""

import numpy as np
import pytest

from pymc_bsvm.solvers import determinant, interpreted, kernel

SIZES = (1, 2, 50, 300, 301)  # the last is for compiled code


def problem(n):
    """Return a covariance and curvatures, some of them zero and some tiny."""
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n + 2))
    W = rng.uniform(0.1, 3.0, n)
    W[1::5], W[2::5] = 0.0, 1e-9
    return half @ half.T / n, W, rng


@pytest.mark.parametrize("n", SIZES)
def test_the_determinant_and_its_derivatives(n):
    K, W, _ = problem(n)
    value, L = interpreted.log_det(K, W)
    expected, factor = determinant.log_det(K, W)
    assert value == pytest.approx(expected, rel=1e-12)
    for got, known in zip(
        interpreted.log_det_gradient(K, W, L),
        determinant.log_det_gradient(K, W, factor),
        strict=True,
    ):
        np.testing.assert_allclose(got, known, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
def test_the_derivatives_among_some_rows(n):
    K, W, rng = problem(n)
    rows = np.sort(rng.choice(n, (n + 1) // 2, replace=False))
    part = np.ascontiguousarray(K[np.ix_(rows, rows)])
    _, factor = determinant.log_det(part, W[rows])
    for function in (interpreted, determinant):
        for got, known in zip(
            function.log_det_gradient_among(K, rows, W[rows], factor),
            determinant.log_det_gradient(part, W[rows], factor),
            strict=True,
        ):
            np.testing.assert_allclose(got, known, rtol=1e-9, atol=1e-13)


def test_no_determinant():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    value, L = interpreted.log_det(K, np.ones(2))
    assert np.isnan(value)
    assert np.isnan(L).all()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_derivative_with_respect_to_the_covariance(n, share):
    _, _, rng = problem(n)
    place = np.sort(rng.choice(n, int(share * n), replace=False))
    a, u, R = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(place.size, place.size))
    np.testing.assert_allclose(
        interpreted.of_covariance(a, u, R + R.T, place),
        determinant.of_covariance(a, u, R + R.T, place),
        rtol=1e-12,
        atol=1e-14,
    )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("factor", ["none", "exact", "near", "far", "of other rows"])
def test_the_system_of_the_free_set(n, factor):
    K, _, rng = problem(n)
    h, c = np.where(np.arange(n) % 3 < 2, rng.uniform(0.2, 2.0, n), np.inf), rng.normal(size=n)
    free = np.flatnonzero(np.isfinite(h))
    known = {
        "none": (free[:0], 1.0),
        "exact": (free, 1.0),
        "near": (free, 1.0 + 1e-3 * rng.uniform(size=n)),
        "far": (free, 100.0 * rng.uniform(0.1, 1.0, n)),
        "of other rows": (free[: n // 2], 1.0),
    }
    index, error = known[factor]
    root = np.sqrt(error / np.where(np.isfinite(h), h, 1.0))
    L = np.linalg.cholesky(
        np.eye(index.size) + root[index, None] * K[np.ix_(index, index)] * root[index]
    )
    got = interpreted.solve_free(K, h, c, index, root[index], L)
    expected = kernel.solve_free(K, h, c, index, root[index], L)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    inside = K[np.ix_(free, free)] + np.diag(h[free])
    np.testing.assert_allclose(inside @ got[free], c[free], rtol=0, atol=1e-11)
    assert not got[~np.isfinite(h)].any()


def test_a_system_without_a_solution():
    K, nothing = np.array([[1.0, 3.0], [3.0, 1.0]]), np.zeros(0)
    u = interpreted.solve_free(
        K, np.zeros(2), np.ones(2), np.zeros(0, int), nothing, np.empty((0, 0))
    )
    assert np.isnan(u).all()
