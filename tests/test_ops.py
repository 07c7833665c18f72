"""The Ops against the NumPy solver, dense formulas, differences, other backends and a sampler."""

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
from pymc_bsvm.ops import DualSolve, FreeSolve, ImplicitDual, LogDet, SupportRows
from pymc_bsvm.ops.log_det import LogDetGradient
from pymc_bsvm.solvers import Status, interpreted
from pymc_bsvm.solvers.determinant import log_det, log_det_gradient

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
# Besides, `verify_grad` compiles by Numba what it is asked to do with FAST_COMPILE itself.
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
        mode=UNFUSED,
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
    functions = [pytensor.function(inputs, outputs, mode=mode) for mode in modes]
    results = [function(K, y, m, p) for function in functions]
    for other in results[1:]:
        for expected, got in zip(results[0], other, strict=True):
            # the gap is of second order in the dual, and JAX takes one Newton step more
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6)
    apart = np.zeros((2 * y.size, 2 * y.size))
    apart[::2, ::2] = K
    for expected, got in zip(results[0], functions[0](apart[::2, ::2], y, m, p), strict=True):
        np.testing.assert_array_equal(got, expected)  # compiled code reads a copy without gaps


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


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_a_start_changes_nothing_but_the_time(problem, loss):
    """Neither the dual nor its derivatives; a start that is not finite is a failure."""
    K, y, m, p, c = parts(problem, loss)
    inputs = [pt.dmatrix(), pt.dvector(), pt.dvector(), pt.dvector(), pt.dvector("a0")]
    a, status, *_ = DualSolve(type(loss), tol=1e-13)(*inputs)
    outputs = [a, status, *pytensor.grad((c * a).sum(), inputs[:4])]
    evaluate = pytensor.function(inputs, outputs, mode=UNFUSED)
    cold = evaluate(K, y, m, p, np.zeros(25))
    near = solve_dual(1.1 * K, y, loss, m=m).a
    for start in (cold[0], near, -near, 100.0 * near):
        for expected, got in zip(cold, evaluate(K, y, m, p, start), strict=True):
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=2e-6)
    with np.errstate(all="ignore"):
        broken = evaluate(K, y, m, p, np.where(np.arange(25) == 3, np.nan, near))
    assert broken[1] == -1
    assert np.isnan(broken[0]).all()
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(a.sum(), inputs[4])


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
        function = pytensor.function(inputs, u, mode=mode)
        np.testing.assert_allclose(function(K, h, c), expected, rtol=1e-12, atol=1e-13)
        assert np.isnan(function(K - 5 * np.eye(n), h, c)).any()
    some = free.nonzero()[0][:8]
    verify_grad(
        lambda root, h, c: FreeSolve()(root @ root.T, h, c),
        [np.linalg.cholesky(K[np.ix_(some, some)]), h[some], c[some]],
        rng=np.random.default_rng(1),
        mode=UNFUSED,
    )


# ---- the linear system with the solver's factor --------------------------------------------------


def factor_for(K, h):
    """Return rows, root curvature and Cholesky factor of the rows with a finite h."""
    index = np.flatnonzero(np.isfinite(h))
    root = 1.0 / np.sqrt(h[index])
    B = np.eye(index.size) + root[:, None] * K[np.ix_(index, index)] * root
    return index, root, np.linalg.cholesky(B)


def free_system():
    """Return a function of K, h, c and a factor."""
    inputs = [pt.dmatrix(), pt.dvector(), pt.dvector(), pt.lvector(), pt.dvector(), pt.dmatrix()]
    u = FreeSolve()(*inputs)
    return inputs, u


@pytest.fixture
def factorisations(monkeypatch):
    """Count what FreeSolve factorises in Python."""
    calls = []

    def factorised(*arguments):
        calls.append(arguments)
        return by_factor(*arguments)

    by_factor = interpreted._by_factor
    monkeypatch.setattr(interpreted, "_by_factor", factorised)
    return calls


