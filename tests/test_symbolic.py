"""One formula, three languages: NumPy arrays, compiled scalars and PyTensor graphs."""

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_bsvm import jax_language, losses, symbolic
from pymc_bsvm.losses import numba_language, numpy_language
from tests.losses.cases import BY_NAME, CASES, Case, label

WORDS = ("value", "derivative", "curvature", "conjugate")
QUICK = "FAST_COMPILE"
NOISES = [case for case in CASES if case.distribution]
every_loss = pytest.mark.parametrize("case", CASES, ids=label)
every_word = pytest.mark.parametrize("word", WORDS)


def grid(case: Case, word: str = "value") -> list[np.ndarray]:
    """Stack (y, f or a, *parameters) for all parameters of the case, knots and tails included."""
    blocks = []
    for p in case.parameters:
        y, x = case.arguments(case.points(**p))
        if case.name == "Trigonometric":  # cases leave out the wall, which belongs here
            wall = p["delta"] * np.array([1.0, 1.0 + 1e-12, 3.0, 1e8])
            y, x = np.concatenate([y, np.ones(4), -np.ones(4)]), np.concatenate([x, -wall, wall])
        if word == "conjugate":
            x = case.duals(y, **p)
            y, x = np.concatenate([y, y]), np.concatenate([x, -3 * x])  # the latter mostly outside
        own = np.array(case.loss(**p).parameters)
        blocks.append(np.stack([y, x, *np.outer(own, np.ones_like(y))]))
    return list(np.concatenate(blocks, axis=1))


def numpy_values(case: Case, word: str, arguments: list[np.ndarray]) -> np.ndarray:
    formula = getattr(losses.formulas(type(case.loss(**case.parameters[0]))), word)
    with np.errstate(over="ignore", divide="ignore"):
        return np.broadcast_to(formula(*arguments), arguments[0].shape)


def in_numba(case: Case, word: str, arguments: list[np.ndarray]) -> np.ndarray:
    formula = getattr(losses.formulas(getattr(losses, case.name), numba_language), word)
    count = len(arguments)
    names = ", ".join(f"x{i}" for i in range(count))
    scalar = eval(f"lambda {names}: formula({names})", {"formula": formula})
    compiled = numba.vectorize([numba.float64(*[numba.float64] * count)], nopython=True)(scalar)
    with np.errstate(all="ignore"):
        return compiled(*arguments)


def in_pytensor(
    case: Case, word: str, arguments: list[np.ndarray], *, gradient: bool = False
) -> np.ndarray:
    formula = getattr(losses.formulas(getattr(losses, case.name), symbolic), word)
    inputs = [pt.dvector() for _ in arguments]
    output = formula(*inputs)
    if gradient:
        outputs = pytensor.grad(output.sum(), inputs[1:], disconnected_inputs="ignore")
        return np.array(pytensor.function(inputs, outputs)(*arguments))
    output = pt.broadcast_arrays(output, inputs[0])[0]
    # Probit's conjugate unrolls Newton's method, which takes long to compile and is not sampled
    mode = QUICK if word == "conjugate" else None
    return pytensor.function(inputs, output, mode=mode, on_unused_input="ignore")(*arguments)


def assert_same(got: np.ndarray, expected: np.ndarray, scale: np.ndarray | float = 0.0) -> None:
    """Equal infinities, and 1e-13 of the value or of the stated scale elsewhere."""
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    got, expected = got[finite], expected[finite]
    scale = np.broadcast_to(scale, finite.shape)[finite]
    excess = np.abs(got - expected) - 1e-13 * (np.abs(expected) + scale)
    worst = np.argmax(excess)
    assert excess[worst] <= 1e-300, (worst, got[worst], expected[worst])


