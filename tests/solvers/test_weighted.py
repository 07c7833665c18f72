"""The words of the solver: weighted losses as functions of vectors, interpreted and compiled."""

import numpy as np
import pytest

from pymc_bsvm import losses, solve_dual
from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.solvers.core import compiled_solver, interpreted_solver
from pymc_bsvm.solvers.newton import CONVERGED
from pymc_bsvm.solvers.weighted import (
    compiled,
    compiled_envelope,
    interpreted,
    interpreted_envelope,
)
from tests.solvers.problems import ALL, by_row, legendre, name, problem, profile

FAST = (losses.SILF, losses.Trigonometric, losses.EpsilonInsensitive)


def mark_slow(members):
    return [
        pytest.param(loss, marks=() if isinstance(loss, FAST) else pytest.mark.slow, id=name(loss))
        for loss in members
    ]


every_loss = pytest.mark.parametrize("loss", ALL, ids=name)
compiled_loss = pytest.mark.parametrize("loss", mark_slow(ALL))


def state(loss, n=60):
    """Targets, latent values, duals inside their domain, and weights, some of them zero."""
    rng = np.random.default_rng(11)
    if loss.task == "regression":
        y, f = rng.normal(size=(2, n))
    else:
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
        f = rng.uniform(-0.95, 0.95, size=n)
    f[:10] = y[:10] * (1.0 if loss.task == "regression" else 3.0)
    w = rng.choice([0.0, 0.5, 1.0, 3.0], size=n)
    a = w * rng.uniform(0.0, 0.99, size=n) * (y if loss.task == "classification" else 1.0)
    return y, f, a, w


@every_loss
def test_interpreted_words(loss):
    y, f, a, w = state(loss)
    p, words = loss.parameters, interpreted(type(loss))
    x = y - f if loss.task == "regression" else y * f
    inner = -1.0 if loss.task == "regression" else y
    value, slope, second = profile(loss, x)
    np.testing.assert_allclose(words.loss(y, f, w, p), w * value, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(words.slope(y, f, w, p), w * inner * slope, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(words.curve(y, f, w, p), w * second, rtol=1e-9, atol=1e-13)
    row = np.divide(a, w, out=np.zeros_like(a), where=w > 0)
    conjugate = np.where(w > 0, w * legendre(loss, y, row), 0.0)
    np.testing.assert_allclose(words.conjugate(y, a, w, p), conjugate, rtol=1e-11, atol=1e-13)
    pairing = words.pairing(y, f, a, w, p)
    np.testing.assert_allclose(pairing, conjugate + a * f, rtol=1e-10, atol=1e-12)
    assert (words.loss(y, f, w, p) + pairing >= -1e-14).all()


@every_loss
def test_projection(loss):
    y, _, a, w = state(loss)
    words, p = interpreted(type(loss)), loss.parameters

    def project(y, a):
        with np.errstate(invalid="ignore"):  # a weight of zero times an infinite bound
            return words.project(y, a, w, p)

    np.testing.assert_array_equal(project(y, a), a)
    far = 1e6 * np.random.default_rng(0).normal(size=y.size)
    inside = project(y, far)
    lower, upper = loss.dual_domain(y)
    assert (inside[w == 0] == 0.0).all()
    on = w > 0
    np.testing.assert_array_equal(
        inside[on], np.clip(far[on], w[on] * lower[on], w[on] * upper[on])
    )


@every_loss
def test_weights_of_zero_meet_walls_without_harm(loss):
    words, p = interpreted(type(loss)), loss.parameters
    y, f, w = np.ones(2), np.array([-50.0, 0.5]), np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        for word in (words.loss, words.slope, words.curve):
            assert word(y, f, w, p)[0] == 0.0
        assert words.pairing(y, f, np.zeros(2), w, p)[0] == 0.0


@compiled_loss
def test_compiled_words_equal_interpreted_ones(loss):
    y, f, a, w = state(loss)
    p, one, two = loss.by_row(y.size), interpreted(type(loss)), compiled(type(loss))
    for word in ("loss", "slope", "curve"):
        got, expected = getattr(two, word)(y, f, w, p), getattr(one, word)(y, f, w, p)
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15, err_msg=word)
    for word in ("conjugate", "project"):
        with np.errstate(invalid="ignore"):  # a weight of zero times an infinite bound
            got, expected = getattr(two, word)(y, a, w, p), getattr(one, word)(y, a, w, p)
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-15, err_msg=word)
    np.testing.assert_allclose(
        two.pairing(y, f, a, w, p), one.pairing(y, f, a, w, p), rtol=1e-12, atol=1e-14
    )