def test_free_solve_with_a_factor(problem, factorisations):
    """The same rows need no factorisation, even if the curvature has moved a little since."""
    K, *_ = problem
    n = K.shape[0]
    rng = np.random.default_rng(5)
    h, c = rng.uniform(0.1, 2.0, n), rng.normal(size=n)
    h[::3] = np.inf
    free = np.isfinite(h)
    expected = np.zeros(n)
    expected[free] = np.linalg.solve(K[np.ix_(free, free)] + np.diag(h[free]), c[free])
    inputs, u = free_system()
    solve = pytensor.function(inputs, u, mode="FAST_COMPILE")
    fewer = np.where(np.arange(n) == 1, np.inf, h)
    factors = [
        (0, factor_for(K, h)),
        (0, factor_for(K, h * np.exp(0.02 * rng.normal(size=n)))),
        (1, factor_for(K, h * np.exp(3.0 * rng.normal(size=n)))),  # of no use any more
        (1, factor_for(K, fewer)),  # of other rows
        (1, (np.zeros(0, dtype="int64"), np.zeros(0), np.zeros((0, 0)))),
    ]
    for count, factor in factors:
        factorisations.clear()
        got = solve(K, h, c, *factor)
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
        assert len(factorisations) == count
    nothing = solve(K, np.full(n, np.inf), c, *factors[-1][1])
    np.testing.assert_array_equal(nothing, np.zeros(n))


def test_free_solve_with_a_factor_differentiates(problem):
    K, *_ = problem
    rng = np.random.default_rng(5)
    h, c, w = rng.uniform(0.5, 2.0, 25), rng.normal(size=25), rng.normal(size=25)
    h[::3] = np.inf
    inputs, u = free_system()
    of_K, of_c = pytensor.grad(u @ w, [inputs[0], inputs[2]])
    functions = [
        pytensor.function(inputs, [u, of_K, of_c], mode=mode) for mode in ("NUMBA", "FAST_COMPILE")
    ]
    free = np.isfinite(h)
    system = K[np.ix_(free, free)] + np.diag(h[free])
    expected = np.zeros((2, 25))
    expected[:, free] = np.linalg.solve(system, np.stack([c, w])[:, free].T).T
    for function in functions:
        got = function(K, h, c, *factor_for(K, h))
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(got[1], -np.outer(expected[1], expected[0]), atol=1e-11)
        np.testing.assert_allclose(got[2], expected[1], rtol=1e-11, atol=1e-12)


# ---- the determinant ----------------------------------------------------------------------------


def log_det_functions():
    """Return value, factor and derivatives with a factor of 1.7, in Numba and in Python."""
    K, W = pt.dmatrix(), pt.dvector()
    value, cholesky = LogDet()(K, W)
    outputs = [value, cholesky, *pytensor.grad(1.7 * value, [K, W])]
    return [pytensor.function([K, W], outputs, mode=m) for m in ("NUMBA", "FAST_COMPILE")]


def test_log_det(problem):
    """Rows without curvature, and with hardly any, are rows like all others."""
    K, *_ = problem
    n = K.shape[0]
    rng = np.random.default_rng(6)
    W = rng.uniform(0.1, 300.0, n)
    W[3], W[4], W[5], W[6] = 0.0, 1e-300, 1e-12, 1e7
    root = np.sqrt(W)
    B = np.eye(n) + root[:, None] * K * root
    R = root[:, None] * np.linalg.inv(B) * root
    posterior = np.diag(K - K @ R @ K)
    direct = np.array([1e-6, 2e-6, *W[2:]])  # away from zero, where the above cancels
    for function in log_det_functions():
        value, L, of_K, of_W = function(K, W)
        assert value == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-13)
        np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, B, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(of_K, 1.7 * R, rtol=1e-9, atol=1e-9 * np.abs(R).max())
        np.testing.assert_allclose(of_W, 1.7 * posterior, rtol=0, atol=1e-12)
        assert of_W[6] == pytest.approx(1.7e-7, rel=1e-5)  # what the data say, not the prior
        step = 1e-4 * W[0]
        up, down = (function(K, W + t * np.eye(n)[0])[0] for t in (step, -step))
        assert of_W[0] == pytest.approx(1.7 * (up - down) / (2.0 * step), rel=1e-6)
        none = function(K, 0.0 * W)
        assert none[0] == 0.0
        np.testing.assert_array_equal(none[2], 0.0 * K)
        np.testing.assert_allclose(none[3], 1.7 * np.diag(K), rtol=1e-15)
        assert function(K[:0, :0], W[:0])[0] == 0.0
        tiny = function(K, direct)
        assert tiny[3][0] == pytest.approx(
            1.7 * np.linalg.inv(np.linalg.inv(K) + np.diag(direct))[0, 0], rel=1e-9
        )


def test_log_det_of_an_indefinite_matrix_is_nan(problem):
    K, *_ = problem
    for function in log_det_functions()[1:]:
        value, L, of_K, of_W = function(K - 5.0 * np.eye(25), np.ones(25))
        assert np.isnan(value)
        assert np.isnan(L).all()
        assert np.isnan(of_K).any()
        assert np.isnan(of_W).any()


