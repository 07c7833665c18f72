"""The sequential search by Laplace's method against dense matrices."""

import numpy as np
import pytest

from pymc_bsvm.estimators.relevance.classification import Classification, Mode
from pymc_bsvm.estimators.relevance.search import choose
from tests.estimators.relevance import cases

TOL = 1e-3
CASES = {"wide": (cases.signs(60), 1.5), "narrow": (cases.signs(50, seed=1), 0.4)}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def case(request):
    (X, t), ls = request.param
    return cases.columns(X, ls), t, choose(Classification(cases.dictionary(X, ls), t), TOL, 1000)


def test_the_mode_is_that_of_dense_matrices():
    X, t = cases.signs(40)
    Phi, alpha = cases.columns(X, 1.0)[:, [3, 8, 20, 40]], np.array([0.1, 1.0, 0.01, 3.0])
    expected = cases.laplace(Phi, alpha, t)
    for start in (np.zeros(4), np.array([20.0, -30.0, 5.0, 9.0])):
        mode = Mode.of(Phi.T.copy(), alpha, t, start)
        np.testing.assert_allclose(mode.weights, expected.weights, rtol=1e-5)
        np.testing.assert_allclose(mode.half.T @ mode.half, expected.covariance, rtol=1e-5)
        assert mode.log_evidence == pytest.approx(expected.log_evidence, abs=1e-9)


def test_the_evidence_is_that_of_dense_matrices(case):
    Phi, t, found = case
    expected = cases.laplace(Phi[:, found.places], found.alpha, t)
    assert found.path[-1] == pytest.approx(expected.log_evidence, abs=1e-8)
    np.testing.assert_allclose(found.mean, expected.weights, rtol=1e-4)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-4, atol=1e-9)


def test_the_evidence_rises(case):
    path = case[2].path
    assert path[0] == pytest.approx(-case[1].size * np.log(2.0))
    assert np.diff(path[:-2]).min() > 0.0


def test_no_step_that_promises_more_raises_the_evidence(case):
    """What gains more than tol with the curvature held, (7.97), does not with the mode found."""
    Phi, t, found = case
    assert found.converged
    own = Phi[:, found.places]
    y = 1.0 / (1.0 + np.exp(-own @ found.mean))
    B = y * (1.0 - y)
    root, target = np.sqrt(B), own @ found.mean + (0.5 * (1.0 + t) - y) / B
    s, q = cases.qualities(root[:, None] * Phi, found.places, found.alpha, 1.0, root * target)
    now = np.zeros(s.size)
    total = found.alpha + s[found.places]
    now[found.places] = np.log(found.alpha / total) + q[found.places] ** 2 / total
    ratio = np.maximum(q**2 / s, 1.0)
    for i in np.flatnonzero(0.5 * (ratio - 1.0 - np.log(ratio) - now) > TOL):
        others = found.places != i
        columns, alpha = own[:, others], found.alpha[others]
        if ratio[i] > 1.0:
            columns = np.column_stack([columns, Phi[:, i]])
            alpha = np.append(alpha, s[i] / (ratio[i] - 1.0))
        assert cases.laplace(columns, alpha, t).log_evidence < found.path[-1] + 1e-8


def test_labels_that_can_be_told_apart():
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    t = np.sign(X[:, 0])
    found = choose(Classification(cases.dictionary(X, 1.0), t), 1e-2, 1000)
    assert found.converged
    latent = cases.columns(X, 1.0)[:, found.places] @ found.mean
    np.testing.assert_array_equal(np.sign(latent), t)
