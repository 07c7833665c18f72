"""DualSolve against the NumPy solver, central differences, other backends and a sampler."""

import pickle

import arviz as az
import jax
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.sampling.jax import get_jaxified_graph
from pytensor.compile.mode import get_mode
from pytensor.gradient import verify_grad

from pymc_bsvm import losses, solve_dual, symbolic
from pymc_bsvm.ops import DualSolve, FreeSolve

LOSSES = [
    losses.SILF(5.0, 0.2, 0.3),
    losses.Huber(5.0, 0.2),
    losses.EpsilonInsensitive(3.0, 0.1),
    losses.Laplace(2.0),
    losses.Gaussian(0.3),
    losses.Trigonometric(1.2),
    losses.Logistic(),
    losses.Probit(),
    losses.SoftMarginL1(1.5),
    losses.SoftMarginL2(2.0),
    losses.SoftMarginLe(2.0, 0.3),
]

# Quick to compile for every loss; products of many factors would exceed what Python mode can do.
UNFUSED = get_mode("FAST_COMPILE").excluding("fusion", "canonicalize")


def name_of(loss):
    return type(loss).__name__


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(20)
    n = 25
    X = np.sort(rng.uniform(-3, 3, n))
    K = 1.4 * np.exp(-0.5 * (X[:, None] - X) ** 2 / 0.6) + 0.3 + 0.05 * np.eye(n)
    y = np.sin(X) + rng.standard_t(3, size=n) * 0.2
    labels = np.where(np.sin(X) + rng.normal(size=n) > 0, 1.0, -1.0)
    return K, y, labels, 0.1 * np.cos(X), rng.normal(size=n)


def parts(problem, loss):
    K, y, labels, m, c = problem
    return K, (y if loss.task == "regression" else labels), m, np.array(loss.parameters, float), c


def objective(loss, c, tol=1e-13):
    """Return symbolic inputs, ``c'a``, the dual and the status."""
    inputs = [pt.matrix("K"), pt.vector("y"), pt.vector("m"), pt.vector("parameters")]
    a, status, *_ = DualSolve(type(loss), tol=tol)(*inputs)
    return inputs, (c * a).sum(), a, status


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_value_and_derivatives(problem, loss):
    K, y, m, p, c = parts(problem, loss)
    inputs, total, a, status = objective(loss, c)
    outputs = [a, status, *pytensor.grad(total, inputs)]
    evaluate = pytensor.function(inputs, outputs, mode=UNFUSED)
    dual, code, of_K, of_y, of_m, of_p = evaluate(K, y, m, p)
    reference = solve_dual(K, y, loss, m=m, tol=1e-13)
    assert code == 0
    np.testing.assert_allclose(dual, reference.a, rtol=1e-12, atol=1e-12)

    def value(K, y, m, p):
        solution = solve_dual(K, y, type(loss)(*p[: len(loss.domains)]), m=m, tol=1e-13)
        same = (solution.free == reference.free).all()
        assert same, "a central difference crossed a change of the free set"
        return c @ solution.a

    rng, step = np.random.default_rng(7), 1e-6
    E = rng.normal(size=(K.shape[0], 4))
    directions = {"K": (0, E @ E.T / 4, of_K), "m": (2, rng.normal(size=m.shape), of_m)}
    if loss.task == "regression":
        directions["y"] = (1, rng.normal(size=y.shape), of_y)
    for i in range(len(loss.domains)):
        directions[f"parameter {i}"] = (3, np.eye(len(p))[i], of_p)
    for name, (position, direction, gradient) in directions.items():
        up, down = [K, y, m, p], [K, y, m, p]
        up[position] = up[position] + step * direction
        down[position] = down[position] - step * direction
        difference = (value(*up) - value(*down)) / (2 * step)
        expected = (gradient * direction).sum()
        assert expected == pytest.approx(difference, rel=2e-6, abs=2e-6), name


