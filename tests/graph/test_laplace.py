"""The evidence as a PyTensor expression: values, derivatives, and how much work they take."""

from functools import cache

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode
from pytensor.gradient import DisconnectedInputError
from scipy.stats import multivariate_normal

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.graph.laplace import EvidenceTerms, evidence_terms, map_estimate
from pymc_bsvm.ops import DualSolve, FreeSolve
from pymc_bsvm.solvers import interpreted
from tests.evidence.test_laplace import LOSSES, both, every_case, every_loss, width_of
from tests.oracle import evidence as oracle
from tests.solvers.problems import by_row, problem

UNFUSED = get_mode("FAST_COMPILE").excluding("fusion", "canonicalize")
NAMES = ("log_evidence", "fit", "penalty", "log_det", "log_normalizer")


def symbols(loss_type):
    """Return the inputs of an evidence, and the loss with symbolic parameters."""
    inputs = [pt.dmatrix("K"), pt.dvector("y"), pt.dvector("m"), pt.dvector("parameters")]
    return inputs, loss_type(*(inputs[3][i] for i in range(len(loss_type.domains))))


@cache
def compiled(loss_type, curvature):
    """Return a function of numbers: terms, MAP estimate, and gradients of the log evidence."""
    inputs, loss = symbols(loss_type)
    K, y, m, _ = inputs
    terms = laplace_evidence(K, y, loss, curvature, m=m)
    gradients = pytensor.grad(terms.log_evidence, inputs, disconnected_inputs="ignore")
    estimate = terms.estimate
    outputs = [getattr(terms, name) for name in NAMES]
    outputs += [estimate.a, estimate.f, estimate.status, *gradients]
    names = [*NAMES, "a", "f", "status", "of_K", "of_y", "of_m", "of_parameters"]
    function = pytensor.function(inputs, outputs, mode=UNFUSED, on_unused_input="ignore")
    return lambda *arguments: dict(zip(names, function(*arguments), strict=True))


def values_of(loss):
    return np.array([getattr(loss, name) for name in loss.domains], dtype=float)


def evaluate(K, y, loss, curvature, m):
    return compiled(type(loss), curvature)(K, y, m, values_of(loss))


def regular(loss, n, seed):
    """Return a well conditioned problem with a prior mean."""
    K, y = problem(loss, n, seed)
    return K + 0.05 * np.eye(n), y, 0.05 * np.random.default_rng(seed).normal(size=n)


# ---- published numbers ------------------------------------------------------------------------


@cache
def published_form(kind):
    """Return value and gradient as a function of the logs of all hyperparameters."""
    X, y = pt.dmatrix("X"), pt.dvector("y")
    logs = {key: pt.dscalar(key) for key in ("kappa0", "kappa", "kappa_b")}
    if kind == "silf":
        logs |= {key: pt.dscalar(key) for key in ("C", "epsilon")}
    beta, jitter = pt.dscalar("beta"), pt.dscalar("jitter")
    kappa0, kappa, kappa_b, *own = map(pt.exp, logs.values())
    distance = pt.sqr(X[:, None] - X[None]).sum(-1)
    K = kappa0 * pt.exp(-0.5 * kappa * distance) + kappa_b + jitter * pt.eye(X.shape[0])
    loss = losses.SILF(*own, beta) if kind == "silf" else losses.Trigonometric(1.0)
    value = -laplace_evidence(K, y, loss, "exact").log_evidence
    outputs = [value, *pytensor.grad(value, list(logs.values()))]
    inputs = [X, y, beta, jitter, *logs.values()]
    return list(logs), pytensor.function(inputs, outputs, mode=UNFUSED, on_unused_input="ignore")


@every_case
def test_published_values_and_gradients(case, published):
    keys, function = published_form(case["loss"])
    fixed = (case["X"], case["y"], case.get("beta", 0.3), case.get("jitter", 0.0))
    value, *gradient = function(*fixed, *(np.log(case[key]) for key in keys))
    assert value == pytest.approx(published["neg_log_evidence"], rel=1e-10, abs=1e-10)
    gradient = dict(zip(keys, gradient, strict=True))
    assert set(published["grad_log"]) <= set(gradient)
    for key, expected in published["grad_log"].items():
        assert gradient[key] == pytest.approx(expected, rel=1e-8, abs=1e-8), key


