"""What a difference of two posteriors calls close, from numbers chosen by hand."""

import numpy as np
import pytest

from pymc_bsvm.diagnosis.difference import Difference

EXACT_SD = np.array([2.0, 0.5, 1.0])


def difference(shift=0.0, ratio=1.0, row=1):
    """Return two posteriors that differ in one row, by so many exact sds and by this factor."""
    mean, sd = np.array([1.0, -3.0, 0.2]), EXACT_SD.copy()
    laplace_mean, laplace_sd = mean.copy(), sd.copy()
    laplace_mean[row] += shift * sd[row]
    laplace_sd[row] *= ratio
    return Difference(laplace_mean, laplace_sd, mean, sd, 0.1 * sd)


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize(
    ("ratio", "close"), [(0.5, False), (0.78, False), (0.82, True), (1.22, True), (1.28, False)]
)
def test_one_row_too_narrow_or_too_wide_is_not_close(row, ratio, close):
    got = difference(ratio=ratio, row=row)
    np.testing.assert_allclose(got.sd_ratio[row], ratio, rtol=1e-14)
    assert got.close == close
    low, high = min(ratio, 1.0), max(ratio, 1.0)
    assert f"{low:.2f} to {high:.2f} times" in got.describe("f")


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("size", "close"), [(0.45, True), (0.55, False)])
def test_a_shift_counts_in_both_directions(sign, size, close):
    got = difference(shift=sign * size)
    np.testing.assert_allclose(got.shift, [0.0, sign * size, 0.0], rtol=1e-14, atol=1e-14)
    assert got.largest == pytest.approx(size, rel=1e-14)
    assert got.rms == pytest.approx(size / np.sqrt(3.0), rel=1e-14)
    assert got.error == pytest.approx(0.1, rel=1e-14)
    assert got.close == close
