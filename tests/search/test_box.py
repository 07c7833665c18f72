"""Steps within a box."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pymc_bsvm.search.box import promise, step_in_box


@pytest.mark.parametrize("seed", range(6))
def test_the_step_is_the_best_in_the_box(seed):
    rng = np.random.default_rng(seed)
    root, slope, x = rng.normal(size=(4, 4)), rng.normal(size=4), rng.uniform(-1.0, 1.0, 4)
    H = root @ root.T + 0.1 * np.eye(4)
    bounds = np.array([[-1.0, 1.0]] * 4)
    step = step_in_box(H, slope, x, bounds, 0.5)
    box = np.clip(bounds - x[:, None], -0.5, 0.5)
    best = minimize(
        lambda s: -promise(H, slope, s), np.zeros(4), bounds=box, options={"ftol": 1e-15}
    )
    assert promise(H, slope, step) == pytest.approx(-best.fun, rel=1e-7)
    assert (np.abs(step) <= 0.5).all()
    assert (np.abs(x + step) <= 1.0).all()


def test_a_valley_along_a_bound_still_promises_something():
    """A Newton step cut off at the bound would go down here."""
    H = np.array([[0.34, -0.2745], [-0.2745, 0.223]])
    slope, x = np.array([0.093, -0.083]), np.zeros(2)
    newton = np.linalg.solve(H, slope)
    bounds = np.array([[-5.0, 5.0], [-0.01, 5.0]])
    cut = np.clip(newton, -0.5, 0.5)
    cut[1] = max(cut[1], -0.01)
    step = step_in_box(H, slope, x, bounds, 0.5)
    assert step[1] == -0.01
    assert promise(H, slope, step) > max(promise(H, slope, cut), 0.0)


def test_the_promise_is_what_a_parabola_gains():
    H, slope = np.diag([2.0, 4.0]), np.array([1.0, 1.0])
    assert promise(H, slope, np.array([0.5, 0.25])) == pytest.approx(0.25 + 0.125)
