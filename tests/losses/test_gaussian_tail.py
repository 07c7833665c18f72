"""The tail of the normal distribution, against multiple precision on both sides of the switch."""

import numpy as np
import pytest

from pymc_bsvm.losses import numba_language, numpy_language
from pymc_bsvm.losses.gaussian_tail import make_erfcx, make_hazard
from tests.oracle import mp

LANGUAGES = pytest.mark.parametrize(
    "language", [numpy_language, numba_language], ids=["numpy", "numba"]
)
NEAR = np.linspace(0.0, 3.9, 14)
FAR = np.array([3.999, 4.0, 4.001, 4.1, 4.7, 6.0, 9.0, 20.0, 300.0, 1e4])


def exact(x):
    """Return Mills' ratio of the normal distribution."""
    return mp.sqrt(mp.pi / 2) * mp.exp(x * x / 2) * mp.erfc(x / mp.sqrt(2))


@LANGUAGES
def test_scaled_complementary_error_function(language):
    erfcx = make_erfcx(language)
    for x in np.concatenate([NEAR, FAR]) / np.sqrt(2.0):
        with mp.workdps(60):
            wanted = mp.sqrt(2 / mp.pi) * exact(mp.sqrt(2) * mp.mpf(float(x)))
            assert abs(erfcx(x) / wanted - 1) < 3e-15, x
    with np.errstate(over="raise"):
        assert erfcx(1e200) == pytest.approx(1e-200 / np.sqrt(np.pi), rel=1e-15)


@LANGUAGES
def test_hazard_and_what_it_exceeds_its_argument_by(language):
    """The excess is a small difference of large numbers below the switch, and none beyond it."""
    hazard = make_hazard(language)
    for x in np.concatenate([-NEAR, NEAR, FAR]):
        with mp.workdps(60):
            wanted = 1 / exact(mp.mpf(float(x)))
            found, excess = hazard(x)
            assert abs(found / wanted - 1) < 1e-14, x
            assert abs(excess / (wanted - mp.mpf(float(x))) - 1) < (2e-15 if x > 4.0 else 3e-13), x
