"""Expectation propagation: moments against sums, and Gaussian noise, where it is exact."""

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.diagnosis.propagation import propagated, tilted_moments
from pymc_bsvm.diagnosis.white_prior import WhitePrior
from tests.diagnosis.test_annealing import SILF, TRIGONOMETRIC, regression


@pytest.mark.parametrize(
    ("loss", "y"), [(SILF, 0.4), (losses.SILF(500.0, 0.01, 0.1), 30.0), (TRIGONOMETRIC, 1.0)]
)
@pytest.mark.parametrize("variance", [1e-4, 1.0, 1e4])
def test_tilted_moments(loss, y, variance):
    mean = np.array([-0.5, 0.2])
    centre, spread = tilted_moments(loss, np.full(2, y), mean, np.full(2, variance))
    for k in range(2):
        edge = 12.0 * np.sqrt(spread[k])
        f = np.linspace(centre[k] - edge, centre[k] + edge, 400_001)
        log_density = -0.5 * (f - mean[k]) ** 2 / variance - loss.value(y, f)
        share = np.exp(log_density - log_density.max())
        share /= share.sum()
        assert centre[k] == pytest.approx(share @ f, abs=0.05 * np.sqrt(spread[k]))
        assert spread[k] == pytest.approx(share @ (f - share @ f) ** 2, rel=0.05)


def test_expectation_propagation_finds_the_likelihood_of_gaussian_noise():
    K, y, m, loss, mean, V = regression()
    base = propagated(WhitePrior.of(K, np.full(y.size, m)), y, loss)
    np.testing.assert_allclose(base.precision, 25.0, rtol=0.05)
    np.testing.assert_allclose(m + base.mean, mean, rtol=0, atol=0.05 * np.sqrt(np.diag(V).min()))
