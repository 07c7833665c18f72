"""Expectation propagation as an Op, compiled and called, against the evidence of numbers."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import get_mode
from pytensor.graph import ancestors

from pymc_bsvm import ep_evidence, losses
from pymc_bsvm.approximations import EP
from pymc_bsvm.graph import log_evidence, sites
from pymc_bsvm.graph.integrate import Integrate
from pymc_bsvm.graph.propagate import Propagate

PYTHON = get_mode("FAST_COMPILE")
TIGHT = EP(tol=1e-10)
CASES = {
    "SILF": {"C": 5.0, "epsilon": 0.2, "beta": 0.3},
    "Laplace": {"C": 4.0},
    "Huber": {"C": 4.0, "epsilon": np.linspace(0.2, 0.4, 12)},
    "Gaussian": {"sigma": np.linspace(0.2, 0.5, 12)},
    "Trigonometric": {"delta": 0.3},
    "Probit": {},
}


def numbers(n, task, spread=4.0):
    rng = np.random.default_rng(7)
    x = np.sort(rng.uniform(-0.5 * spread, 0.5 * spread, n))
    K = 1.3 * np.exp(-0.5 * (x[:, None] - x) ** 2)
    y = np.sin(3.0 * x) + 0.2 * rng.normal(size=n)
    return K, np.sign(y) if task == "classification" else y, 0.1 * x


def graph(name, y):
    """Return the variables, the value with its gradient and the posterior; and the fields."""
    fields = CASES[name]
    symbols = {k: pt.dvector(k) if np.ndim(v) else pt.dscalar(k) for k, v in fields.items()}
    loss = getattr(losses, name)(**symbols)
    K, m = pt.dmatrix("K"), pt.dvector("m")
    value = log_evidence(TIGHT, K, y, loss, m=m)
    wrt = [K, m, *symbols.values()]
    return wrt, [value, *pytensor.grad(value, wrt), *sites(TIGHT, K, y, loss, m=m)], fields


def assert_right(got, expected, fields, rtol):
    assert got[0] == pytest.approx(expected.log_evidence, rel=rtol)
    gradient = expected.gradient
    slopes = [gradient.K, gradient.m, *gradient.parameters]
    posterior = expected.posterior.a, expected.posterior.precision
    assert len(slopes) == 2 + len(fields)
    for a, b in zip(got[1:], (*slopes, *posterior), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


@pytest.mark.parametrize("name", CASES)
def test_called_by_other_backends(name):
    K, y, m = numbers(12, getattr(losses, name).task)
    wrt, outputs, fields = graph(name, y)
    got = pytensor.function(wrt, outputs, mode=PYTHON)(K, m, *fields.values())
    loss = getattr(losses, name)(**fields)
    assert_right(got, ep_evidence(K, y, loss, m=m, tol=1e-10), fields, 1e-12)


def test_compiled():
    y = pt.dvector("y")
    wrt, outputs, fields = graph("SILF", y)
    assert not any(x.owner and isinstance(x.owner.op, Integrate) for x in ancestors(outputs))
    function = pytensor.function([*wrt, y], outputs, mode="NUMBA")
    for n in (12, 170):  # the rank of the second one is low
        K, targets, m = numbers(n, "regression")
        got = function(K, m, *fields.values(), targets)
        expected = ep_evidence(K, targets, losses.SILF(**fields), m=m, tol=1e-10)
        assert_right(got, expected, fields, 1e-10)
    K[0, 0] = np.nan
    assert np.isnan(function(K, m, *fields.values(), targets)[0])
    indefinite = -np.eye(12)
    assert np.isnan(function(indefinite, m[:12], *fields.values(), targets[:12])[0])
    with pytest.raises(ValueError, match="do not agree"):
        function(indefinite, m, *fields.values(), targets)


def test_other_shapes_are_refused():
    K, y, m = numbers(12, "regression")
    wrt, outputs, fields = graph("SILF", y)
    function = pytensor.function(wrt, outputs, mode=PYTHON)
    for matrix in (K[:11], K[:11, :11]):
        with pytest.raises(ValueError, match="do not agree"):
            function(matrix, m, *fields.values())


class Other(EP):
    """Another approximation."""


@pytest.mark.parametrize("approximation", [Other(), EP(on_failure="ignore")], ids=repr)
def test_what_is_not_as_the_op_computes_it_is_called(approximation):
    K, y, _ = numbers(12, "regression")
    value = log_evidence(approximation, pt.constant(K), y, losses.Huber(3.0, 0.1))
    ops = {type(x.owner.op) for x in ancestors([value]) if x.owner}
    assert Integrate in ops
    assert Propagate not in ops


def test_a_failure_is_nan_of_the_right_shapes():
    K, y, m = numbers(12, "regression")
    wrt, outputs, _ = graph("SILF", y)
    got = pytensor.function(wrt, outputs, mode=PYTHON)(K, m, -1.0, 0.2, 0.3)
    assert np.isnan(got[0])
    assert got[1].shape == K.shape
    assert got[2].shape == got[-1].shape == (12,)
