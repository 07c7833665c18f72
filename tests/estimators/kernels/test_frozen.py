"""Fixed covariance functions: objects of PyMC and callables."""

import copy
import pickle

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from sklearn.gaussian_process.kernels import RationalQuadratic
from sklearn.metrics.pairwise import laplacian_kernel

from pymc_bsvm.estimators.kernels import RBF, Frozen, Matern32
from tests.estimators.kernels import cases

ETA, VALUES = np.array([1.7]), np.array([1.0, 0.8])


def expquad(X, Z):
    return RBF().matrix(VALUES, X, Z)


def pymc_expquad():
    return pm.gp.cov.ExpQuad(2, ls=0.8)


@pytest.mark.parametrize("make", [pymc_expquad, lambda: expquad])
def test_same_as_the_kernel_with_fixed_length_scale(make):
    X, Z, frozen = cases.rows(300, 2), cases.rows(6, 2, seed=2), Frozen(make())
    full = np.array([1.7, 0.8])
    K = frozen.matrix(ETA, X)
    np.testing.assert_allclose(K, RBF().matrix(full, X), atol=1e-13)
    assert (K == K.T).all()
    np.testing.assert_allclose(
        frozen.matrix(ETA, X, Z), RBF().matrix(full, X, Z), rtol=1e-10, atol=1e-14
    )
    np.testing.assert_array_equal(frozen.diagonal(ETA, X), np.diagonal(K))
    weights = np.cos(np.add.outer(X[:, 0], X[:, 0]))
    slopes = frozen.slopes(ETA, X, weights)
    np.testing.assert_allclose(slopes, RBF().slopes(full, X, weights)[:1], rtol=1e-12)
    cross = frozen.cross_slopes(ETA, X, X[:3], weights[:, :3])
    expected = RBF().cross_slopes(full, X, X[:3], weights[:, :3])[:1]
    np.testing.assert_allclose(cross, expected, rtol=1e-12)
    variances = frozen.diagonal_slopes(ETA, X, weights[0])
    np.testing.assert_allclose(variances, [2.0 * ETA[0] ** 2 * weights[0].sum()])
    assert [h.name for h in frozen.hyperparameters(2)] == ["eta"]
    assert frozen.relevance(ETA, 2) is None


@pytest.mark.parametrize("function", [laplacian_kernel, RationalQuadratic(0.7)])
def test_functions_of_scikit_learn(function):
    X = cases.rows(12, 3)
    frozen = Frozen(function)
    np.testing.assert_allclose(frozen.matrix(ETA, X), 1.7**2 * function(X, X), atol=1e-14)
    np.testing.assert_allclose(frozen.diagonal(ETA, X), 1.7**2)


def test_white_noise_stays_on_the_diagonal():
    X = cases.rows(4, 1)
    frozen = Frozen(pm.gp.cov.ExpQuad(1, ls=1.0) + pm.gp.cov.WhiteNoise(0.5))
    np.testing.assert_allclose(frozen.diagonal(ETA, X), 1.7**2 * 1.25)
    np.testing.assert_allclose(np.diagonal(frozen.matrix(ETA, X)), 1.7**2 * 1.25)
    np.testing.assert_allclose(np.diagonal(frozen.matrix(ETA, X, X)), 1.7**2)


def test_data_of_a_model_are_numbers():
    X = cases.rows(4, 1)
    with pm.Model():
        ls = pm.Data("ls", 1.0)
        frozen = Frozen(pm.gp.cov.ExpQuad(1, ls=ls))
    np.testing.assert_allclose(
        frozen.matrix(ETA, X), RBF().matrix(np.array([1.7, 1.0]), X), atol=1e-14
    )


def test_sum_and_pymc():
    X = cases.rows(5, 2)
    kernel = Frozen(pymc_expquad()) + Matern32()
    values = np.array([1.7, 0.9, 1.2])
    K = kernel.to_pymc(values, 2)(X).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(kernel.matrix(values, X), K, atol=1e-11)
    assert [h.name for h in kernel.hyperparameters(2)] == ["eta", "eta_2", "ls"]
    with pytest.raises(ValueError, match=r"works on arrays, but PyMC needs a graph\. Pass"):
        Frozen(expquad).to_pymc(ETA, 2)


def test_copies_compile_anew():
    X, frozen = cases.rows(5, 2), Frozen(expquad)
    K = frozen.matrix(ETA, X)
    copied = pickle.loads(pickle.dumps(frozen))
    assert copied == frozen
    assert "_function" not in vars(copied)
    np.testing.assert_array_equal(copied.matrix(ETA, X), K)
    frozen = Frozen(pymc_expquad())
    K = frozen.matrix(ETA, X)
    np.testing.assert_array_equal(copy.deepcopy(frozen).matrix(ETA, X), K)


def test_free_variables():
    with pm.Model():
        ls = pm.LogNormal("width", 0.0, 1.0)
        with pytest.raises(ValueError, match=r"depends on free variables: width\. Pass numbers"):
            Frozen(pm.gp.cov.ExpQuad(1, ls=2.0 * ls))
    with pytest.raises(ValueError, match=r"free variables: symbol\. Pass"):
        Frozen(pm.gp.cov.ExpQuad(1, ls=pt.dscalar("symbol")))


@pytest.mark.parametrize("wrong", [RBF, 3.0, None])
def test_no_function(wrong):
    with pytest.raises(ValueError, match=r"cov must be a covariance function, but it is .*\. Pass"):
        Frozen(wrong)


def test_errors():
    X = cases.rows(5, 3)
    with pytest.raises(ValueError, match=r"Constant alone does not say .*\. Add it"):
        Frozen(pm.gp.cov.Constant(1.0))
    with pytest.raises(ValueError, match=r"X has 3 columns, but .* takes 2\. Set input_dim"):
        Frozen(pymc_expquad()).matrix(ETA, X)
    with pytest.raises(ValueError, match=r"array of shape \(5,\) for 5 and 5 rows\. Return"):
        Frozen(lambda X, Z: X[:, 0]).matrix(ETA, X)
    with pytest.raises(ValueError, match=r"matrix must be finite, but .* nan\. Correct"):
        Frozen(lambda X, Z: np.full((len(X), len(Z)), np.nan)).matrix(ETA, X)
    with pytest.raises(ValueError, match=r"must be symmetric, but elements differ by .*\. Pass"):
        Frozen(lambda X, Z: np.subtract.outer(X[:, 0], Z[:, 0])).matrix(ETA, X)