@compiled_loss
def test_compiled_solver_equals_the_interpreted_one(loss):
    slow, fast = interpreted_solver(type(loss), DENSE), compiled_solver(type(loss), DENSE).run
    for n, bias in ((40, False), (40, True), (1, False)):
        K, y = problem(loss, max(n, 2))
        K, y = np.ascontiguousarray(K[:n, :n]), y[:n]
        m, w = np.full(n, 0.05), np.resize([1.0, 2.0, 0.5], n)
        arguments = (K, y, w, loss.by_row(n), m, np.zeros(n), 0.0, bias, 1e-10, False, 500, None)
        with np.errstate(all="ignore"):
            one = slow(*arguments)
        two = fast(*arguments)
        settings = {"m": m, "sample_weight": w, "bias": bias, "tol": 1e-10}
        s = solve_dual(K, y, loss, **settings)
        ours, theirs = one.certificate, two.certificate
        np.testing.assert_array_equal(s.a, ours.a)
        compiled_solution = solve_dual(K, y, loss, engine="numba", **settings)
        np.testing.assert_array_equal(compiled_solution.a, theirs.a)
        assert compiled_solution.status is s.status
        assert two.steps == one.steps == s.n_iter
        assert two.status == one.status == CONVERGED
        size = 1.0 + np.abs(ours.a).max()
        np.testing.assert_allclose(theirs.a, ours.a, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(theirs.f, ours.f, rtol=0, atol=1e-11)
        np.testing.assert_allclose(theirs.b, ours.b, rtol=0, atol=1e-11)
        np.testing.assert_allclose(theirs.rounding, ours.rounding, rtol=0, atol=1e-11)
        np.testing.assert_array_equal(two.factor.free, one.factor.free)


def test_assembled_solvers_are_kept():
    assert compiled_solver(losses.SILF, DENSE) is compiled_solver(losses.SILF, DENSE)
    assert interpreted_solver(losses.SILF, DENSE) is interpreted_solver(losses.SILF, DENSE)
    assert compiled(losses.SILF) is compiled(losses.SILF)


@pytest.mark.parametrize("loss", mark_slow([x for x in ALL if x.envelope_type]))
def test_envelopes_by_row(loss):
    rows = by_row(loss, 9)
    p, one, two = rows.by_row(9), interpreted_envelope(type(loss)), compiled_envelope(type(loss))
    wanted = rows.envelope(0.2)
    for words in (one, two):
        for got, expected in zip(words.parameters(0.2, p), wanted.by_row(9), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-14)
    stiffest = max(loss.stiffness(*column) for column in p.T)
    assert one.stiffness(p) == two.stiffness(p) == stiffest
    assert one.stiffness(loss.parameters) == loss.stiffness(*loss.parameters)


class Plain(losses.Gaussian):
    """The squared loss whose curvature is stated as a number, free of y and f."""

    @staticmethod
    def formulas(xp):
        stated = losses.Gaussian.formulas(xp)
        return stated._replace(curvature=lambda y, f, sigma: 1.0 / (sigma * sigma))


@pytest.mark.parametrize("weights", [None, 1.0, 2.5])
def test_a_formula_that_is_constant(weights):
    x = np.linspace(-3.0, 3.0, 30)
    K, y = np.exp(-0.5 * (x[:, None] - x) ** 2), np.sinc(x)
    w = None if weights is None else np.full(30, weights)
    found = solve_dual(K, y, Plain(0.2), sample_weight=w)
    expected = np.linalg.solve(K + 0.04 / (weights or 1.0) * np.eye(30), y)
    np.testing.assert_allclose(found.a, expected, rtol=1e-9, atol=1e-11)
