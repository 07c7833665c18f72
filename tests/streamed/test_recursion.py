"""Rows in batches against all rows at once."""

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.streamed.newton import find_mode
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.recursion import Recalled, updated
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed.problems import LOSSES, problem, rows


def posteriors(loss, n=90, parts=3, tol=1e-14):
    """Return the posterior of all rows at once and of rows in batches, and the inputs."""
    passes, features = problem(loss, n)
    X, y, weight = rows(loss, n)
    mode = find_mode(passes, features, loss, tol=tol)
    nothing = InducingPosterior(features, np.zeros(features.size), np.eye(features.size))
    found = nothing
    for k in range(parts):
        part = Passes(ArrayRows(X[k::parts], y[k::parts], weight[k::parts], 7))
        found = updated(found, part, loss, tol)
    return InducingPosterior(features, mode.w, mode.cholesky), found, X


@pytest.mark.parametrize("parts", [2, 5])
def test_gaussian_noise_forgets_nothing(parts):
    batch, found, _ = posteriors(losses.Gaussian(sigma=0.4), parts=parts)
    np.testing.assert_allclose(found.w, batch.w, atol=1e-8)
    B, expected = (each.cholesky @ each.cholesky.T for each in (found, batch))
    np.testing.assert_allclose(B, expected, rtol=1e-8, atol=1e-8 * expected.max())
    assert (np.triu(found.cholesky, 1) == 0.0).all()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_one_batch_is_all_rows(loss):
    batch, found, X = posteriors(loss, parts=1)
    for one, other in zip(found.moments(X), batch.moments(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_batches_are_near_all_rows(loss):
    """By less than the posterior standard deviation, with that within a factor of 1.5."""
    batch, found, X = posteriors(loss, n=400, parts=4)
    (mean, variance), (expected, about) = found.moments(X), batch.moments(X)
    assert np.sqrt(np.mean((mean - expected) ** 2 / about)) < 1.0
    assert 0.67 < np.sqrt(np.median(variance / about)) < 1.5


def test_features_of_a_posterior_by_hand():
    """Latent values, sums and Gram matrices in the coordinates of B₀."""
    rng = np.random.default_rng(3)
    batch, _, X = posteriors(losses.Gaussian(sigma=0.4))
    features, recalled = batch.features, Recalled.of(batch)
    K = features.cross(X)
    phi = np.column_stack([features.whiten(K.copy()), np.full(len(X), np.sqrt(features.offset))])
    own = np.linalg.solve(batch.cholesky, phi.T).T
    v, W = rng.normal(size=features.size), rng.uniform(size=len(X))
    c = recalled.coefficients(v)
    np.testing.assert_allclose(K @ c[:-1] + c[-1], phi @ batch.w + own @ v, rtol=1e-7)
    sums = np.append(K.T @ W, W.sum())
    np.testing.assert_allclose(recalled.whitened(sums), own.T @ W, rtol=1e-7)
    expected = own.T @ (W[:, None] * own)
    np.testing.assert_allclose(recalled.gram(K.copy(), W), expected, rtol=1e-7, atol=1e-12)
