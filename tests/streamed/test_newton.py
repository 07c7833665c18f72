"""The mode of the weights and its certificate."""

import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from pymc_bsvm import losses
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.mode import Ending, ModeError
from pymc_bsvm.streamed.newton import find_mode
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed.problems import LOSSES, VALUES, Gaussian, problem, rows
from tests.streamed.test_evidence import name

WALLED = losses.Trigonometric()


def features_of(features, X):
    """Return the features of rows, one in each row."""
    K_ZZ = Gaussian().matrix(features.values, features.Z)
    K_ZZ += features.jitter * features.values[0] ** 2 * np.eye(features.Z.shape[0])
    phi = np.linalg.solve(np.linalg.cholesky(K_ZZ), Gaussian().matrix(VALUES, features.Z, X)).T
    return np.column_stack([phi, np.full(X.shape[0], np.sqrt(features.offset))])


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("tol", [1e2, 1.0, 1e-3])
def test_gap_is_the_primal_plus_the_dual(loss, tol):
    passes, features = problem(loss, n=300, size=100)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    phi, mode = features_of(features, X), find_mode(passes, features, loss, tol=tol)
    np.testing.assert_allclose(mode.f, phi @ mode.w, atol=1e-9)
    a = -weight * loss.derivative(y, mode.f)
    primal = weight @ loss.value(y, mode.f) + 0.5 * mode.w @ mode.w
    dual = weight @ loss.conjugate(y, loss.project(y, a / weight)) + 0.5 * np.sum((phi.T @ a) ** 2)
    assert 0.0 <= mode.gap <= tol
    assert mode.gap == pytest.approx(primal + dual, rel=1e-6, abs=1e-8)
    assert mode.loss + mode.penalty == pytest.approx(primal, rel=1e-10)
    B = np.eye(phi.shape[1]) + (phi.T * weight * loss.curvature(y, mode.f)) @ phi
    np.testing.assert_allclose(mode.cholesky @ mode.cholesky.T, B, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES[:3], ids=name)
def test_mode_is_where_a_general_minimiser_ends(loss):
    passes, features = problem(loss)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    phi = features_of(features, X)

    def primal(w):
        return weight @ loss.value(y, phi @ w) + 0.5 * w @ w

    found = minimize(primal, np.zeros(phi.shape[1]), method="BFGS", options={"gtol": 1e-4})
    mode = find_mode(passes, features, loss)
    assert primal(mode.w) <= found.fun + 1e-9
    assert primal(mode.w) == pytest.approx(found.fun, abs=1e-4)
    assert np.abs(approx_fprime(mode.w, primal, 1e-7)).max() < 1e-4


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_a_start_changes_the_steps_and_not_the_mode(loss):
    passes, features = problem(loss, n=500)
    cold = find_mode(passes, features, loss, tol=1e-12)
    warm = find_mode(passes, features, loss, cold.w, tol=1e-12)
    assert warm.n_iter <= (cold.n_iter if loss.wall > -np.inf else 0)
    assert find_mode(passes, features, loss, around=cold.f, tol=1e-12).n_iter == 1
    values = VALUES * 1.02
    near = Features.at(Gaussian(), values, features.Z, features.offset)
    there = find_mode(passes, near, loss, tol=1e-12)
    around = find_mode(passes, near, loss, around=cold.f, tol=1e-12)
    np.testing.assert_allclose(around.w, there.w, atol=1e-5)
    assert around.n_iter <= there.n_iter


@pytest.mark.parametrize("scale", [3.0, 30.0, 1e4])
def test_a_start_behind_the_wall_is_no_obstacle(scale):
    passes, features = problem(WALLED, n=2000)
    mode = find_mode(passes, features, WALLED, tol=1e-12)
    far = scale * np.random.default_rng(3).normal(size=features.size)
    assert not np.isfinite(WALLED.value(passes.rows.y, features_of(features, passes.rows.X) @ far))[
        passes.rows.weight > 0.0
    ].all()
    found = find_mode(passes, features, WALLED, far, tol=1e-12)
    np.testing.assert_allclose(found.w, mode.w, atol=1e-6)


def test_rows_near_a_wall_cost_no_more_than_a_few_steps():
    passes, features = problem(WALLED, n=4000, m=30, values=np.array([4.0, 0.7, 1.1]))
    mode = find_mode(passes, features, WALLED)
    assert mode.n_iter < 20
    assert passes.count == mode.n_iter + 1  # one pass for each step, and the first


def test_steps_that_stay_in_front_of_the_wall_find_the_same_mode(monkeypatch):
    passes, features = problem(WALLED, n=500, m=30, values=np.array([4.0, 0.7, 1.1]))
    mode = find_mode(passes, features, WALLED, tol=1e-12)
    monkeypatch.setattr("pymc_bsvm.streamed.newton._LEAPS", 2)
    careful = find_mode(passes, features, WALLED, 5.0 * mode.w, tol=1e-12)
    np.testing.assert_allclose(careful.w, mode.w, atol=1e-6)
    assert careful.n_iter > mode.n_iter


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_blocks_do_not_matter_beyond_rounding(loss):
    X, y, weight = rows(loss, n=200)
    features = problem(loss)[1]
    one, two = (
        find_mode(Passes(ArrayRows(X, y, weight, size)), features, loss, tol=1e-16)
        for size in (7, 1000)
    )
    np.testing.assert_allclose(one.w, two.w, rtol=1e-7, atol=1e-8)


def test_a_search_that_does_not_arrive_says_so():
    loss = LOSSES[0]
    passes, features = problem(loss)
    with pytest.raises(ModeError, match=r"gap is [\d.e+]+ nats. The largest number") as raised:
        find_mode(passes, features, loss, max_iter=1)
    error = pickle.loads(pickle.dumps(raised.value))
    assert error.mode.ending is Ending.MAX_ITER
    assert error.mode.n_iter == 1
    with pytest.raises(ModeError, match="Rounding errors"):
        find_mode(passes, features, loss, tol=1e-60)


def test_targets_out_of_all_scale_are_named():
    loss = losses.Gaussian(sigma=1e-3)
    X, _, weight = rows(loss)
    passes, features = Passes(ArrayRows(X, np.full(60, 1e200), weight)), problem(loss)[1]
    with pytest.raises(ModeError, match="not finite at the prior mean"):
        find_mode(passes, features, loss)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (losses.EpsilonInsensitive(C=1.0, epsilon=0.1), "has a kink"),
        (losses.SoftMarginL1(C=1.0), "has a kink"),
        (losses.Gaussian(sigma=np.ones(60)), "parameters by row"),
    ],
)
def test_losses_that_sums_over_rows_cannot_fit_are_refused(loss, message):
    passes, features = problem(losses.Gaussian(sigma=1.0))
    with pytest.raises(ValueError, match=message):
        find_mode(passes, features, loss)