def test_log_det_differentiates_twice(problem):
    K, *_ = problem
    root, W = np.linalg.cholesky(K[:6, :6]), np.linspace(0.5, 3.0, 6)
    G, g = np.cos(np.arange(36.0)).reshape(6, 6), np.sin(np.arange(6.0))
    how = {"rng": np.random.default_rng(3), "mode": UNFUSED}
    verify_grad(lambda r, W: LogDet()(r @ r.T, W)[0], [root, W], **how)

    def gradient(r, W):
        K = r @ r.T
        R, q = LogDetGradient()(K, W, LogDet()(K, W)[1])
        return ((G + G.T) * R).sum() + (g * q).sum()

    verify_grad(gradient, [root, W], **how)


def test_the_factor_of_the_determinant_cannot_be_differentiated():
    K, W = pt.dmatrix(), pt.dvector()
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(LogDet()(K, W)[1].sum(), W)


# ---- support vectors ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_support_rows(mode):
    a, W, index = pt.dvector(), pt.dvector(), pt.lvector()
    rows = SupportRows()(a, W, index)
    function = pytensor.function([a, W, index], rows, mode=mode)
    dual = np.array([0.0, 1.0, -2.0, 0.0, 5.0, -1e-300, np.nan, 0.0])
    curvature = np.array([0.0, 0.5, 0.0, 1e-300, 2.0, 0.0, np.nan, np.nan])
    support, curved, place = function(dual, curvature, [4, 2, 1, 7])
    np.testing.assert_array_equal(support, [1, 3, 4, 2, 5, 6])  # those with curvature come first
    np.testing.assert_array_equal(curved, [0, 1, 2])
    np.testing.assert_array_equal(place, [2, 3, 0, -1])
    for none in function(0.0 * dual[:3], 0.0 * dual[:3], np.zeros(0, dtype="int64")):
        assert none.shape == (0,)
    for output in rows:
        assert output.dtype == "int64"
        with pytest.raises(pytensor.gradient.DisconnectedInputError):
            pytensor.grad(output.astype("float64").sum(), W)


@pytest.mark.parametrize(
    "loss", [losses.SILF(5.0, 0.2, 0.3), losses.Trigonometric(1.2), losses.Logistic()], ids=name_of
)
def test_implicit_dual(problem, loss):
    """On the support vectors alone, it has the derivatives of the dual of all rows."""
    K, y, m, p, c = parts(problem, loss)
    inputs, total, _, _ = objective(loss, c)
    expected = pytensor.function(inputs, pytensor.grad(total, inputs), mode=UNFUSED)(K, y, m, p)
    solution = solve_dual(K, y, loss, m=m, tol=1e-13)
    rows, free = np.flatnonzero(solution.support), np.flatnonzero(solution.free)
    rng = np.random.default_rng(0)
    rows = rng.permutation(rows)  # in any order
    factor = [pt.lvector("index"), pt.dvector("root"), pt.dmatrix("cholesky")]
    dual = pt.dvector("dual")
    a = ImplicitDual(type(loss))(*inputs, dual, *factor)
    gradients = pytensor.grad((c[rows] * a).sum(), inputs)
    function = pytensor.function([*inputs, dual, *factor], [a, *gradients], mode=UNFUSED)
    h = np.full(y.size, np.inf)
    h[free] = 1.0 / loss.curvature(y, solution.f)[free]
    square = np.ix_(rows, rows)
    restricted = (K[square], y[rows], m[rows], p, solution.a[rows])
    nothing = (np.zeros(0, dtype="int64"), np.zeros(0), np.zeros((0, 0)))
    for used in (factor_for(K[square], h[rows]), nothing):
        got = function(*restricted, *used)
        np.testing.assert_array_equal(got[0], solution.a[rows])
        close = {"rtol": 1e-7, "atol": 1e-9}
        np.testing.assert_allclose(got[1], expected[0][square], **close)
        np.testing.assert_allclose(got[2], expected[1][rows], **close)
        np.testing.assert_allclose(got[3], expected[2][rows], **close)
        np.testing.assert_allclose(got[4], expected[3], **close)
    outside = np.ones_like(K, dtype=bool)
    outside[square] = False
    np.testing.assert_array_equal(expected[0][outside], 0.0)
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad((c[rows] * a).sum(), dual)


