"""The mode at inducing points against the dual solver, differences, other backends and limits."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.sampling.jax import get_jaxified_graph
from pytensor.compile.mode import get_mode

from pymc_bsvm import LowRank, losses, solve_dual
from pymc_bsvm.ops import InducingMode
from pymc_bsvm.ops.inducing_mode import gram

LOSSES = [
    losses.SILF(5.0, 0.2, 0.3),
    losses.Gaussian(0.3),
    losses.Trigonometric(1.2),
    losses.Logistic(),
]
UNFUSED = get_mode("FAST_COMPILE").excluding("fusion", "canonicalize")


def name_of(loss):
    return type(loss).__name__


def problem(loss, n=30, m=6):
    rng = np.random.default_rng(20)
    x = np.sort(rng.uniform(-3.0, 3.0, n))
    A = 1.2 * np.exp(-0.5 * (x[:, None] - np.linspace(-3.0, 3.0, m)) ** 2)
    y = np.sin(x) + rng.standard_t(3, size=n) * 0.2
    if loss.task == "classification":
        y = np.where(np.sin(x) + rng.normal(size=n) > 0.0, 1.0, -1.0)
    return A, y, 0.1 * np.cos(x), np.array(loss.parameters, float), rng.normal(size=m)


def values(loss, A, y, m, p):
    """Return the values by the dual solver, and the rows with a curvature."""
    solution = solve_dual(LowRank(A), y, type(loss)(*p[: len(loss.domains)]), m=m, tol=1e-13)
    return A.T @ solution.a, solution.free


def compiled(loss, mode):
    inputs = [pt.matrix("A"), pt.vector("y"), pt.vector("m"), pt.vector("parameters")]
    weights = pt.vector("weights")
    w, a = InducingMode(type(loss), tol=1e-13)(*inputs)
    gradient = pytensor.grad((weights * w).sum(), inputs, disconnected_inputs="ignore")
    return pytensor.function([*inputs, weights], [w, a, *gradient], mode=mode)


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_value_and_derivatives(loss):
    A, y, m, p, c = problem(loss)
    w, a, of_A, of_y, of_m, of_p = compiled(loss, UNFUSED)(A, y, m, p, c)
    expected, free = values(loss, A, y, m, p)
    np.testing.assert_allclose(w, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(w, A.T @ a, rtol=1e-14)
    rng, step = np.random.default_rng(7), 1e-6
    directions = {"A": (0, rng.normal(size=A.shape), of_A), "m": (2, rng.normal(size=30), of_m)}
    if loss.task == "regression":
        directions["y"] = (1, rng.normal(size=30), of_y)
    for i in range(len(loss.domains)):
        directions[f"parameter {i}"] = (3, np.eye(len(p))[i], of_p)
    for name, (position, direction, gradient) in directions.items():
        ends = []
        for sign in (1.0, -1.0):
            moved = [A, y, m, p]
            moved[position] = moved[position] + sign * step * direction
            end, set_there = values(loss, *moved)
            np.testing.assert_array_equal(set_there, free)
            ends.append(c @ end)
        difference = (ends[0] - ends[1]) / (2.0 * step)
        expected = (gradient * direction).sum()
        assert expected == pytest.approx(difference, rel=2e-6, abs=2e-6), name


def test_second_derivatives_follow():
    loss = losses.Trigonometric(1.2)
    A, y, m, p, c = problem(loss)
    inputs = [pt.matrix("A"), pt.vector("y"), pt.vector("m"), pt.vector("parameters")]
    w, _ = InducingMode(type(loss), tol=1e-13)(*inputs)
    first = pytensor.grad((c * w).sum(), inputs[3])[0]
    second = pytensor.grad(first, inputs[3])[0]
    evaluate = pytensor.function(inputs, [first, second], mode="FAST_COMPILE")
    step = 1e-5
    up, down = (evaluate(A, y, m, p + h)[0] for h in (step, -step))
    assert evaluate(A, y, m, p)[1] == pytest.approx((up - down) / (2.0 * step), rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES[::2], ids=name_of)
def test_jax_differentiates_it_alike(loss):
    arguments = problem(loss)
    inputs = [pt.matrix("A"), pt.vector("y"), pt.vector("m"), pt.vector("parameters")]
    w, _ = InducingMode(type(loss), tol=1e-13)(*inputs)
    weights = pt.vector("weights")
    function = get_jaxified_graph(inputs=[*inputs, weights], outputs=[(weights * w).sum()])
    value, gradient = jax.value_and_grad(lambda *x: function(*x)[0], argnums=(0, 2, 3))(*arguments)
    w, _, of_A, _, of_m, of_p = compiled(loss, UNFUSED)(*arguments)
    assert float(value) == pytest.approx(arguments[-1] @ w, rel=1e-10)
    for ours, theirs in zip((of_A, of_m, of_p), gradient, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
def test_numba_gives_the_same_numbers():
    """Compiled, with a start and without, and what no solver can take."""
    loss = LOSSES[0]
    A, y, m, p, _ = problem(loss)
    inputs = [pt.matrix("A"), pt.vector("y"), pt.vector("m"), pt.vector("p"), pt.vector("a0")]
    run = pytensor.function(inputs, InducingMode(type(loss), tol=1e-13)(*inputs), mode="NUMBA")
    expected, _ = values(loss, A, y, m, p)
    cold = run(A, y, m, p, np.zeros(0))
    for w, a in (cold, run(A, y, m, p, cold[1])):
        np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(A.T @ a, w, rtol=1e-12)
    for bad in ([np.full_like(A, np.inf), y, m, p], [A, y, m, p * np.nan]):
        assert all(np.isnan(x).all() for x in run(*bad, np.zeros(0)))
    with pytest.raises(ValueError, match="The lengths of A, y, m and the parameters"):
        run(A, y[:-1], m, p, np.zeros(0))


def test_a_start_behind_the_wall():
    """Labels that the start contradicts: the solver draws it back to where the loss is finite."""
    loss = losses.Trigonometric(0.5)
    A, y, m, p, _ = problem(loss)
    op = InducingMode(type(loss), tol=1e-13)
    m = np.zeros_like(m)
    w, _ = op.solve(A, y, m, p[:, None] * np.ones(30), -5.0 * y)
    np.testing.assert_allclose(w, values(loss, A, y, m, p)[0], rtol=1e-9)


def test_only_curved_rows_enter_the_gram_matrix():
    rng = np.random.default_rng(3)
    A, W = rng.normal(size=(9, 4)), np.maximum(rng.normal(size=9), 0.0)
    A[W == 0.0] = np.nan
    inputs = [pt.matrix("A"), pt.vector("W")]
    G = pytensor.function(inputs, gram(*inputs), mode=UNFUSED)(A, W)
    rows = A[W > 0.0]
    np.testing.assert_allclose(G, rows.T @ (W[W > 0.0, None] * rows), rtol=1e-14)


def test_what_it_refuses(refuses):
    with refuses(ValueError, "SoftMarginL1 has kinks"):
        InducingMode(losses.SoftMarginL1)
    A, y, m, p, _ = problem(LOSSES[0])
    with refuses(ValueError, "The lengths of A, y, m"):
        InducingMode(losses.SILF).solve(A, y, m[:-1], p[:, None] * np.ones(30), np.zeros(0))