# ---- values and gradients of all losses ---------------------------------------------------------


@every_loss
@both
@pytest.mark.parametrize("seed", [0, 1])
def test_dense_formulas(loss, curvature, seed):
    """All terms, and the gradient with respect to K, the mean and the parameters."""
    K, y, m = regular(loss, 30, seed)
    got = evaluate(K, y, loss, curvature, m)
    reference = laplace_evidence(K, y, loss, curvature, m=m)
    assert got["status"] == 0
    for name in NAMES:
        expected = getattr(reference, name)
        assert got[name] == pytest.approx(expected, rel=1e-9, abs=1e-9), name
    a, f = reference.solution.a, reference.solution.f
    np.testing.assert_allclose(got["a"], a, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(got["f"], m + K @ got["a"], rtol=1e-10, atol=1e-11)
    dense = oracle.gradient(K, y, loss, a, f, width_of(loss, curvature))
    scale = np.abs(dense["K"]).max()
    of_K = 0.5 * (got["of_K"] + got["of_K"].T)
    np.testing.assert_allclose(of_K, dense["K"], rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(got["of_m"], dense["m"], rtol=1e-7, atol=1e-7)
    for k, name in enumerate(loss.domains):
        expected = dense["parameters"][name]
        assert got["of_parameters"][k] == pytest.approx(expected, rel=1e-7, abs=1e-7), name


@every_loss
@both
@pytest.mark.parametrize("n", [15, 25])
def test_central_differences(loss, curvature, n):
    """With respect to everything, along random directions; no row may change its set."""
    K, y, m = regular(loss, n, 3)
    p, h = values_of(loss), 1e-6
    got = evaluate(K, y, loss, curvature, m)
    here = laplace_evidence(K, y, loss, curvature, m=m).solution.free

    def value(K, y, m, p):
        result = laplace_evidence(K, y, type(loss)(*p), curvature, m=m)
        same = (result.solution.free == here).all()
        assert same, "a central difference crossed a change of the free set"
        return result.log_evidence

    rng = np.random.default_rng(4)
    E = rng.normal(size=(n, 3))
    directions = {"K": (0, 0.1 * E @ E.T), "m": (2, rng.normal(size=n))}
    if loss.task == "regression":
        directions["y"] = (1, rng.normal(size=n))
    for k, name in enumerate(loss.domains):
        if p[k] < 1.0 or name != "beta":  # one is as far as beta may go
            directions[name] = (3, p[k] * np.eye(len(p))[k])
    gradients = [got[key] for key in ("of_K", "of_y", "of_m", "of_parameters")]
    for name, (position, direction) in directions.items():
        up, down = [K, y, m, p], [K, y, m, p]
        up[position] = up[position] + h * direction
        down[position] = down[position] - h * direction
        difference = (value(*up) - value(*down)) / (2.0 * h)
        expected = (gradients[position] * direction).sum()
        assert expected == pytest.approx(difference, rel=1e-5, abs=3e-6), name


@pytest.mark.parametrize(
    "loss", [losses.SILF(10.0, 0.1, 0.3), losses.Trigonometric(1.0), losses.Logistic()], ids=repr
)
@both
def test_second_derivatives_follow(loss, curvature):
    """Differences of the gradient along a line through K, the mean and the parameters."""
    K, y, m = regular(loss, 12, 5)
    (S, targets, mean, parameters), stated = symbols(type(loss))
    t = pt.dscalar("t")
    D = 0.1 * np.outer(np.cos(np.arange(12.0)), np.cos(np.arange(12.0)))
    moved = type(loss)(*(getattr(stated, name) * pt.exp(0.3 * t) for name in loss.domains))
    value = laplace_evidence(S + t * D, targets, moved, curvature, m=mean + 0.1 * t).log_evidence
    first = pytensor.grad(value, t)
    outputs = [first, pytensor.grad(first, t)]
    inputs = [S, targets, mean, parameters, t]
    function = pytensor.function(inputs, outputs, mode=UNFUSED, on_unused_input="ignore")
    arguments, h = (K, y, m, values_of(loss)), 1e-5
    up, down = (function(*arguments, step)[0] for step in (h, -h))
    second = function(*arguments, 0.0)[1]
    assert second == pytest.approx((up - down) / (2.0 * h), rel=1e-5, abs=1e-5)


# ---- what is symbolic and what is not -----------------------------------------------------------


def test_one_symbol_is_enough():
    loss = losses.SILF(10.0, 0.1, 0.3)
    K, y, _ = regular(loss, 20, 0)
    expected = laplace_evidence(K, y, loss, m=0.1).log_evidence
    C, targets, covariance, mean = pt.dscalar(), pt.dvector(), pt.dmatrix(), pt.dscalar()
    for symbol, number, arguments in (
        (C, 10.0, (K, y, losses.SILF(C, 0.1, 0.3))),
        (targets, y, (K, targets, loss)),
        (covariance, K, (covariance, y, loss)),
    ):
        terms = laplace_evidence(*arguments, m=0.1)
        assert isinstance(terms, EvidenceTerms)
        function = pytensor.function([symbol], terms.log_evidence, mode=UNFUSED)
        assert function(number) == pytest.approx(expected, rel=1e-12)
    terms = laplace_evidence(K, y, loss, m=mean)
    gradient = pytensor.grad(terms.log_evidence, mean)
    value, slope = pytensor.function([mean], [terms.log_evidence, gradient], mode=UNFUSED)(0.1)
    assert value == pytest.approx(expected, rel=1e-12)
    dense = evaluate(K, y, loss, "smooth", np.full(20, 0.1))["of_m"].sum()
    assert slope == pytest.approx(dense, rel=1e-9)


def test_width_of_the_ramps():
    loss, C = losses.SILF(10.0, 0.1, 0.3), pt.dscalar()
    K, y, _ = regular(loss, 40, 4)
    for width in (0.05, 1.0):
        terms = laplace_evidence(K, y, losses.SILF(C, 0.1, 0.3), ramp_width=width)
        expected = laplace_evidence(K, y, loss, ramp_width=width).log_evidence
        function = pytensor.function([C], terms.log_evidence, mode=UNFUSED)
        assert function(10.0) == pytest.approx(expected, rel=1e-12)


@every_loss
@both
def test_terms_add_up(loss, curvature):
    K, y, m = regular(loss, 20, 6)
    got = evaluate(K, y, loss, curvature, m)
    total = got["fit"] + got["penalty"] + 0.5 * got["log_det"] + got["log_normalizer"]
    assert got["log_evidence"] == pytest.approx(-total, rel=1e-14)
    assert min(got["fit"], got["penalty"], got["log_det"]) > 0.0


@pytest.mark.parametrize(
    "loss", [losses.SILF(10.0, 0.1, 0.3), losses.Trigonometric(1.0), losses.Logistic()], ids=repr
)
def test_each_term_differentiates(loss):
    """Also the terms whose implicit derivatives cancel in the sum."""
    K, y, m = regular(loss, 12, 5)
    (S, targets, mean, parameters), stated = symbols(type(loss))
    t = pt.dscalar("t")
    D = 0.1 * np.outer(np.cos(np.arange(12.0)), np.cos(np.arange(12.0)))
    moved = type(loss)(*(getattr(stated, name) * pt.exp(0.3 * t) for name in loss.domains))
    terms = laplace_evidence(S + t * D, targets, moved, m=mean + 0.1 * t)
    values = [getattr(terms, name) for name in ("fit", "penalty", "log_det")]
    outputs = [*values, *(pytensor.grad(value, t) for value in values)]
    inputs = [S, targets, mean, parameters, t]
    function = pytensor.function(inputs, outputs, mode=UNFUSED, on_unused_input="ignore")
    arguments, h = (K, y, m, values_of(loss)), 1e-6
    up, down = (np.array(function(*arguments, step)[:3]) for step in (h, -h))
    slopes = function(*arguments, 0.0)[3:]
    np.testing.assert_allclose(slopes, (up - down) / (2.0 * h), rtol=1e-5, atol=1e-5)


def test_the_estimate_is_a_constant_of_the_graph():
    inputs, loss = symbols(losses.SILF)
    K, y, m, _ = inputs
    estimate = map_estimate(K, y, m, loss)
    for output in (estimate.a.sum(), estimate.f.sum()):
        with pytest.raises(DisconnectedInputError):
            pytensor.grad(output, K)


# ---- failures -----------------------------------------------------------------------------------


@every_loss
@both
def test_failures_are_nan_with_a_status(loss, curvature):
    K, y, m = regular(loss, 12, 0)
    broken = K.copy()
    broken[2, 3] = broken[3, 2] = np.nan
    cases = [(broken, y, m, -1), (K - 50.0 * np.eye(12), y, m, 3), (K, y, m * np.nan, -1)]
    if loss.task == "regression":
        cases.append((K, np.where(np.arange(12) == 4, np.inf, y), m, -1))
    for covariance, targets, mean, status in cases:
        got = evaluate(covariance, targets, loss, curvature, mean)
        assert got["status"] == status
        assert np.isnan(got["log_evidence"])
        assert np.isnan(got["a"]).all()
    assert np.isfinite(evaluate(K, y, loss, curvature, m)["log_evidence"])


def test_a_mean_behind_the_wall():
    loss = losses.Trigonometric(1.0)
    K, y, _ = regular(loss, 12, 0)
    got = evaluate(K, y, loss, "smooth", -5.0 * y)
    assert np.isnan(got["log_evidence"])
    assert got["status"] == 4


# ---- how much work it is ------------------------------------------------------------------------


@cache
def with_own_minor(curvature):
    """Return the rows asked for, and gradients through the minor and beside it."""
    inputs, loss = symbols(losses.SILF)
    K, y, m, parameters = inputs
    other, asked = pt.dmatrix("other"), []

    def minor(rows):
        asked.append(rows)
        return other[rows[:, None], rows]

    width = width_of(losses.SILF(10.0, 0.1, 0.3), curvature) or 0.0
    value = evidence_terms(K, y, loss, m=m, ramp_width=width, minor=minor).log_evidence
    with pytest.raises(DisconnectedInputError):
        pytensor.grad(value, K)
    (rows,) = asked
    outputs = [rows, value, *pytensor.grad(value, [other, parameters])]
    return pytensor.function([*inputs, other], outputs, mode=UNFUSED)


@both
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_derivatives_live_on_the_support_vectors(curvature, seed):
    loss = losses.SILF(10.0, 0.1, 0.3)
    K, y, m = regular(loss, 40, seed)
    rows, value, of_K, of_parameters = with_own_minor(curvature)(K, y, m, values_of(loss), K)
    default = evaluate(K, y, loss, curvature, m)
    assert value == default["log_evidence"]
    np.testing.assert_allclose(of_K, default["of_K"], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(of_parameters, default["of_parameters"], rtol=1e-12)

    solution = laplace_evidence(K, y, loss, curvature, m=m).solution
    curved = oracle.curvature(loss, y, solution.f, width_of(loss, curvature)) > 0.0
    support = curved | solution.support
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(support))
    np.testing.assert_array_equal(rows[: curved.sum()], np.flatnonzero(curved))
    assert 0 < support.sum() < 40
    assert (of_K[~support] == 0.0).all()
    assert (of_K[:, ~support] == 0.0).all()
    assert (of_K[np.ix_(support, support)] != 0.0).any(axis=1).all()


@pytest.fixture
def counted(monkeypatch):
    """Count solves, factorisations and solutions by conjugate gradients of what is evaluated."""
    counts = {"solve": 0, "log_det": 0, "factor": 0, "gradients": 0, "not solved": 0}

    def count(key, function):
        def counting(*arguments):
            counts[key] += 1
            return function(*arguments)

        return counting

    def by_gradients(*arguments):
        counts["gradients"] += 1
        found = conjugate_gradients(*arguments)
        counts["not solved"] += found is None
        return found

    conjugate_gradients = interpreted._by_conjugate_gradients
    monkeypatch.setattr(DualSolve, "solve", count("solve", DualSolve.solve))
    monkeypatch.setattr(interpreted, "log_det", count("log_det", interpreted.log_det))
    monkeypatch.setattr(interpreted, "_by_factor", count("factor", interpreted._by_factor))
    monkeypatch.setattr(interpreted, "_by_conjugate_gradients", by_gradients)
    return counts


@pytest.mark.parametrize(
    "loss",
    [
        losses.SILF(10.0, 0.1, 0.3),
        losses.SILF(3.0, 0.3, 0.9),
        losses.Huber(5.0, 0.1),
        losses.Trigonometric(1.0),
        losses.Trigonometric(0.4),
        losses.Logistic(),
        losses.Probit(),
    ],
    ids=repr,
)
@both
@pytest.mark.parametrize("seed", range(4))
def test_one_factorisation_beyond_those_of_the_solver(loss, curvature, seed, counted):
    """That of the determinant; implicit derivatives reuse the solver's last factor."""
    K, y, m = regular(loss, 60, seed)
    got = evaluate(K, y, loss, curvature, m)
    assert np.isfinite(got["of_K"]).all()
    assert counted["solve"] == 1
    assert counted["log_det"] == 1
    assert counted["factor"] == 0
    implicit = curvature == "smooth" or loss.ramp_width == 0.0 or loss.domains.keys() == {"delta"}
    assert counted["gradients"] == 1 or not implicit
    assert counted["not solved"] == 0


def test_the_count_sees_a_second_factorisation(counted):
    """The test above would notice: without the factor, a system is factorised."""
    u = FreeSolve()(np.eye(3), np.ones(3), np.ones(3))
    np.testing.assert_allclose(pytensor.function([], u, mode=UNFUSED)(), 0.5)
    assert counted["factor"] == 1
    assert counted["gradients"] == 0


# ---- parameters by row ------------------------------------------------------------------------

parametric = pytest.mark.parametrize("loss", [x for x in LOSSES if x.domains], ids=repr)


@parametric
@both
def test_vectors_of_parameters(loss, curvature):
    """The first field is a vector variable, the others are scalars; values are those of NumPy."""
    K, y, m = regular(loss, 25, 0)
    first, *others = loss.domains
    fields = by_row(loss, 25).fields | {k: getattr(loss, k) for k in others}
    inputs = {k: pt.vector(k) if k == first else pt.scalar(k) for k in fields}
    terms = laplace_evidence(K, y, type(loss)(**inputs), curvature, m=m)
    gradients = pytensor.grad(terms.log_evidence, list(inputs.values()))
    function = pytensor.function(
        list(inputs.values()), [terms.log_evidence, terms.log_normalizer, *gradients], mode=UNFUSED
    )
    value, log_normalizer, *got = function(*fields.values())
    wanted = laplace_evidence(K, y, type(loss)(**fields), curvature, m=m)
    assert value == pytest.approx(wanted.log_evidence, rel=1e-9)
    assert log_normalizer == pytest.approx(wanted.log_normalizer, rel=1e-12)
    for one, two in zip(got, wanted.gradient.parameters, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-7)


def test_numbers_by_row_in_a_graph():
    sigma = np.linspace(0.2, 0.9, 20)
    K, y, _ = regular(losses.Gaussian(1.0), 20, 0)
    symbol = pt.matrix("K")
    value = laplace_evidence(symbol, y, losses.Gaussian(sigma)).log_evidence
    function = pytensor.function([symbol], [value, pytensor.grad(value, symbol)], mode=UNFUSED)
    got, of_K = function(K)
    covariance = K + np.diag(sigma**2)
    assert got == pytest.approx(multivariate_normal(np.zeros(20), covariance).logpdf(y), rel=1e-9)
    a = np.linalg.solve(covariance, y)
    wanted = 0.5 * (np.outer(a, a) - np.linalg.inv(covariance))
    np.testing.assert_allclose(of_K + of_K.T, 2.0 * wanted, rtol=1e-6, atol=1e-7)


def test_vectors_of_the_wrong_length_are_not_shared():
    K, y, _ = regular(losses.Gaussian(1.0), 20, 0)
    with pytest.raises(ValueError, match=r"sigma of Gaussian has 1 values, but there are 20 rows"):
        laplace_evidence(pt.constant(K), y, losses.Gaussian(pt.vector(shape=(1,))))
    for loss, length in ((losses.Gaussian, 1), (losses.Gaussian, 19), (losses.SILF, 1)):
        vector, target = pt.vector(), pt.vector()
        own = loss(vector) if loss is losses.Gaussian else loss(vector, 0.1)
        function = pytensor.function(
            [target, vector], laplace_evidence(K, target, own).log_evidence, mode=UNFUSED
        )
        assert np.isfinite(function(y, np.ones(20)))
        with pytest.raises(ValueError):  # noqa: PT011 - whose words they are depends on the backend
            function(y, np.ones(length))
