"""Log densities and their derivatives to rounding, where the bend is a sliver of the tube."""

import itertools

import mpmath
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from pymc_bsvm import SILF, EpsilonInsensitive, losses, symbolic
from tests.distributions import reference

SETTINGS = list(itertools.product((1.0, 1e8), (1e-5, 1.0, 1e5), (1e-12, 1e-9, 1e-3, 0.5, 0.7, 1.0)))
SHARES = (
    -0.99,
    -0.9,
    -0.5,
    -0.1,
    0.1,
    0.5,
    0.9,
    0.99,
    1.01,
    2.0,
    1e3,
)  # of the bend, beyond epsilon
ROUNDING = 100 * float(np.finfo(float).eps)  # relative; ten operations, and 1 - 0.9 in the bend


def residuals(epsilon, beta):
    """Return residuals in all zones: near the knots, in the flat top and far out."""
    near = epsilon + np.array(SHARES) * (beta * epsilon)
    positive = np.concatenate([near, epsilon * np.array([1e-9, 0.1, 0.3, 0.45, 0.55, 3.0, 1e6])])
    return np.concatenate([positive, -positive])


def log_z(loss, C, knots):
    """Integrate the density numerically up to the last knot; its tail is exponential."""
    scale, (lo, hi) = mpmath.sqrt((knots[1] - knots[0]) / C) + 1 / C, knots
    steps = [lo + k * scale for k in range(60) if lo + k * scale < hi]
    inner = mpmath.quad(lambda r: mpmath.exp(-loss(r)), [*steps, hi]) if hi > lo else 0
    return mpmath.log(2 * (lo + inner + mpmath.exp(-loss(hi)) / C))


def oracle(C, epsilon, beta, r):
    """Return log densities and their derivatives, exact for the floating point numbers given."""
    with mpmath.workdps(50):
        C, epsilon, beta = map(mpmath.mpf, (C, epsilon, beta))
        knots = (1 - beta) * epsilon, (1 + beta) * epsilon
        if beta:
            loss = lambda x: reference.silf_loss(x, C, epsilon, beta)  # noqa: E731
        else:
            loss = lambda x: reference.insensitive_loss(x, C, epsilon)  # noqa: E731
        constant, values, slopes = log_z(loss, C, knots), [], []
        for x in map(mpmath.mpf, r.tolist()):
            share = (abs(x) - knots[0]) / (2 * beta * epsilon) if beta else mpmath.inf
            share = min(max(share, 0), 1) if abs(x) > knots[0] else 0
            values.append((loss(x), constant))
            slopes.append(float(-C * mpmath.sign(x) * share))
        loss_values, constants = np.array(values, dtype=float).T
        return loss_values, constants, np.array(slopes)


@pytest.fixture(scope="module")
def compiled():
    """Return log density and derivative with respect to the value, compiled as by default."""
    x, mu, *p = pt.dvector("x"), *map(pt.dscalar, ("mu", "C", "epsilon", "beta"))
    functions = {}
    for distribution, parameters in ((SILF, p), (EpsilonInsensitive, p[:2])):
        logp = distribution.logp(x, mu, *parameters)
        gradient = pytensor.grad(logp.sum(), [x, mu])
        functions[distribution] = pytensor.function([x, mu, *parameters], [logp, *gradient])
    return functions


def check(function, loss, r, *parameters):
    value, constant, slope = oracle(*(*parameters, 0.0)[:3], r)
    logp, by_value, by_mu = function(r, 0.0, *parameters)
    # relative to the loss itself wherever the constant does not hide it
    scale = value + np.abs(constant) + 1.0
    np.testing.assert_array_less(np.abs(logp + value + constant), ROUNDING * scale)
    np.testing.assert_allclose(by_value, slope, rtol=ROUNDING)
    np.testing.assert_allclose(by_mu, -slope.sum(), atol=ROUNDING * np.abs(slope).sum())
    np.testing.assert_allclose(loss.value(r, 0.0), value, rtol=ROUNDING)
    np.testing.assert_allclose(loss.derivative(r, 0.0), slope, rtol=ROUNDING)


@pytest.mark.parametrize(("C", "epsilon", "beta"), SETTINGS)
def test_silf(compiled, C, epsilon, beta):
    r = residuals(epsilon, beta)
    check(compiled[SILF], losses.SILF(C, epsilon, beta), r, C, epsilon, beta)


@pytest.mark.parametrize(("C", "epsilon"), list(itertools.product((1.0, 1e8), (1e-5, 1.0, 1e5))))
@pytest.mark.parametrize("nearness", [1e-12, 1e-3])
def test_epsilon_insensitive(compiled, C, epsilon, nearness):
    r = residuals(epsilon, nearness)
    check(compiled[EpsilonInsensitive], losses.EpsilonInsensitive(C, epsilon), r, C, epsilon)


@pytest.mark.parametrize("beta", [1e-12, 1e-9, 0.3, 1.0])
def test_the_symbolic_loss(beta):
    """Without the constant, relative to a value that may be tiny."""
    C, epsilon = 1e8, 1e5
    r = residuals(epsilon, beta)
    x, p = pt.dvector("x"), [pt.dscalar(name) for name in ("C", "epsilon", "beta")]
    value = losses.formulas(losses.SILF, symbolic).value(x, 0.0, *p)
    function = pytensor.function([x, *p], [value, pytensor.grad(value.sum(), x)])
    ours, slope = function(r, C, epsilon, beta)
    exact, _, exact_slope = oracle(C, epsilon, beta, r)
    np.testing.assert_allclose(ours, exact, rtol=ROUNDING)
    np.testing.assert_allclose(slope, -exact_slope, rtol=ROUNDING)