@pytest.mark.parametrize(
    ("op", "other"),
    [
        (LogDet(), LogDetGradient()),
        (SupportRows(), LogDet()),
        (ImplicitDual(losses.SILF), ImplicitDual(losses.Huber)),
        (FreeSolve(), SupportRows()),
    ],
)
def test_identity_of_the_other_ops(op, other):
    again = pickle.loads(pickle.dumps(op))
    assert again == op
    assert hash(again) == hash(op)
    assert op != other


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


@pytest.mark.slow
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


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3])
def test_log_det_is_precise_whatever_the_data_say(scale):
    """The derivative for W, the posterior variance, where W K is tiny and where it is large."""
    X = np.linspace(-3.0, 3.0, 60)
    K = scale * (np.exp(-0.5 * (X[:, None] - X) ** 2) + 0.1 * np.eye(60))
    W = np.geomspace(1e-3, 1e2, 60)
    _, L = log_det(K, W)
    R, q = log_det_gradient(K, W, L)
    inverse = np.linalg.inv(np.eye(60) + K * W)  # (I + K W)⁻¹
    np.testing.assert_allclose(q, np.diag(inverse @ K), rtol=1e-11)
    np.testing.assert_allclose(R, W[:, None] * inverse, rtol=1e-9, atol=1e-11 * np.abs(R).max())


# ---- parameters by row ---------------------------------------------------------------------------


def by_row(loss, n=25):
    """Return the parameters of the formulas by row, and the loss that has them."""
    rng = np.random.default_rng(31)
    rows = type(loss)(**{k: x * rng.uniform(0.5, 1.0, n) for k, x in loss.fields.items()})
    return rows.by_row(n), rows


@pytest.mark.parametrize("loss", [x for x in LOSSES if x.domains], ids=name_of)
def test_parameters_by_row(problem, loss):
    """Values, and derivatives against differences in single rows' parameters."""
    K, y, m, _, c = parts(problem, loss)
    p, rows = by_row(loss)
    inputs = [pt.matrix("K"), pt.vector("y"), pt.vector("m"), pt.matrix("parameters")]
    a, status, *_ = DualSolve(type(loss), tol=1e-13)(*inputs)
    of_p = pytensor.grad((c * a).sum(), inputs[3])
    dual, code, of_p = pytensor.function(inputs, [a, status, of_p], mode=UNFUSED)(K, y, m, p)
    reference = solve_dual(K, y, rows, m=m, tol=1e-13)
    assert code == 0
    np.testing.assert_allclose(dual, reference.a, rtol=1e-10, atol=1e-11)
    assert of_p.shape == p.shape
    compared = 0
    for k, field in enumerate(loss.domains):
        for i in range(25):
            ends = []
            for step in (1e-6, -1e-6):
                moved = p[: len(loss.domains)].copy()
                moved[k, i] += step
                ends.append(solve_dual(K, y, type(loss)(*moved), m=m, tol=1e-13))
            if all((end.free == reference.free).all() for end in ends):
                difference = c @ (ends[0].a - ends[1].a) / 2e-6
                assert of_p[k, i] == pytest.approx(difference, rel=1e-5, abs=1e-5), (field, i)
                compared += 1
    assert compared >= 20


def test_shared_parameters_as_a_matrix(problem):
    loss = losses.SILF(5.0, 0.2, 0.3)
    K, y, m, p, c = parts(problem, loss)
    vector, matrix = pt.vector(), pt.matrix()
    one, two = (DualSolve(losses.SILF)(K, y, m, x)[0] for x in (vector, matrix))
    outputs = [
        one,
        two,
        *(pytensor.grad((c * a).sum(), x) for a, x in ((one, vector), (two, matrix))),
    ]
    function = pytensor.function([vector, matrix], outputs, mode=UNFUSED)
    one, two, of_vector, of_matrix = function(p, np.tile(p[:, None], 25))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(of_matrix.sum(axis=1), of_vector, rtol=1e-12)