def test_verify_grad(problem):
    loss = losses.SILF(5.0, 0.2, 0.3)
    K, y, m, p, _ = parts(problem, loss)
    K, y, m = K[:8, :8], y[:8], m[:8]
    op = DualSolve(losses.SILF, tol=1e-13)

    def dual(root, y, m, p):  # K = root root' keeps the perturbed matrix symmetric
        return op(root @ root.T, y, m, p)[0]

    verify_grad(
        dual,
        [np.linalg.cholesky(K), y, m, p],
        rng=np.random.default_rng(3),
        eps=1e-7,
        mode="FAST_COMPILE",
    )


def test_second_derivatives_follow(problem):
    loss = losses.Trigonometric(1.2)
    K, y, m, p, c = parts(problem, loss)
    inputs, total, _, _ = objective(loss, c)
    first = pytensor.grad(total, inputs[3])[0]
    second = pytensor.grad(first, inputs[3])[0]
    evaluate = pytensor.function(inputs, [first, second], mode="FAST_COMPILE")
    step = 1e-5
    up, down = (evaluate(K, y, m, p + h)[0] for h in (step, -step))
    assert evaluate(K, y, m, p)[1] == pytest.approx((up - down) / (2 * step), rel=1e-5)


@pytest.mark.parametrize(
    "loss",
    [
        LOSSES[0],
        *(pytest.param(loss, marks=pytest.mark.slow) for loss in LOSSES[1:]),
    ],
    ids=name_of,
)
def test_backends_agree(problem, loss):
    modes = ["NUMBA", UNFUSED, *(["JAX"] if loss.differentiable else [])]
    K, y, m, p, c = parts(problem, loss)
    inputs, total, a, status = objective(loss, c)
    outputs = [a, status, *pytensor.grad(total, inputs)]
    results = [pytensor.function(inputs, outputs, mode=mode)(K, y, m, p) for mode in modes]
    for other in results[1:]:
        for expected, got in zip(results[0], other, strict=True):
            # the gap is of second order in the dual, and JAX takes one Newton step more
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("loss", [LOSSES[0], LOSSES[5]], ids=name_of)
def test_jax_differentiates_the_forward_graph(problem, loss):
    K, y, m, p, c = parts(problem, loss)
    inputs, total, _, _ = objective(loss, c)
    forward = get_jaxified_graph(inputs, [total])
    by_jax = jax.grad(lambda *args: forward(*args)[0], argnums=(0, 2, 3))(K, y, m, p)
    gradients = pytensor.grad(total, [inputs[0], inputs[2], inputs[3]])
    expected = pytensor.function(inputs, gradients, mode="FAST_COMPILE")(K, y, m, p)
    np.testing.assert_allclose(by_jax[0] + by_jax[0].T, expected[0] + expected[0].T, atol=1e-8)
    np.testing.assert_allclose(by_jax[1], expected[1], atol=1e-8)
    np.testing.assert_allclose(by_jax[2], expected[2], atol=1e-8)


def test_jax_refuses_kinks_with_a_remedy(problem):
    loss = losses.EpsilonInsensitive(3.0, 0.1)
    inputs, _, a, _ = objective(loss, problem[4])
    with pytest.raises(NotImplementedError, match=r"kinks.*Use the default backend"):
        pytensor.function(inputs, a, mode="JAX")


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_failures_are_nan_with_a_status(problem, mode):
    loss = losses.SILF(5.0, 0.2, 0.3)
    K, y, m, p, _ = parts(problem, loss)
    inputs, _, a, status = objective(loss, 1.0)
    evaluate = pytensor.function(inputs, [a, status], mode=mode)
    infinite = K.copy()
    infinite[0, 0] = np.inf
    indefinite = K - 2.0 * np.eye(K.shape[0])
    for matrix, expected in ((infinite, -1), (indefinite, 3)):
        dual, code = evaluate(matrix, y, m, p)
        assert code == expected
        assert np.isnan(dual).all()
    assert not np.isnan(evaluate(K, y, m, p)[0]).any()


def test_the_status_cannot_be_differentiated(problem):
    inputs, _, _, status = objective(losses.SILF(5.0, 0.2, 0.3), 1.0)
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(status.astype("float64"), inputs[0])


