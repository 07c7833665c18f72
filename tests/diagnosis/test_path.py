"""The path of annealing, on which the trigonometric wall moves out."""

import numpy as np
import pytest

from pymc_bsvm.diagnosis.path import Path
from pymc_bsvm.diagnosis.propagation import SiteGaussian
from pymc_bsvm.diagnosis.white_prior import WhitePrior
from tests.diagnosis.test_annealing import TRIGONOMETRIC, line


def test_the_path_is_finite_until_the_posterior_and_ends_there():
    prior = WhitePrior.of(line(3, 4.0), np.zeros(3))
    base = SiteGaussian.of(prior, np.full(3, 0.2), np.array([0.1, -0.3, 0.0]))
    y = np.array([1.0, -1.0, 1.0])
    path = Path(y, np.zeros(3), TRIGONOMETRIC, base)
    f = np.array([[0.5, -0.5, 0.2], [-5.0, 0.5, 0.2], [-1.0, 3.0, 0.2]])
    assert np.all(path(f, 0.0) == 0.0)
    assert np.isfinite(path(f, 0.999)).all()
    at_end = -TRIGONOMETRIC.value(y, f).sum(axis=1) - base.log_sites(f)
    np.testing.assert_allclose(path(f, 1.0), at_end)
    np.testing.assert_array_equal(np.isfinite(at_end), [True, False, False])
    assert path(f, 0.999)[0] == pytest.approx(0.999 * at_end[0])


@pytest.mark.parametrize("t", [0.2, 0.7])
def test_before_the_end_the_loss_goes_on_linearly_behind_the_wall(t):
    """It continues -2 log cos(pi (1 - z) / 4) with the slope it has at z = -t."""
    prior = WhitePrior.of(line(2, 4.0), np.zeros(2))
    base = SiteGaussian.of(prior, np.zeros(2), np.zeros(2))
    path = Path(np.array([1.0, -1.0]), np.zeros(2), TRIGONOMETRIC, base)
    angle = np.pi / 4.0 * (1.0 + t)
    at_floor, slope = -2.0 * np.log(np.cos(angle)), -np.pi / 2.0 * np.tan(angle)
    beyond = np.array([0.0, 0.5, 4.0])  # how far behind z = -t the first row is; the second is flat
    f = np.column_stack([-t - beyond, np.full(3, -2.0)])
    np.testing.assert_allclose(path(f, t), -t * (at_floor - slope * beyond), rtol=1e-12)
