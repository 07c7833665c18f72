"""The Op that calls an approximation against the compiled expression of the same evidence."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode
from pytensor.gradient import DisconnectedInputError, NullTypeGradError

from pymc_bsvm import losses
from pymc_bsvm.approximations import Laplace
from pymc_bsvm.graph import log_evidence, sites
from pymc_bsvm.graph.integrate import Integrate, integrated

PYTHON = get_mode("FAST_COMPILE")
N = 12


def numbers(task):
    rng = np.random.default_rng(7)
    x = np.sort(rng.uniform(-2.0, 2.0, N))
    K = 1.3 * np.exp(-0.5 * (x[:, None] - x) ** 2)
    y = np.sin(3.0 * x) + 0.2 * rng.normal(size=N)
    return K, np.sign(y) if task == "classification" else y, 0.1 * x


def expressions(kind):
    """Return the two log evidences and what they are differentiated by, with its values."""
    K, m = pt.dmatrix("K"), pt.dvector("m")
    fields, loss = {
        "silf": lambda: _of(losses.SILF, {"C": 5.0, "epsilon": 0.2, "beta": 0.3}),
        "rows": lambda: _of(losses.Gaussian, {"sigma": np.linspace(0.2, 0.5, N)}),
        "trigonometric": lambda: _of(losses.Trigonometric, {"delta": 1.1}),
    }[kind]()
    values = numbers(loss.task)
    y = pt.dvector("y") if loss.task == "regression" else pt.constant(values[1])
    called = integrated(Laplace(), K, y, loss, m)
    compiled = log_evidence(Laplace(), K, y, loss, m=m)
    wrt = [K, m, *fields] + ([y] if loss.task == "regression" else [])
    at = [values[0], values[2], *fields.values()]
    at += [values[1]] if loss.task == "regression" else []
    return called, compiled, wrt, at, loss, y


def _of(loss_type, parameters):
    symbols = {
        name: pt.dvector(name) if np.ndim(value) else pt.dscalar(name)
        for name, value in parameters.items()
    }
    loss = loss_type(**symbols)
    return dict(zip(symbols.values(), parameters.values(), strict=True)), loss


@pytest.mark.parametrize("kind", ["silf", "rows", "trigonometric"])
def test_value_and_gradient(kind):
    called, compiled, wrt, at, _, _ = expressions(kind)
    one, two = called.value(None), compiled
    outputs = [one, *pytensor.grad(one, wrt)], [two, *pytensor.grad(two, wrt)]
    got, expected = (pytensor.function(wrt, x, mode=PYTHON)(*at) for x in outputs)
    for k, (a, b) in enumerate(zip(got, expected, strict=True)):
        if k == 1:  # K is symmetric: what counts is the symmetric part
            a, b = a + a.T, b + b.T
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8, err_msg=str(k))


def test_compiled_by_numba():
    called, _, wrt, at, _, _ = expressions("silf")
    value = called.value(None)
    outputs = [value, *pytensor.grad(value, wrt)]
    expected = pytensor.function(wrt, outputs, mode=PYTHON)(*at)
    got = pytensor.function(wrt, outputs, mode="NUMBA")(*at)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_the_minor_is_asked_for_the_rows_that_count():
    called, compiled, wrt, at, _, _ = expressions("silf")
    K, scale = wrt[0], pt.dscalar("scale")
    asked = []

    def minor(rows):
        asked.append(rows)
        return scale * K[rows[:, None], rows]

    slope = pytensor.grad(called.value(minor), scale)
    function = pytensor.function([*wrt, scale], [slope, asked[0]], mode=PYTHON)
    of_scale, rows = function(*at, 1.0)
    of_K = pytensor.function(wrt, pytensor.grad(compiled, K), mode=PYTHON)(*at)
    assert of_scale == pytest.approx((of_K * at[0]).sum(), rel=1e-7)
    assert 0 < rows.size < N  # a sparse solution


def test_posterior():
    called, _, wrt, at, loss, y = expressions("silf")
    expected = sites(Laplace(), wrt[0], y, loss, m=wrt[1])
    outputs = [called.a, called.precision, expected.a, expected.precision]
    a, precision, a2, precision2 = pytensor.function(wrt, outputs, mode=PYTHON)(*at)
    np.testing.assert_allclose(a, a2, atol=1e-9)
    np.testing.assert_allclose(precision, precision2, atol=1e-9)


def test_labels_and_second_derivatives_have_none():
    _, _, wrt, _, loss, _ = expressions("trigonometric")
    y = pt.dvector("y")
    value = integrated(Laplace(), wrt[0], y, loss, wrt[1]).value(None)
    with pytest.raises(DisconnectedInputError):
        pytensor.grad(value, y)
    called, _, wrt, _, _, _ = expressions("silf")
    slope = pytensor.grad(called.value(None), wrt[2])
    with pytest.raises((DisconnectedInputError, NullTypeGradError)):
        pytensor.grad(slope, wrt[2])


def test_a_failure_is_nan_of_the_right_shapes():
    class Fails(Laplace):
        def approximate(self, problem, start=None):
            raise ArithmeticError

    K, y, m = numbers("regression")
    op = Integrate(Fails(), losses.Gaussian)
    value, rows, G, g, of_sigma, a, precision, start = op.results(
        K, y, m, np.full(N, 0.3), np.zeros(0)
    )
    assert np.isnan(value)
    assert rows.size == g.size == start.size == 0
    assert G.shape == (0, 0)
    assert np.isnan(of_sigma).all()
    assert of_sigma.shape == a.shape == precision.shape == (N,)
