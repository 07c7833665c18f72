"""What steps tell of the curvature."""

import numpy as np
import pytest

from pymc_bsvm.search import ascend
from pymc_bsvm.search.curvature import corrected, first_curvature
from tests.search.functions import Function

H = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 4.0]])


def test_a_correction_explains_the_change_of_the_slope():
    rng = np.random.default_rng(0)
    step, change = rng.normal(size=3), rng.normal(size=3)
    change *= np.sign(change @ step)
    new = corrected(H, step, change)
    np.testing.assert_allclose(new @ step, change, rtol=1e-12)
    np.testing.assert_allclose(new, new.T, rtol=1e-12)
    assert np.linalg.eigvalsh(new)[0] > 0.0


def test_the_inverse_of_a_correction_is_the_nearest():
    """(6.17) of Nocedal and Wright, of which (6.19) is the inverse by Sherman and Morrison."""
    rng = np.random.default_rng(1)
    s, y = rng.normal(size=3), rng.normal(size=3)
    y *= np.sign(y @ s)
    V = np.eye(3) - np.outer(y, s) / (y @ s)
    inverse = V.T @ np.linalg.inv(H) @ V + np.outer(s, s) / (y @ s)
    np.testing.assert_allclose(np.linalg.inv(corrected(H, s, y)), inverse, rtol=1e-10)


def test_the_first_curvature_has_the_length_of_the_change():
    step, change = np.array([1.0, 0.0]), np.array([3.0, 4.0])
    np.testing.assert_allclose(first_curvature(step, change), 25.0 / 3.0 * np.eye(2))


def test_an_ascent_learns_the_curvature():
    """On a parabola the slopes along the last steps are explained, and in the end all of them."""
    objective = Function(lambda x: -0.5 * x @ H @ x, lambda x: -H @ x)
    run = ascend(objective, np.array([1.0, -2.0, 0.7]), gtol=1e-9)
    np.testing.assert_allclose(run.curvature, H, rtol=0.05, atol=0.05)


def test_a_ridge_that_rises_tells_of_no_curvature():
    objective = Function(lambda x: float(x @ x), lambda x: 2.0 * x)
    run = ascend(objective, np.array([0.1, 0.2]), bounds=[(-1.0, 1.0), (-1.0, 1.0)])
    assert run.curvature is None
    assert run.objective == pytest.approx(2.0)
