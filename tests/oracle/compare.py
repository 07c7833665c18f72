"""Comparison of floats with multiple-precision references."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.oracle.base import mp

UNDERFLOW = 1e-300  # below this a float carries fewer digits: compared absolutely


def worst_error(
    got: Any, expected: Iterable[Any], floor: Any = 0.0
) -> tuple[float, int, float, float]:
    """Largest ``|got - expected| / (|expected| + floor)``, with its index, and both values there.

    ``floor`` (a number or one per point) is the scale below which the error counts absolutely.
    Infinities have to agree exactly; a NaN is an infinite error.
    """
    got = np.atleast_1d(np.asarray(got, dtype=float)).ravel()
    expected = list(expected)
    floors = np.broadcast_to(np.asarray(floor, dtype=float), got.shape)
    assert len(expected) == got.size, f"{got.size} values against {len(expected)} references"
    worst = (0.0, 0, float("nan"), float("nan"))
    for i, (g, e, c) in enumerate(zip(got, expected, floors, strict=True)):
        if not mp.isfinite(e) or not np.isfinite(g):
            error = 0.0 if g == float(e) else float("inf")
        else:
            slack = mp.mpf(UNDERFLOW) * mp.mpf("1e-20")
            error = float(abs(mp.mpf(float(g)) - e) / (abs(e) + mp.mpf(float(c)) + slack))
            if abs(e) < UNDERFLOW and abs(g) < 2 * UNDERFLOW:
                error = 0.0
        if error > worst[0] or (i == 0 and error == 0):
            worst = (error, i, float(g), float(e))
    return worst


def assert_close(
    got: Any, expected: Iterable[Any], rtol: float, floor: Any = 0.0, where: Any = None
) -> None:
    """Assert `worst_error` is at most ``rtol``; ``where`` lists the inputs for the message."""
    error, i, g, e = worst_error(got, expected, floor)
    at = "" if where is None else f" at {where[i]!r}"
    assert error <= rtol, f"relative error {error:.2e} > {rtol:.0e}{at}: got {g!r}, expected {e!r}"