@pytest.mark.parametrize("loss", [LOSSES[0], LOSSES[5]], ids=name_of)
@pytest.mark.parametrize("mode", ["NUMBA", "JAX"])
def test_backends_with_parameters_by_row(problem, loss, mode):
    K, y, m, _, c = parts(problem, loss)
    p, _ = by_row(loss)
    inputs = [pt.matrix("K"), pt.vector("y"), pt.vector("m"), pt.matrix("parameters")]
    a, status, *_ = DualSolve(type(loss), tol=1e-13)(*inputs)
    outputs = [a, status, *pytensor.grad((c * a).sum(), [inputs[0], inputs[3]])]
    for got, wanted in zip(
        pytensor.function(inputs, outputs, mode=mode)(K, y, m, p),
        pytensor.function(inputs, outputs, mode=UNFUSED)(K, y, m, p),
        strict=True,
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_parameters_of_the_wrong_shape(problem, mode):
    K, y, m, *_ = problem[0], problem[1], problem[3]
    parameters = pt.matrix()
    solve = pytensor.function(
        [parameters], DualSolve(losses.SILF)(K, y, m, parameters)[0], mode=mode
    )
    for shape in ((3, 24), (3, 1), (2, 25)):
        with pytest.raises(ValueError, match="do not agree"):
            solve(np.ones(shape))


@pytest.mark.parametrize("mode", ["NUMBA", "FAST_COMPILE"])
def test_a_loss_that_is_defined_in_a_function(problem, mode):
    class Local(losses.SILF):
        """One of its formulas, so that nothing new is compiled."""

    K, y, m, *_ = problem[0], problem[1], problem[3]
    p = np.array([10.0, 0.1, 0.3])
    own, stated = (
        pytensor.function([], DualSolve(kind)(K, y, m, p)[0], mode=mode)()
        for kind in (Local, losses.SILF)
    )
    np.testing.assert_array_equal(own, stated)
    assert np.abs(own).max() > 0.1


# ---- how the interpreted solve of the Op ends ---------------------------------------------------


def test_status_of_inputs_that_are_not_finite():
    K, y, nothing = np.eye(3), np.array([0.0, 1.0, 2.0]), np.zeros(0)
    op, p = DualSolve(losses.Gaussian), np.full((1, 3), 0.5)
    assert op.solve(K, y, np.zeros(3), p, nothing)[1] == 0
    for place in range(4):
        inputs = [K.copy(), y.copy(), np.zeros(3), p.copy()]
        inputs[place].flat[1] = np.nan
        a, status, f, *_ = op.solve(*inputs, nothing)
        assert status == -1  # no position in Status
        assert np.isnan(a).all()
        assert np.isnan(f).all()


def test_what_rounding_stops_is_accepted_up_to_the_gap_that_counts():
    x = np.linspace(-3.0, 3.0, 40)
    K, y = np.exp(-0.5 * (x[:, None] - x) ** 2), np.sin(2.0 * x) + 0.1 * np.cos(40.0 * x)
    p = np.repeat([[50.0], [0.01], [0.3]], 40, axis=1)
    arguments = K, y, np.zeros(40), p, np.zeros(0)
    stopped = DualSolve(losses.SILF, tol=1e-25, max_iter=100).solve(*arguments)
    assert list(Status)[stopped[1]] in (Status.STALLED, Status.MAX_ITER)  # as rounding has it
    assert np.isnan(stopped[0]).all()
    accepted = DualSolve(losses.SILF, tol=1e-25, accept=1e-9, max_iter=100).solve(*arguments)
    assert accepted[1] == 0
    expected = solve_dual(K, y, losses.SILF(50.0, 0.01, 0.3))
    np.testing.assert_allclose(accepted[2], expected.f, atol=1e-6)


def test_compiled_code_keeps_to_the_settings_of_each_op():
    x = np.linspace(-3.0, 3.0, 40)
    K, y = np.exp(-0.5 * (x[:, None] - x) ** 2), np.sin(2.0 * x) + 0.1 * np.cos(40.0 * x)
    p = np.repeat([[50.0], [0.01], [0.3]], 40, axis=1)
    arguments = K, y, np.zeros(40), p, np.zeros(0)
    settings = [
        {"tol": 1.0},
        {"tol": 1e-12},
        {"tol": 1e-12, "max_iter": 2},
        {"tol": 1e-25, "accept": 1e-9, "max_iter": 100},
        {"tol": 1e-25, "accept": 1e-24, "max_iter": 100},
    ]
    inputs = pt.matrix(), pt.vector(), pt.vector(), pt.matrix(), pt.vector()
    ops = [DualSolve(losses.SILF, **each) for each in settings]
    both = [result for op in ops for result in op(*inputs)[:2]]
    found = pytensor.function(inputs, both, mode="NUMBA")(*arguments)
    for op, a, status in zip(ops, found[::2], found[1::2], strict=True):
        wanted = op.solve(*arguments)
        assert (status == 0) == (wanted[1] == 0)
        np.testing.assert_allclose(a, wanted[0], atol=1e-7)
    assert [int(status) == 0 for status in found[1::2]] == [True, True, False, True, False]
    assert np.abs(found[0] - found[2]).max() > 1e-3  # the coarse dual is another one
