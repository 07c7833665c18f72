"""The Op of the coordinates of the posterior: the maps in PyTensor's own Ops, and differences."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_bsvm.covariance.lapack import triangular_congruence_in_place, triangular_solve_in_place
from pymc_bsvm.inference.rotation import maps, whitened

N = 9


def symbolic(u, K, *others):
    """Return what `whitened` does, by the maps."""
    rotation, bend = maps(K, *others)
    z = u if bend is None else bend(u)
    value = rotation.log_density(z) + (0.0 if bend is None else bend.log_det(u))
    return others[0] + rotation.factor @ rotation(z), value


def problem(k: int) -> list[np.ndarray]:
    """Return u, the roots of a covariance, its mean and sites, and k rows in front of a wall."""
    rng = np.random.default_rng(k)
    X = rng.normal(size=(N, 2))
    K = 2.0 * np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2)) + 1e-3 * np.eye(N)
    u, m, b = rng.normal(size=(3, N))
    sites = [np.linalg.cholesky(K), m, np.exp(0.5 * rng.normal(size=N)), b]
    wall = [np.resize([1.0, -1.0, -1.0], k), rng.normal(size=k), rng.permutation(N)[:k]]
    return [u, *sites, *(wall if k else [])]


def compiled(make, k: int, mode: str):
    """Return both outputs, and the gradient of a function of both but for labels and rows."""
    inputs = [pt.as_tensor(x).type() for x in problem(k)]
    u, root, *others = inputs
    f, value = make(u, root @ root.T, *others)
    wrt = [*inputs[:5], *inputs[6:7]]
    along = pt.cos(pt.arange(N)) * f
    gradient = pytensor.grad(along.sum() + 0.1 * (f**2).sum() + 0.7 * value, wrt)
    return pytensor.function(inputs, [f, value, *gradient], mode=mode)


@pytest.mark.parametrize("k", [0, 1, 4])
@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_is_the_map(k, mode):
    """Both solve the same systems in another order; the condition of K is below 1e5."""
    values = problem(k)
    expected = compiled(symbolic, k, "FAST_COMPILE")(*values)
    found = compiled(whitened, k, mode)(*values)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    for one, other in zip(found[2:], expected[2:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


def test_jax():
    pytest.importorskip("jax")
    values = problem(4)
    found = compiled(whitened, 4, "JAX")(*values)
    for one, other in zip(found, compiled(symbolic, 4, "FAST_COMPILE")(*values), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("k", [0, 4])
def test_gradient_is_that_of_differences(k):
    """Along one direction of all inputs; third derivatives times 1e-10 are below the tolerance."""
    values, rng = problem(k), np.random.default_rng(1)
    function = compiled(whitened, k, "FAST_COMPILE")

    def scalar(point):
        f, value, *_ = function(*point)
        return (np.cos(np.arange(N)) * f).sum() + 0.1 * (f**2).sum() + 0.7 * value

    gradient = function(*values)[2:]
    for i, of_input in zip((0, 1, 2, 3, 4, 6), gradient, strict=False):
        way = rng.normal(size=of_input.shape)
        ends = [
            scalar([x + sign * 1e-5 * way if i == j else x for j, x in enumerate(values)])
            for sign in (1.0, -1.0)
        ]
        assert (of_input * way).sum() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("broken", [0, 3])
def test_without_a_factor_there_is_no_number(broken):
    """A covariance, or sites, of NaN make NaN, which a sampler rejects; nothing raises."""
    values = problem(4)
    values[1 if broken == 0 else broken][0] = np.nan
    found = compiled(whitened, 4, "FAST_COMPILE")(*values)
    assert np.isnan(found[0]).all()
    assert np.isnan(found[1])


@pytest.mark.parametrize("n", [1, 2, 33])
def test_triangular_routines(n):
    rng = np.random.default_rng(n)
    L = np.tril(rng.normal(size=(n, n))) + 4.0 * np.sqrt(n) * np.eye(n)
    S, x = rng.normal(size=(n, n)), rng.normal(size=(2, n))
    S, inverse = S + S.T, np.linalg.inv(L)
    for transposed in (False, True):
        found = x.copy()
        triangular_solve_in_place(L, found, transposed)
        expected = x @ (inverse if transposed else inverse.T)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
    expected = inverse.T @ S @ inverse
    triangular_congruence_in_place(L, S)
    np.testing.assert_allclose(S, expected, rtol=1e-10, atol=1e-13)
