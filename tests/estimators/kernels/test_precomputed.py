"""The Gram matrix of the caller, and what can be wrong with it."""

import numpy as np
import pytest

from pymc_bsvm.estimators.kernels import RBF, Precomputed
from tests.estimators.kernels import cases

ETA, VALUES = np.array([1.7]), np.array([1.0, 0.8])


@pytest.fixture
def gram():
    return RBF().matrix(VALUES, cases.rows(8, 2))


def test_training(gram):
    kernel = Precomputed()
    np.testing.assert_allclose(kernel.matrix(ETA, gram), 1.7**2 * gram, rtol=1e-15)
    np.testing.assert_allclose(kernel.diagonal(ETA, gram), 1.7**2, rtol=1e-15)
    weights = gram - 0.3
    expected = 2.0 * 1.7**2 * np.vdot(weights, gram)
    np.testing.assert_allclose(kernel.slopes(ETA, gram, weights), [expected])
    variances = kernel.diagonal_slopes(ETA, gram, np.arange(8.0))
    np.testing.assert_allclose(variances, [2.0 * 1.7**2 * 28.0])
    assert [h.name for h in kernel.hyperparameters(8)] == ["eta"]
    assert kernel.relevance(ETA, 8) is None


def test_new_rows(gram):
    X, Z = cases.rows(8, 2), cases.rows(5, 2, seed=9)
    kernel, rows = Precomputed(), np.array([6, 1, 3])
    new = RBF().matrix(VALUES, Z, X)
    np.testing.assert_array_equal(kernel.matrix(ETA, gram, new), 1.7**2 * new.T)
    some, beside = kernel.take(gram, rows), kernel.against(new, rows)
    np.testing.assert_allclose(some, RBF().matrix(VALUES, X[rows]), atol=1e-14)
    np.testing.assert_allclose(
        kernel.matrix(ETA, some, beside), 1.7**2 * RBF().matrix(VALUES, X[rows], Z), atol=1e-14
    )


def test_rounding_is_averaged(gram):
    gram[0, 1] += 1e-12
    K = Precomputed().matrix(ETA, gram)
    assert (K == K.T).all()


def test_errors(gram):
    kernel, new = Precomputed(), np.zeros((3, 8))
    square = (
        r"must be square, but its shape is \(3, 8\)\. Pass the covariances of the training rows"
    )
    with pytest.raises(ValueError, match=square):
        kernel.matrix(ETA, new)
    with pytest.raises(ValueError, match=square):
        kernel.diagonal(ETA, new)
    with pytest.raises(ValueError, match=r"have 7 columns, but the Gram matrix has 8 rows\. Pass"):
        kernel.matrix(ETA, gram, new[:, :7])
    np.testing.assert_allclose(kernel.diagonal_of_new(ETA, gram, new), ETA[0] ** 2 * gram[0, 0])
    unequal = gram * np.outer(np.arange(1.0, 9.0), np.arange(1.0, 9.0))
    with pytest.raises(ValueError, match=r"The 3 new rows .* variances\. Pass the kernel itself"):
        kernel.diagonal_of_new(ETA, unequal, new)
    with pytest.raises(ValueError, match=r"is no covariance function for PyMC\. Pass the kernel"):
        kernel.to_pymc(ETA, 8)
    with pytest.raises(ValueError, match=r"of 8 rows does not hold .* other rows\. Pass the"):
        kernel.cross_slopes(ETA, gram, new, new)
    gram[0, 1] += 0.5
    with pytest.raises(ValueError, match=r"symmetric, but elements differ by 0\.5 .*\. Pass"):
        kernel.matrix(ETA, gram)