def scales(case: Case, word: str, arguments: list[np.ndarray]) -> np.ndarray | float:
    """Sizes of the terms that cancel: compilers may add them in another order."""
    y, x, *parameters = arguments
    if word == "conjugate":
        return np.abs(x * y) if case.task == "regression" else np.abs(x) * _delta(case, parameters)
    if case.name in ("SILF", "Huber"):
        C, _, beta = parameters
        return {"value": C * (np.abs(x) + np.abs(y)), "derivative": C / beta}.get(word, 0.0)
    if case.name == "SoftMarginLe":
        C, epsilon = parameters
        terms = {"value": C * (1 + epsilon + np.abs(x)), "derivative": C / epsilon}
        return terms.get(word, 0.0)
    if case.name == "EpsilonInsensitive":
        return parameters[0] * parameters[1] if word == "value" else 0.0
    return 0.0


def _delta(case: Case, parameters: list[np.ndarray]) -> np.ndarray | float:
    return parameters[0] if case.name == "Trigonometric" else 1.0


def at_a_step(case: Case, arguments: list[np.ndarray]) -> np.ndarray:
    """Where a rounding decides on which side of a jump of the curvature or slope a point lies."""
    y, x, *parameters = arguments
    size = np.abs(y - x) if case.task == "regression" else y * x
    match case.name:
        case "SILF" | "Huber":
            _, epsilon, beta = parameters
            knots = [(1 - beta) * epsilon, (1 + beta) * epsilon]
        case "SoftMarginLe":
            knots = [np.ones_like(y), 1 - 2 * parameters[1]]
        case _:
            return np.zeros(y.shape, dtype=bool)
    return np.any([np.abs(size - k) <= 4e-16 * np.maximum(size, 1.0) for k in knots], axis=0)


@every_loss
@every_word
def test_numba_equals_numpy(case, word):
    arguments = grid(case, word)
    expected = numpy_values(case, word, arguments)
    keep = ~at_a_step(case, arguments) if word == "curvature" else np.ones(expected.size, bool)
    got = in_numba(case, word, arguments)
    scale = np.broadcast_to(scales(case, word, arguments), keep.shape)[keep]
    assert_same(got[keep], expected[keep], scale)


@every_loss
@every_word
def test_pytensor_equals_numpy(case, word):
    arguments = grid(case, word)
    expected = numpy_values(case, word, arguments)
    keep = ~at_a_step(case, arguments) if word == "curvature" else np.ones(expected.size, bool)
    got = in_pytensor(case, word, arguments)
    scale = np.broadcast_to(scales(case, word, arguments), keep.shape)[keep]
    assert_same(got[keep], expected[keep], scale)


@every_loss
def test_normalisers_and_dual_domains_agree(case):
    for p in case.parameters:
        own = case.loss(**p).parameters
        y = np.array([-1.0, 1.0])
        expected = losses.formulas(getattr(losses, case.name))
        for language in (symbolic, numba_language):
            formulas = losses.formulas(getattr(losses, case.name), language)
            if expected.log_normalizer is None:
                assert formulas.log_normalizer is None
            else:
                if language is symbolic:
                    own_tensors = [pt.constant(np.float64(parameter)) for parameter in own]
                    got = pt.as_tensor(formulas.log_normalizer(*own_tensors)).eval(mode=QUICK)
                else:
                    got = formulas.log_normalizer(*own)
                assert got == pytest.approx(expected.log_normalizer(*own), rel=1e-13)
            for target in y:
                ends = formulas.dual_domain(target, *own)
                if language is symbolic:
                    ends = [pt.as_tensor(end).eval(mode=QUICK) for end in ends]
                np.testing.assert_array_equal(ends, expected.dual_domain(target, *own))


