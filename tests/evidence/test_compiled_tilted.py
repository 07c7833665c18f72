"""Compiled averages against the interpreted ones, which are tested in multiple precision."""

import ctypes

import numba
import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.evidence.compiled_tilted import AVERAGES, averages, edges, slots
from pymc_bsvm.losses import jet_language as jets
from pymc_bsvm.losses.blurred import of_argument
from pymc_bsvm.losses.tilted import normalizer_slopes

POINTER = ctypes.POINTER(ctypes.c_double)


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
    outline, p, closed = edges(loss, 60), loss.by_row(60), loss.blurring is not None
    count, slope = slots(outline), 1.0
    y, cavity = np.ones(60), np.array([u, v])
    if loss.task == "regression":
        y, cavity[0], slope = np.zeros(60), -u, -1.0  # of the argument y - f in f
    moments, x, density = np.empty((4, 60)), np.empty((60, count)), np.empty((60, count))
    arrays = y, p, outline, cavity, moments, x, density
    fill = numba.cfunc(AVERAGES)(averages(type(loss)).py_func)
    fill.ctypes(
        60, p.shape[0], outline.shape[0], count, *[z.ctypes.data_as(POINTER) for z in arrays]
    )

    expected = loss.blurred(u, v)
    np.testing.assert_allclose(moments[0], expected.log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(slope * moments[1], expected.alpha, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(moments[2] * v, expected.nu * v, atol=1e-12)
    np.testing.assert_allclose(moments[3], expected.variance, rtol=1e-10)
    if closed:
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
