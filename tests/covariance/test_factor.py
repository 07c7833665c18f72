"""Factors of both kinds against the matrix they are of."""

import pickle

import numpy as np
import pytest

from pymc_bsvm.covariance import Factor, LowRankFactor
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.covariance.factor import as_factor
from pymc_bsvm.covariance.woodbury import WOODBURY
from tests.covariance.cases import DIAGONALS, SHAPES, curvature, low_rank


@pytest.mark.parametrize(("n", "m"), SHAPES[:-1])
@pytest.mark.parametrize("diagonal", DIAGONALS)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_a_factor_says_of_its_matrix(n, m, diagonal, seed):
    K, W = low_rank(n, m, diagonal), curvature(n, seed)
    free, root = np.flatnonzero(W), np.sqrt(W)
    factors = (
        as_factor(free, root, DENSE.factorize(K.dense(), free, root)[0]),
        as_factor(free, root, WOODBURY.factorize(K.parts, free, root)[0]),
    )
    assert [type(factor) for factor in factors] == [Factor, LowRankFactor]
    B = np.eye(free.size) + root[free, None] * K.dense()[np.ix_(free, free)] * root[free]
    x = np.random.default_rng(0).normal(size=(free.size, 3))
    for factor in (*factors, pickle.loads(pickle.dumps(factors[1]))):
        np.testing.assert_array_equal(factor.index, free)
        np.testing.assert_array_equal(factor.root_curvature, root[free])
        assert factor.log_det() == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-12, abs=1e-13)
        np.testing.assert_allclose(factor.solve(x), np.linalg.solve(B, x), rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            factor.solve(x[:, 0]), np.linalg.solve(B, x[:, 0]), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            factor.inverse_diagonal(), np.diag(np.linalg.inv(B)), rtol=1e-11, atol=1e-13
        )
