"""The result of a solve: its certificate, its sets, its factor; and the formulas of these tests."""

import dataclasses
import pickle

import numpy as np
import pytest

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.solvers import DualSolution, DualSolveError, DualSolveWarning, Progress, Status
from tests import oracle
from tests.solvers.problems import ALL, CLASSIFICATION, certify, legendre, name, problem, profile

every_loss = pytest.mark.parametrize("loss", ALL, ids=name)


@every_loss
def test_formulas_of_the_tests_agree_with_the_oracle(loss):
    reference = getattr(oracle, name(loss))(**dataclasses.asdict(loss))
    x = np.array([-0.93, -0.31, -0.1, -0.05, 0.0, 0.02, 0.08, 0.12, 0.4, 0.9, 1.2, 3.0])
    got = profile(loss, x)
    expected = [float(reference.profile(v)) for v in x]
    np.testing.assert_allclose(got.value, expected, rtol=1e-12, atol=1e-14)
    off_kink = x[x != 0.0]
    expected = [float(reference.slope(v)) for v in off_kink]
    np.testing.assert_allclose(profile(loss, off_kink).slope, expected, rtol=1e-12, atol=1e-14)
    y = np.ones(4) if loss in CLASSIFICATION else np.array([0.3, -1.2, 0.0, 2.0])
    a = np.array([0.0, 0.05, 0.4, 0.9])
    expected = [float(reference.conjugate(*pair)) for pair in zip(y, a, strict=True)]
    np.testing.assert_allclose(legendre(loss, y, a), expected, rtol=1e-11, atol=1e-13)


@every_loss
@pytest.mark.parametrize("bias", [False, True])
def test_certificate_is_what_its_definition_says(loss, bias):
    K, y = problem(loss, 60)
    rng = np.random.default_rng(3)
    m = 0.2 * rng.normal(size=60)
    w = rng.choice([0.0, 0.5, 1.0, 2.0], size=60)
    s = solve_dual(K, y, loss, m=m, sample_weight=w, bias=bias)
    c = certify(loss, K, y, s.a, s.offset, m, w)
    assert s.status is Status.CONVERGED
    assert s.converged
    np.testing.assert_allclose(s.f, c.f, rtol=0, atol=1e-11)
    assert s.primal == pytest.approx(c.primal, rel=1e-11, abs=1e-11)
    assert s.dual == pytest.approx(c.dual, rel=1e-11, abs=1e-11)
    size = 1.0 + abs(c.primal)
    assert abs(s.gap - c.gap) < 1e-11 * size
    assert abs(s.primal + s.dual - s.gap) < 1e-11 * size
    assert -1e-12 * size < c.gap <= 1e-9 * size
    if not bias:
        assert s.offset == 0.0
    else:
        assert abs(s.a.sum()) < 1e-12 * np.abs(s.a).sum()


@every_loss
def test_the_gap_of_an_unfinished_solve_is_honest(loss):
    K, y = problem(loss, 60)
    for most in (0, 1, 2):
        s = solve_dual(K, y, loss, tol=1e-14, max_iter=most, on_failure="ignore")
        c = certify(loss, K, y, s.a)
        np.testing.assert_allclose(s.f, c.f, rtol=0, atol=1e-11)
        if np.isfinite(s.gap):
            assert s.gap == pytest.approx(c.gap, rel=1e-9, abs=1e-11 * (1.0 + c.primal))


@every_loss
def test_sets_partition_the_support_vectors(loss):
    K, y = problem(loss, 80)
    s = solve_dual(K, y, loss)
    for mask in (s.support, s.free, s.bound):
        assert mask.dtype == bool
        assert mask.shape == (80,)
    assert not (s.free & s.bound).any()
    assert (s.support == (s.free | s.bound)).all()
    assert (s.a[~s.support] == 0.0).all()
    lower, upper = loss.dual_domain(y)
    assert (np.minimum(s.a - lower, upper - s.a)[s.bound] == 0.0).all()
    if name(loss) in ("Gaussian", "Logistic", "Probit"):
        assert s.free.all()
    else:
        assert 0 < s.support.sum() < 80 or name(loss) in ("Huber", "Laplace")


def test_a_row_without_weight_is_no_support_vector():
    loss = losses.Gaussian(0.1)
    K, y = problem(loss, 20)
    w = np.ones(20)
    w[4] = 0.0
    s = solve_dual(K, y, loss, sample_weight=w)
    assert not s.support[4]
    assert not s.free[4]
    assert s.support.sum() == 19


@pytest.mark.parametrize("n", [1, 7, 90])
@pytest.mark.parametrize("beta", [0.1, 0.3, 1.0])
def test_factor_is_the_factor_of_the_free_set(n, beta):
    loss = losses.SILF(C=10.0, epsilon=0.1, beta=beta)
    K, y = problem(loss, n)
    s = solve_dual(K, y, loss)
    index, root = s.factor.index, s.factor.root_curvature
    np.testing.assert_array_equal(index, np.flatnonzero(s.free))
    np.testing.assert_allclose(root**2, 10.0 / (2.0 * beta * 0.1), rtol=1e-14)
    L = np.tril(s.factor.cholesky)
    B = np.eye(index.size) + root[:, None] * K[np.ix_(index, index)] * root
    np.testing.assert_allclose(L @ L.T, B, rtol=1e-13, atol=1e-11)


@pytest.mark.parametrize("loss", [losses.Gaussian(0.2), losses.SoftMarginL2(C=3.0)], ids=name)
def test_factor_with_weights(loss):
    K, y = problem(loss, 30)
    w = np.random.default_rng(0).integers(0, 4, size=30).astype(float)
    s = solve_dual(K, y, loss, sample_weight=w)
    index, root = s.factor.index, s.factor.root_curvature
    np.testing.assert_array_equal(index, np.flatnonzero(s.free))
    np.testing.assert_allclose(root**2, (w * loss.curvature(y, s.f))[index], rtol=1e-14)
    L = np.tril(s.factor.cholesky)
    B = np.eye(index.size) + root[:, None] * K[np.ix_(index, index)] * root
    np.testing.assert_allclose(L @ L.T, B, rtol=1e-13, atol=1e-11)


def test_results_are_frozen_and_print_and_pickle():
    loss = losses.SILF(C=10.0, epsilon=0.1)
    K, y = problem(loss, 12)
    s = solve_dual(K, y, loss)
    for key in ("a", "gap", "status"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(s, key, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.factor.index = None
    assert "factor" not in repr(s)
    again = pickle.loads(pickle.dumps(s))
    np.testing.assert_array_equal(again.a, s.a)
    assert again.status is Status.CONVERGED


def test_every_status_is_two_sentences_that_say_what_to_do():
    for status in Status:
        assert status.value.endswith(".")
        assert (status.value.count(". ") == 0) == (status is Status.CONVERGED)
    assert not dataclasses.replace(_solution(), status=Status.STALLED).converged


def test_error_carries_the_solution():
    error = DualSolveError("text", _solution())
    assert isinstance(error, RuntimeError)
    assert str(error) == "text"
    assert isinstance(error.solution, DualSolution)
    assert issubclass(DualSolveWarning, UserWarning)


def test_progress_is_frozen():
    progress = Progress(n_iter=1, gap=0.5, n_free=3, step=1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        progress.gap = 0.0


def _solution() -> DualSolution:
    loss = losses.Gaussian(1.0)
    return solve_dual(np.eye(2), [1.0, 2.0], loss)
