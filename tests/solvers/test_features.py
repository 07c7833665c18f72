"""The minimum over the weights of features is that of the dual with their covariance."""

import numpy as np
import pytest

from pymc_bsvm import LowRank, losses, solve_dual
from pymc_bsvm.solvers.features import solve_features
from tests.solvers.problems import ALL, name, sinc, two_classes

N, TOL = 80, 1e-13
SMOOTH = [loss for loss in ALL if loss.differentiable]


def problem(loss):
    X, y = (sinc if loss.task == "regression" else two_classes)(N, 3)
    return np.exp(-((X[:12, :1] - X[:, 0]) ** 2)), y, np.linspace(0.5, 1.5, N), 0.1 * y


def found(loss, offset=False, tol=TOL, most=50, callback=None):
    return solve_features(*problem(loss), loss, offset, tol, most, callback)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_the_latent_values_are_those_of_the_dual(loss):
    A, y, w, m = problem(loss)
    s = solve_dual(LowRank(A.T), y, loss, m=m, sample_weight=w)
    np.testing.assert_allclose(found(loss), s.f, rtol=0, atol=1e-5)  # of a gap of 1e-9


@pytest.mark.parametrize("loss", [losses.Trigonometric(), losses.Logistic()], ids=name)
def test_an_offset_is_a_feature_without_a_prior(loss):
    A, y, w, m = problem(loss)
    s = solve_dual(LowRank(A.T), y, loss, m=m, sample_weight=w, bias=True)
    np.testing.assert_allclose(found(loss, offset=True), s.f, rtol=0, atol=1e-5)


def test_the_gap_is_half_the_square_of_the_gradient():
    loss, heard = losses.Trigonometric(), []
    found(loss, tol=1e-8, callback=lambda *step: heard.append(step))
    A, y, w, m = problem(loss)
    a, some = -w * loss.derivative(y, m), A[: len(A) // 3]  # the first steps are with these
    gap = (w * loss.value(y, m) + w * loss.conjugate(y, a / w) + a * m).sum()
    gap += 0.5 * np.sum((some @ a) ** 2)
    assert heard[0][:3] == (0, pytest.approx(gap), N)
    assert [step[0] for step in heard] == list(range(len(heard)))
    assert heard[-1][1] < heard[0][1]


def test_too_few_steps_find_nothing():
    assert found(losses.Trigonometric(), most=1) is None
