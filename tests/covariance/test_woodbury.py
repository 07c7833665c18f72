"""The functions of a covariance of low rank, against linear algebra with its matrix."""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.covariance.woodbury import (
    WOODBURY,
    Parts,
    inverse_diagonal,
    subtract_projection,
)
from tests.covariance.cases import DIAGONALS, SHAPES, covariances, curvature, low_rank

shapes = pytest.mark.parametrize(("n", "m"), SHAPES)
diagonals = pytest.mark.parametrize("diagonal", DIAGONALS)


@shapes
@diagonals
def test_products(n, m, diagonal):
    K = low_rank(n, m, diagonal)
    dense, rng = K.dense(), np.random.default_rng(1)
    mean, a = rng.normal(size=(2, n))
    a[rng.uniform(size=n) < 0.3] = 0.0
    size = np.abs(dense) @ np.abs(a)
    np.testing.assert_allclose(WOODBURY.diagonal(K.parts), np.diag(dense), rtol=1e-14)
    f = WOODBURY.latent(K.parts, mean, a, 0.5)
    assert (np.abs(f - (mean + dense @ a + 0.5)) <= 1e-14 * (size + 2.0 + np.abs(mean))).all()


def test_products_read_the_given_rows_only():
    K, out = low_rank(3000, 2, "vector"), np.zeros(3000)
    rows, weights = np.arange(0, 3000, 2), np.random.default_rng(0).normal(size=3000)
    WOODBURY.add_product(K.parts, rows, weights, out)
    expected = K.dense()[:, rows] @ weights[rows]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@diagonals
def test_a_product_in_twice_the_precision(diagonal):
    K = low_rank(8, 3, diagonal)
    A, d = [[Fraction(x) for x in row] for row in K.parts.A], [Fraction(x) for x in K.parts.d]
    weights, rows = 1e8 * np.random.default_rng(2).normal(size=8), np.array([0, 3, 4, 7])
    w = [Fraction(x) if i in rows else Fraction(0) for i, x in enumerate(weights)]
    z = [sum(A[j][k] * w[j] for j in range(8)) for k in range(3)]
    exact = [sum(A[i][k] * z[k] for k in range(3)) + d[i] * w[i] for i in range(8)]
    high, low = -np.array([float(x) for x in exact]), np.zeros(8)
    WOODBURY.add_product_exactly(K.parts, rows, weights, high, low)
    rest = np.array([float(x - Fraction(float(x))) for x in exact])
    _, depth = WOODBURY.depth(K.parts, 4)
    reach = 1e8 * np.sqrt(np.diag(K.dense())) * np.sqrt(np.diag(K.dense())).sum() * 3.0
    assert (np.abs(high + low - rest) <= (2.0**-52 * depth) ** 2 * reach + 1e-24).all()


@given(K=covariances(), seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_the_depth_bounds_the_rounding(K, seed):
    a, n = np.random.default_rng(seed).normal(size=K.shape[0]), K.shape[0]
    A, d = K.parts
    exact = [
        sum(
            (sum(Fraction(x) * Fraction(y) for x, y in zip(A[i], A[j], strict=True))
             + (Fraction(d[i]) if i == j else 0)) * Fraction(a[j])
            for j in range(n)
        )
        for i in range(n)
    ]  # fmt: skip
    error = [abs(float(Fraction(x) - y)) for x, y in
             zip(WOODBURY.latent(K.parts, np.zeros(n), a, 0.0), exact, strict=True)]  # fmt: skip
    spread = np.sqrt(K.diagonal())
    plainly, _ = WOODBURY.depth(K.parts, n)
    assert (error <= 2.0**-52 * plainly * spread * (spread @ np.abs(a))).all()


@shapes
@diagonals
def test_factors_and_solutions(n, m, diagonal):
    K, W = low_rank(n, m, diagonal), curvature(n)
    free, root = np.flatnonzero(W), np.sqrt(W)
    factor, definite = WOODBURY.factorize(K.parts, free, root)
    assert definite
    assert factor.cholesky.shape == (min(free.size, m),) * 2
    B = np.eye(free.size) + root[free, None] * K.dense()[np.ix_(free, free)] * root[free]
    x = np.random.default_rng(1).normal(size=(2, free.size))
    solution = x.copy()
    WOODBURY.solve(factor, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(B, x.T).T, rtol=0, atol=1e-11)
    expected = np.diag(np.linalg.inv(B))
    np.testing.assert_allclose(inverse_diagonal(factor), expected, rtol=1e-10, atol=1e-12)


@given(K=covariances(), seed=st.integers(0, 99), size=st.sampled_from([1e-3, 1.0, 1e4]))
@settings(max_examples=60, deadline=None)
def test_solutions_have_the_residual_of_a_dense_factor(K, seed, size):
    W = size * curvature(K.shape[0], seed)
    free, root = np.flatnonzero(W), np.sqrt(W)
    x = np.random.default_rng(seed).normal(size=(1, free.size))
    B = np.eye(free.size) + root[free, None] * K.dense()[np.ix_(free, free)] * root[free]
    solution = x.copy()
    WOODBURY.solve(WOODBURY.factorize(K.parts, free, root)[0], solution)
    residual = np.abs(solution @ B - x).max(initial=0.0)
    assert residual <= 1e-13 * np.linalg.norm(B) * np.abs(x).max(initial=0.0)


def test_a_step_of_refinement_pays_where_the_curvature_is_large():
    """Targets that the features explain: the solution is a tiny difference of large vectors."""
    K = low_rank(400, 5, "zero")
    root = np.full(400, 1e4)
    x = K.A @ np.arange(1.0, 6.0)
    solution, B = x[None].copy(), np.eye(400) + 1e8 * K.dense()
    factor, _ = WOODBURY.factorize(K.parts, np.arange(400), root)
    WOODBURY.solve(factor, solution)
    rough = x.copy()
    subtract_projection(factor, rough, np.empty((1, 5)))
    without = np.abs(B @ rough - x).max()
    assert np.abs(B @ solution[0] - x).max() < 1e-2 * without


def test_no_rows():
    factor = WOODBURY.no_factor()
    assert [np.shape(part) for part in factor] == [(0, 0), (0,), (0,), (0,), (0, 0)]
    K = low_rank(5, 2, "number")
    empty, definite = WOODBURY.factorize(K.parts, np.arange(0), np.zeros(5))
    assert definite
    for each in (factor, empty):
        x = np.empty((2, 0))
        WOODBURY.solve(each, x)
        assert inverse_diagonal(each).shape == (0,)


def test_both_instances_agree_inside_compiled_code():
    K = low_rank(40, 6, "vector")
    free, root = np.flatnonzero(curvature(40)), np.sqrt(curvature(40))

    def steps(covariance):
        add_product, factorize, solve = covariance[2], covariance.factorize, covariance.solve

        @numba.njit
        def step(K, free, root):
            factor, definite = factorize(K, free, root)
            x, out = np.ones((1, free.shape[0])), np.zeros(root.shape[0])
            solve(factor, x)
            add_product(K, free, root, out)
            return x, out, definite

        return step

    dense, low = steps(DENSE)(K.dense(), free, root), steps(WOODBURY)(K.parts, free, root)
    for one, other in zip(dense, low, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_parts_are_vectors():
    K = low_rank(4, 2, "number")
    assert isinstance(K.parts, Parts)
    np.testing.assert_array_equal(K.parts.d, [0.3] * 4)