@pytest.mark.parametrize("case", NOISES, ids=label)
def test_noise_in_pytensor_equals_numpy(case):
    kind = getattr(losses, case.name)
    plain, graph = losses.noise_formulas(kind), losses.noise_formulas(kind, symbolic)
    r = np.concatenate([case.points(**p) for p in case.parameters])
    own = np.repeat(
        np.array([case.loss(**p).parameters for p in case.parameters]).T,
        [case.points(**p).size for p in case.parameters],
        axis=1,
    )
    inputs = [pt.dvector() for _ in range(1 + len(own))]
    got = pytensor.function(inputs, graph.log_cdf(*inputs))(r, *own)
    # compilers add residual and knots in another order, and C magnifies the rounding
    scale = 4e-16 * own[0] * own[1] if len(own) > 1 else np.zeros_like(r)
    expected = plain.log_cdf(r, *own)
    assert np.all(np.abs(got - expected) <= (1e-11 + scale) * np.abs(expected))
    u = np.resize([1e-300, 1e-9, 0.02, 0.3, 0.5, 0.77, 1 - 1e-12], r.size)
    got = pytensor.function(inputs, graph.quantile(*inputs))(u, *own)
    np.testing.assert_allclose(got, plain.quantile(u, *own), rtol=1e-11, atol=1e-300)
    got = pytensor.function(inputs[1:], graph.variance(*inputs[1:]))(*own)
    np.testing.assert_allclose(got, plain.variance(*own), rtol=1e-12)


@every_loss
def test_gradient_of_the_graph_is_the_derivative(case):
    """Everywhere, knots, tails and the wall included; a kink may have any subgradient."""
    arguments = grid(case)
    slopes = in_pytensor(case, "value", arguments, gradient=True)
    assert np.isfinite(slopes).all()
    expected = numpy_values(case, "derivative", arguments)
    y, _, *parameters = arguments
    feasible = np.isfinite(expected)  # at the wall and behind it the graph reports a slope of zero
    assert (case.name == "Trigonometric") == (not feasible.all())
    np.testing.assert_array_equal(slopes[0][~feasible], 0.0)
    scale = np.broadcast_to(scales(case, "derivative", arguments), y.shape)
    smooth = feasible if case.differentiable else feasible & ~at_a_kink(case, arguments)
    slack = 1e-10 * np.abs(expected[smooth]) + 1e-13 * scale[smooth] + 1e-300
    assert np.all(np.abs(slopes[0][smooth] - expected[smooth]) <= slack)
    kinks = ~smooth & feasible
    assert kinks.any() == (not case.differentiable)
    if kinks.any():
        assert np.all(np.abs(slopes[0][kinks]) <= parameters[0][kinks])


@pytest.mark.parametrize(("name", "most"), [("SILF", 2000), ("Probit", 1000)])
def test_gradients_of_normal_tails_are_short(name, most):
    """1252 and 737 edges when this was written; a continued fraction has 3101 and 1251.

    PyTensor multiplies out the derivative of a fraction within fractions, for half a minute.
    """
    kind = getattr(losses, name)
    stated = losses.noise_formulas(kind, symbolic) if name == "SILF" else None
    formula = stated.log_cdf if stated else losses.formulas(kind, symbolic).value
    inputs = [pt.dvector() for _ in range(kind.n_parameters() + (1 if stated else 2))]
    gradients = pytensor.grad(formula(*inputs).sum(), inputs)
    unfused = pytensor.compile.get_mode(QUICK).excluding("fusion")
    graph = pytensor.function(inputs, gradients, mode=unfused).maker.fgraph
    assert sum(len(node.inputs) for node in graph.apply_nodes) < most


def at_a_kink(case: Case, arguments: list[np.ndarray]) -> np.ndarray:
    y, x, *parameters = arguments
    if case.task == "regression":  # Laplace has epsilon = 0
        return np.abs(y - x) == parameters[1]
    return y * x == 1.0


def test_words_are_the_same_in_every_language():
    assert set(symbolic.__all__) == set(numpy_language.__all__)
    assert set(numba_language.__all__) == set(symbolic.__all__) - {"erfcinv"}
    assert set(jax_language.__all__) == set(numba_language.__all__)
    for language in (symbolic, numpy_language, numba_language, jax_language):
        assert all(callable(getattr(language, word)) for word in language.__all__)


def test_grid_holds_the_knots_and_the_wall():
    y, f, *_ = grid(BY_NAME["SILF"])
    assert {0.07, 0.13} <= set(np.round(np.abs(y - f), 12))
    y, f, delta = grid(BY_NAME["Trigonometric"])
    assert np.sum(y * f == -delta) >= 4
