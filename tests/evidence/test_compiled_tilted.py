"""Compiled averages against the interpreted ones, which are tested in multiple precision."""

import ctypes
import functools

import numba
import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.evidence.compiled_tilted import (
    _NODES,
    _SHARES,
    _WEIGHTS,
    AVERAGES,
    KNOWN,
    _rule,
    averages,
    edges,
    slots,
)
from pymc_bsvm.losses import jet_language as jets
from pymc_bsvm.losses import numpy_language
from pymc_bsvm.losses.blurred import of_argument
from pymc_bsvm.losses.tilted import normalizer_slopes
from tests import oracle
from tests.oracle import mp
from tests.oracle import predictive as reference

POINTER = ctypes.POINTER(ctypes.c_double)


@functools.cache
def of_type(kind):
    """Compile the averages of a loss, whatever its parameters."""
    return numba.cfunc(AVERAGES)(averages(kind).py_func)


def compiled(loss, u, v):
    """Return the moments of the argument, the points and their probabilities."""
    n = u.size
    outline, p = edges(loss, n), loss.by_row(n)
    count, slope = slots(outline), 1.0
    y, cavity = np.ones(n), np.array([u, v])
    if loss.task == "regression":
        y, cavity[0], slope = np.zeros(n), -u, -1.0  # of the argument y - f in f
    moments, x, density = np.empty((4, n)), np.empty((n, count)), np.empty((n, count))
    space = np.empty(outline.shape[0] * KNOWN + count)
    arrays = y, p, outline, cavity, moments, x, density, space
    fill = of_type(type(loss))
    pointers = (z.ctypes.data_as(POINTER) for z in arrays)
    fill.ctypes(n, p.shape[0], outline.shape[0], count, *pointers)
    moments[1] *= slope
    return moments, x, density


@pytest.mark.parametrize(
    "loss",
    [
        losses.SILF(np.geomspace(0.1, 1e3, 60), 0.2),
        losses.Laplace(3.0),
        losses.EpsilonInsensitive(1e3, 0.5),
        losses.Trigonometric(0.5),
        losses.Trigonometric(30.0),
        losses.Logistic(),
        losses.Probit(),
    ],
    ids=repr,
)
def test_averages_of_rows(loss, rng):
    u, v = 3.0 * rng.normal(size=60), 10.0 ** rng.uniform(-4.0, 4.0, size=60)
    moments, x, density = compiled(loss, u, v)
    expected = loss.blurred(u, v)
    np.testing.assert_allclose(moments[0], expected.log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(moments[1], expected.alpha, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(moments[2] * v, expected.nu * v, atol=1e-12)
    np.testing.assert_allclose(moments[3], expected.variance, rtol=1e-10)
    if loss.blurring is not None:
        return
    np.testing.assert_allclose(density.sum(axis=1), 1.0, rtol=1e-14)
    assert np.all(density >= 0.0)
    pull = (density * (x - u[:, None])).sum(axis=1)
    np.testing.assert_allclose(
        pull, v * expected.alpha, rtol=1e-10, atol=1e-13 * (1 + abs(u).max())
    )
    symbols = jets.variables([np.asarray(field)[..., None] for field in loss.fields.values()])
    value = of_argument(type(loss), jets)[0](x, *loss.complete(*symbols))
    fixed = normalizer_slopes(loss, 60)
    exact = loss.blurred_slopes(u, v)
    for got, wanted, part in zip(jets.slopes(value, len(symbols)), exact, fixed, strict=True):
        mean = np.where(density > 0.0, density * got, 0.0).sum(axis=1)
        np.testing.assert_allclose(
            mean, -wanted - part, rtol=1e-9, atol=1e-11 * abs(wanted + part).max()
        )


@pytest.mark.parametrize(
    ("loss", "u", "v"),
    [
        (losses.SILF(10.0, 0.1, 0.3), [-0.3, 0.01, 0.12, 4.0], [0.2, 1e-4, 1e-2, 3.0]),
        (losses.Laplace(3.0), [0.0, 0.4, -20.0], [1e-3, 0.5, 30.0]),
        (losses.Trigonometric(1.0), [-8.0, -3.0, -40.0, 0.2, 3.0], [1e-2, 1e-4, 2.0, 0.1, 2.0]),
        (losses.Logistic(), [-9.0, 0.1, 12.0], [0.3, 2.0, 0.5]),
    ],
    ids=repr,
)
def test_in_multiple_precision(loss, u, v):
    """Inside the tube, far out, at the knots and behind the wall."""
    exact = getattr(oracle, type(loss).__name__)(**loss.fields)
    moments, _, _ = compiled(loss, np.array(u), np.array(v))
    for (log_z, alpha, nu, spread), centre, variance in zip(moments.T, u, v, strict=True):
        wanted, shift, width = reference.tilted(exact, centre, variance)
        if loss.task == "regression":
            wanted -= float(mp.log(exact.normaliser()))
        assert abs(log_z - wanted) <= 1e-10 * (1 + abs(wanted))
        pull = shift / mp.mpf(variance)
        assert abs(alpha - pull) <= 1e-10 * abs(pull) + 2e-16 / variance**0.5  # zero at a centre
        assert abs(variance * nu - (1 - width / mp.mpf(variance))) <= 1e-10
        assert spread == pytest.approx(float(width), rel=1e-10)


@pytest.mark.parametrize(
    ("count", "steep", "curved"), [(0, 16.0, 0.0), (0, 0.0, 16.0), (1, 45.0, 18.0)]
)
def test_rules_that_are_short_are_exact(count, steep, curved):
    """Where the bound allows the most; a factor that grows as much as it may comes along."""
    half = 0.5 / _SHARES[count]
    rate = np.arccosh(20.0) * half  # cosh(rate / half) is 20 at the largest distance
    t, weight = np.polynomial.legendre.leggauss(200)
    whole = [(0.5 + 0.5 * t, 0.5 * weight), (_NODES[count], _WEIGHTS[count])]
    exact, short = (
        (w * np.exp(-x * (steep + 0.5 * curved * x)) * np.cos(rate * x)).sum() for x, w in whole
    )
    assert _rule(steep, curved, 1.0 / _SHARES[count]) == count
    assert abs(short - exact) <= 2e-13
    assert _rule(steep + 60.0, curved, 0.0) == 2


def test_the_likelihood_is_that_of_the_loss():
    loss = losses.Trigonometric(0.3)
    x = 0.3 * np.concatenate([np.linspace(-0.999, 0.999, 50), [-1.0 + 1e-12, 1.0 - 1e-12]])
    factor, slope = loss.likelihood(numpy_language)(x, 0.3)
    np.testing.assert_allclose(factor, np.exp(-loss.value(1.0, x)), rtol=1e-13)
    np.testing.assert_allclose(slope, loss.derivative(1.0, x), rtol=1e-13)
