"""Compiled averages against the interpreted ones, which are tested in multiple precision."""

import numba
import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.evidence.compiled_tilted import averages, edges
from pymc_bsvm.losses.tilted import NODES, tilted_density


@pytest.mark.parametrize(
    "loss",
    [losses.SILF(np.geomspace(0.1, 1e3, 60), 0.2), losses.Trigonometric(0.5), losses.Probit()],
    ids=["SILF", "Trigonometric", "Probit"],
)
def test_averages_of_rows(loss, rng):
    u, v = 3.0 * rng.normal(size=60), 10.0 ** rng.uniform(-4.0, 4.0, size=60)
    outline, p = edges(loss, 60), loss.by_row(60)
    average, resolve = averages(type(loss))
    closed = loss.blurring is not None

    @numba.njit
    def every(u, v, p, outline):
        count = outline.shape[0] * NODES.size
        moments, x, density = np.empty((4, 60)), np.empty((60, count)), np.empty((60, count))
        for i in range(60):
            row = average(u[i], v[i], p, i, outline, x[i], density[i])
            moments[0, i], moments[1, i] = row.log_z, row.alpha
            moments[2, i], moments[3, i] = row.nu, row.variance
            if not closed:
                resolve(u[i], v[i], p, i, outline, x[i], density[i])
        return moments, x, density

    moments, x, density = every(u, v, p, outline)
    expected = loss.blurred(u, v)
    np.testing.assert_allclose(moments[0], expected.log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(moments[1], expected.alpha, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(moments[2] * v, expected.nu * v, atol=1e-12)
    np.testing.assert_allclose(moments[3], expected.variance, rtol=1e-10)
    if not closed:
        rule = loss.tilted_rule(u, v)
        used = density > 0.0
        np.testing.assert_allclose(density, tilted_density(loss, u, v, rule)[0], atol=1e-13)
        np.testing.assert_allclose(x[used], rule.points[used], rtol=1e-12, atol=1e-12)