def test_identity_and_pickling(problem):
    op = DualSolve(losses.SILF)
    assert op == DualSolve(losses.SILF)
    assert hash(op) == hash(DualSolve(losses.SILF))
    assert op != DualSolve(losses.SILF, tol=1e-6)
    assert op != DualSolve(losses.Huber)
    assert pickle.loads(pickle.dumps(op)) == op
    loss = losses.SILF(5.0, 0.2, 0.3)
    inputs, total, _, _ = objective(loss, problem[4])
    K, y, m, p, _ = parts(problem, loss)
    function = pytensor.function(inputs, total, mode="FAST_COMPILE")
    assert pickle.loads(pickle.dumps(function))(K, y, m, p) == function(K, y, m, p)


@pytest.mark.parametrize("wrong", range(4))
def test_dimensions_are_checked(wrong):
    arguments = [pt.matrix(), pt.vector(), pt.vector(), pt.vector()]
    arguments[wrong] = pt.scalar()
    with pytest.raises(ValueError, match=r"must have \d dimensions, but it has 0\. Pass"):
        DualSolve(losses.SILF)(*arguments)


def test_free_solve(problem):
    K, *_ = problem
    n = K.shape[0]
    rng = np.random.default_rng(5)
    h, c = rng.uniform(0.1, 2.0, n), rng.normal(size=n)
    h[::3] = np.inf
    free = np.isfinite(h)
    expected = np.zeros(n)
    expected[free] = np.linalg.solve(K[np.ix_(free, free)] + np.diag(h[free]), c[free])
    inputs = [pt.matrix(), pt.vector(), pt.vector()]
    u = FreeSolve()(*inputs)
    for mode in ("NUMBA", "FAST_COMPILE"):
        got = pytensor.function(inputs, u, mode=mode)(K, h, c)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
    assert np.isnan(pytensor.function(inputs, u)(K - 5 * np.eye(n), h, c)).any()
    some = free.nonzero()[0][:8]
    verify_grad(
        lambda root, h, c: FreeSolve()(root @ root.T, h, c),
        [np.linalg.cholesky(K[np.ix_(some, some)]), h[some], c[some]],
        rng=np.random.default_rng(1),
        mode="FAST_COMPILE",
    )


def toy_model(problem):
    """Return a model whose log density is minus the primal at the MAP estimate."""
    K, y, *_ = problem
    with pm.Model() as model:
        C = pm.LogNormal("C", 1.0, 0.5)
        amplitude = pm.LogNormal("amplitude", 0.0, 0.5)
        covariance = amplitude * pt.as_tensor(K)
        parameters = pt.stack([C, 0.2, 0.3])
        a, *_ = DualSolve(losses.SILF)(covariance, y, np.zeros_like(y), parameters)
        f = covariance @ a
        silf = losses.formulas(losses.SILF, symbolic)
        penalty = silf.value(y, f, C, 0.2, 0.3).sum() + 0.5 * a @ f
        pm.Potential("fit", -penalty - y.size * silf.log_normalizer(C, 0.2, 0.3))
    return model


@pytest.mark.parametrize("sampler", ["pymc", "nutpie"])
def test_samplers_agree_with_a_grid(problem, sampler):
    model = toy_model(problem)
    with model:
        trace = pm.sample(
            draws=200,
            tune=100,
            chains=2,
            cores=2,
            random_seed=4,
            progressbar=False,
            nuts_sampler=sampler,
            mp_ctx="forkserver",  # JAX, which other tests import, does not bear a fork
            compute_convergence_checks=False,
        )
    axis = np.linspace(-2.5, 5.5, 60)
    names = [variable.name for variable in model.continuous_value_vars]
    log_density = model.compile_logp()
    grid = np.array(
        [[log_density(dict(zip(names, (u, v), strict=True))) for v in axis] for u in axis]
    )
    weights = np.exp(grid - grid.max())
    marginals = dict(zip(names, (weights.sum(1), weights.sum(0)), strict=True))
    assert int(trace.sample_stats["diverging"].sum()) <= 4
    for name in ("C", "amplitude"):
        expected = np.average(axis, weights=marginals[f"{name}_log__"])
        draws = np.log(trace.posterior[name])
        error = float(draws.std()) / np.sqrt(float(az.ess(draws)))
        assert abs(float(draws.mean()) - expected) < 5 * error
