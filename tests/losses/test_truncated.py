"""Moments of truncated Gaussians in compiled code, against multiple precision."""

import numpy as np
import pytest

from pymc_bsvm.losses.truncated import complete_moments, falling_moments
from tests.oracle import mp

PANELS, COUNT = 12, 20


def rule():
    """Return the nodes and weights of Gauss's rule, by Newton steps from those of NumPy."""
    nodes = []
    with mp.workdps(40):
        for start in np.polynomial.legendre.leggauss(COUNT)[0]:
            x = mp.findroot(lambda z: mp.legendre(COUNT, z), mp.mpf(start))
            slope = COUNT * (x * mp.legendre(COUNT, x) - mp.legendre(COUNT - 1, x)) / (x * x - 1)
            nodes.append((x, 2 / ((1 - x * x) * slope**2)))
    return nodes


RULE = rule()


def exact(slope, bend, width):
    """Return the first three moments by Gauss's rule in panels of a few nats."""
    with mp.workdps(25):
        slope, bend = mp.mpf(slope), mp.mpf(bend)
        depth = 60
        end = min(width, 2 * depth / (slope + mp.sqrt(slope**2 + 2 * depth * bend)))
        moments, step = [mp.mpf(0)] * 3, end / PANELS
        for panel in range(PANELS):
            for node, weight in RULE:
                t = step * (panel + (1 + node) / 2)
                mass = step / 2 * weight * mp.exp(-t * (slope + bend * t / 2))
                moments = [x + mass * t**k for k, x in enumerate(moments)]
        return [float(x) for x in moments]


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 1.0, 3.999, 17.0, 1e3, 1e8])
def test_complete_moments(x):
    # a dozen roundings of the table and of its quadrature
    np.testing.assert_allclose(complete_moments(x), exact(x, 1.0, np.inf), rtol=2e-14)


@pytest.mark.parametrize("bend", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("slope", [0.0, 0.5, 30.0, 1e5])
@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.3, 1.0, 4.0, 1e3, np.inf])
def test_falling_moments(slope, bend, width):
    slope *= bend**0.5
    width /= max(slope, bend**0.5)
    # at a fall of half a nat the second moment is a sixtieth of the one it is left out of
    np.testing.assert_allclose(
        falling_moments(slope, bend, width), exact(slope, bend, width), rtol=5e-13
    )


def test_just_around_the_limit_of_the_quadrature():
    for slope, bend in ((1.0, 1e-9), (1e-9, 1.0), (1.0, 1.0)):
        for fall in (0.4999, 0.5001):
            width = 2.0 * fall / (slope + np.sqrt(slope * slope + 2.0 * fall * bend))
            got, expected = falling_moments(slope, bend, width), exact(slope, bend, width)
            np.testing.assert_allclose(got, expected, rtol=5e-13)


def test_no_width():
    assert falling_moments(1.0, 1.0, 0.0) == (0.0, 0.0, 0.0)
