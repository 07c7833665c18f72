"""What is compiled for the logistic link, against dense matrices."""

import numpy as np
import pytest
from scipy.special import expit, log_expit

from pymc_bsvm.estimators.relevance.modes import changes, laplace_mode, qualities
from tests.estimators.relevance import cases

ALPHA = np.array([0.1, 1.0, 0.01, 3.0])
PLACES = np.array([3, 8, 20, 40])


@pytest.fixture(scope="module")
def problem():
    X, t = cases.signs(40)
    Phi = cases.columns(X, 1.0)
    return Phi, t, laplace_mode(Phi[:, PLACES].T.copy(), ALPHA, t, np.zeros(4))


def test_slopes_and_curvatures_are_those_at_the_mode(problem):
    Phi, t, (w, *_, slope, curvature, definite) = problem
    eta = Phi[:, PLACES] @ w
    np.testing.assert_allclose(slope, t * expit(-t * eta), rtol=1e-12)
    np.testing.assert_allclose(curvature, expit(eta) * expit(-eta), rtol=1e-12)
    assert definite


@pytest.mark.parametrize("n", [1, 512, 513, 3000])
def test_the_log_likelihood_of_many_rows(n):
    """Without columns it is all there is; rounding of a sum of n terms."""
    t = np.where(np.arange(n) % 3 > 0, 1.0, -1.0)
    found = laplace_mode(np.zeros((0, n)), np.zeros(0), t, np.zeros(0))
    assert found[2] == pytest.approx(-n * np.log(2.0), rel=1e-12)
    row, alpha = np.linspace(-60.0, 60.0, n)[None], np.array([2.0])
    w, _, value, *_ = laplace_mode(row, alpha, t, np.array([1.0]))
    eta = row[0] * w[0]
    curvature = row[0] ** 2 @ (expit(eta) * expit(-eta)) + 2.0
    expected = log_expit(t * eta).sum() - w[0] ** 2 - 0.5 * np.log(curvature / 2.0)
    assert value == pytest.approx(expected, rel=1e-10)


def test_what_columns_add_is_that_of_dense_matrices(problem):
    """(7.102) and (7.103) from the linearised targets, (7.117)."""
    Phi, t, (w, half, _, slope, curvature, _) = problem
    s, q = qualities(Phi, Phi[:, PLACES].T.copy(), half, slope, curvature)
    root = np.sqrt(curvature)
    rest = root[:, None] * Phi[:, PLACES]
    C = np.eye(t.size) + (rest / ALPHA) @ rest.T
    scaled = root[:, None] * Phi
    targets = root * (Phi[:, PLACES] @ w) + slope / root
    np.testing.assert_allclose(s, np.einsum("ij,ij->j", scaled, np.linalg.solve(C, scaled)))
    # chosen columns have alpha w, the others nothing to cancel
    np.testing.assert_allclose(q, scaled.T @ np.linalg.solve(C, targets), atol=1e-8)


def test_steps_of_chosen_columns_are_those_of_dense_matrices(problem):
    Phi, _, (w, half, _, slope, curvature, _) = problem
    gain, target = changes(half, w, ALPHA)
    root = np.sqrt(curvature)
    targets = root * (Phi[:, PLACES] @ w) + slope / root
    s, q = (
        each[PLACES] for each in cases.qualities(root[:, None] * Phi, PLACES, ALPHA, 1.0, targets)
    )
    inside = q**2 > s
    np.testing.assert_allclose(target[inside], (s**2 / (q**2 - s))[inside], rtol=1e-6)
    assert np.isinf(target[~inside]).all()
    now = np.log(ALPHA / (ALPHA + s)) + q**2 / (ALPHA + s)
    ratio = np.maximum(q**2 / s, 1.0)
    np.testing.assert_allclose(gain, 0.5 * (ratio - 1.0 - np.log(ratio) - now), atol=1e-7)


def test_a_prior_of_no_precision_has_no_mode():
    assert not laplace_mode(np.ones((1, 4)), np.array([-9.0]), np.ones(4), np.zeros(1))[-1]
