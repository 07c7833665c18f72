"""The width of a posterior without curvature, against integration of the posterior itself."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from pymc_bsvm.evidence.flat_posterior import flat, with_width
from pymc_bsvm.evidence.posterior import Posterior
from pymc_bsvm.losses import SILF, Gaussian, Trigonometric


def loss_value(r, C, epsilon, beta):
    """Return the soft insensitive loss, (2.28) of [Chu03]_."""
    r, low, high = abs(r), (1.0 - beta) * epsilon, (1.0 + beta) * epsilon
    if r <= low:
        return 0.0
    if r < high:
        return C * (r - low) ** 2 / (4.0 * beta * epsilon)
    return C * (r - epsilon)


def integrated_sd(prior, residuals, C, epsilon, beta=0.3):
    """Return the sd about zero of one latent value that all rows share."""

    def density(f):
        energy = sum(loss_value(r - f, C, epsilon, beta) for r in residuals)
        return np.exp(-energy) * norm.pdf(f, scale=np.sqrt(prior))

    end = 3.0 * epsilon + np.abs(residuals).max() + 30.0 / C
    points = sorted({s * k * epsilon for s in (-1, 1) for k in (0.7, 1.3)})
    options = {"points": points, "limit": 500, "epsabs": 0.0, "epsrel": 1e-9}
    mass = quad(density, -end, end, **options)[0]
    return np.sqrt(quad(lambda f: f * f * density(f), -end, end, **options)[0] / mass)


def posterior(K, y, loss):
    n = y.size
    return Posterior(K, y, loss, np.zeros(n), np.zeros(n), np.zeros(n))


@pytest.mark.parametrize("prior", [0.5, 100.0])
@pytest.mark.parametrize(("C", "epsilon"), [(10.0, 0.1), (1000.0, 0.0067), (3e5, 3e-6)])
def test_one_row_is_exact(prior, C, epsilon):
    """Nothing but the prior is beside it, so that the site is the tilted variance's."""
    made = with_width(posterior(np.array([[prior]]), np.zeros(1), SILF(C, epsilon, 0.3)), None)
    expected = integrated_sd(prior, np.zeros(1), C, epsilon)
    assert np.sqrt(made.variance[0]) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("n", [2, 5, 40, 300])
@pytest.mark.parametrize(("C", "epsilon"), [(10.0, 0.1), (3e5, 3e-6)])
def test_rows_that_share_their_value(n, C, epsilon):
    """All inside the tube: the width shrinks with their number, as that of the true posterior.

    The tolerances are of what a Gaussian for each row can do; the prior's sd is 10.
    """
    made = with_width(posterior(np.full((n, n), 100.0), np.zeros(n), SILF(C, epsilon, 0.3)), None)
    assert flat(posterior(np.eye(n), np.zeros(n), SILF(C, epsilon, 0.3)))
    assert not flat(made)
    expected = integrated_sd(100.0, np.zeros(n), C, epsilon)
    assert np.sqrt(made.variance[0]) == pytest.approx(expected, rel=0.2 if n < 100 else 0.35)


@pytest.mark.parametrize("apart", [1.0, 5.0])
def test_two_rows_beyond_the_tube(apart):
    """Bound from both sides, with a flat top in between."""
    y = np.array([-0.5, 0.5]) * apart
    made = with_width(posterior(np.full((2, 2), 100.0), y, SILF(1.0, 0.05, 0.3)), None)
    expected = integrated_sd(100.0, y, 1.0, 0.05)
    assert np.sqrt(made.variance[0]) == pytest.approx(expected, rel=0.25 if apart < 2.0 else 0.45)


def test_rows_that_share_nothing():
    """Each has the width of its own tilted distribution."""
    made = with_width(posterior(np.diag([1.0, 4.0]), np.zeros(2), SILF(10.0, 0.1, 0.3)), None)
    for k, prior in enumerate((1.0, 4.0)):
        expected = integrated_sd(prior, np.zeros(1), 10.0, 0.1)
        assert np.sqrt(made.variance[k]) == pytest.approx(expected, rel=0.03)


def test_weights_are_repeated_rows():
    loss = SILF(10.0, 0.1, 0.3)
    K = np.array([[4.0, 3.0], [3.0, 4.0]])
    weight = np.array([3.0, 1.0])
    rows = np.array([0, 0, 0, 1])
    one = with_width(posterior(K, np.zeros(2), loss), weight)
    many = with_width(posterior(K[np.ix_(rows, rows)], np.zeros(4), loss), None)
    np.testing.assert_allclose(one.variance[[0, 1]], many.variance[[0, 3]], rtol=0.03)


def test_the_mean_stays():
    made = with_width(posterior(np.full((3, 3), 2.0), np.zeros(3), SILF(10.0, 0.1, 0.3)), None)
    np.testing.assert_array_equal(made.a, 0.0)
    np.testing.assert_array_equal(made.mean, 0.0)


def test_what_is_flat():
    K, y = np.eye(2), np.array([-1.0, 1.0])
    assert flat(posterior(K, y, Gaussian(1.0)))  # with no precision it was given none
    assert not flat(posterior(K, y, Trigonometric(1.0)))
    curved = Posterior(K, y, SILF(1.0, 0.1, 0.3), y, y, np.array([0.0, 2.0]))
    assert not flat(curved)
