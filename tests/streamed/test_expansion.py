"""Where losses are expanded near a wall."""

import numpy as np
import pytest
from scipy.optimize import brentq

from pymc_bsvm import losses
from pymc_bsvm.streamed.expansion import _CAUTION, expansion_points

LOSS = losses.Trigonometric(delta=1.5)
VARIANCE = 1e-3
H = _CAUTION * VARIANCE


@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("y", [1.0, -1.0])
@pytest.mark.parametrize(
    ("last", "margin"), [(None, -1.6), (None, -4.0), (-0.5, -2.0), (1.0, -9.0)]
)
def test_a_row_behind_the_wall_is_expanded_on_its_line(weight, y, last, margin):
    f, known = np.array([y * margin]), None if last is None else np.array([y * last])
    ones = np.array([1.0])
    found = expansion_points(LOSS, y * ones, weight * ones, f, known, VARIANCE)[0]
    dual = 0.0
    if last is not None:  # of the tangent at the last point
        slope, bend = LOSS.derivative(y, y * last), LOSS.curvature(y, y * last)
        dual = -weight * float(slope + bend * (f[0] - y * last))

    def line(z):
        return z - f[0] + H * (dual + weight * float(LOSS.derivative(y, z)))

    wall = y * -1.5
    expected = (
        0.0
        if line(0.0) * line(wall * (1 - 1e-12)) > 0.0
        else brentq(line, 0.0, wall * (1 - 1e-12), xtol=1e-15)
    )
    assert found == pytest.approx(expected, abs=1e-9)
    assert y * found > -1.5


def test_rows_far_from_the_wall_and_of_no_weight_stay_where_they_are():
    f, y = np.array([-0.3, 0.2, 5.0, -7.0]), np.ones(4)
    weight = np.array([1.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(expansion_points(LOSS, y, weight, f, None, VARIANCE), f)
    np.testing.assert_array_equal(expansion_points(LOSS, y, weight, f, f + 0.1, VARIANCE), f)


def test_a_row_that_leaves_the_wall_is_expanded_where_it_arrives():
    near = np.array([-1.49999])
    away = np.array([-1.4999])
    found = expansion_points(LOSS, np.ones(1), np.ones(1), away, near, VARIANCE)
    np.testing.assert_array_equal(found, away)
