"""Standardised columns inside, the user's units outside."""

import numpy as np
import pytest

from pymc_bsvm.estimators.scale import Scale


def test_columns_have_mean_zero_and_variance_one():
    x = np.random.default_rng(0).normal([3.0, -1e6, 0.0], [2.0, 5.0, 1e-9], (50, 3))
    scaled = Scale.of(x, None)(x)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-9)


def test_by_hand():
    scale = Scale.of(np.array([[1.0], [2.0], [6.0]]), None)
    assert scale.centre == pytest.approx([3.0])
    assert scale.spread == pytest.approx([np.sqrt(14.0 / 3.0)])
    np.testing.assert_allclose(scale(np.array([[3.0]])), [[0.0]], atol=1e-15)


def test_weights_are_repetitions():
    x = np.random.default_rng(1).normal(size=(6, 2))
    counts = np.array([1, 3, 2, 5, 1, 2])
    weighted, repeated = Scale.of(x, counts.astype(float)), Scale.of(np.repeat(x, counts, 0), None)
    np.testing.assert_allclose(weighted.centre, repeated.centre, rtol=1e-13)
    np.testing.assert_allclose(weighted.spread, repeated.spread, rtol=1e-13)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e15, 1e-300, 1.0 / 3.0])
@pytest.mark.parametrize("n", [1, 2, 77, 10_000])
def test_constant_columns_are_only_centred(value, n):
    """The mean of equal numbers is off by rounding, which is no spread."""
    x = np.full((n, 1), value)
    scale = Scale.of(x, None)
    assert scale.spread == [1.0]
    np.testing.assert_allclose(scale(x), 0.0, atol=1e-13 * max(1.0, abs(value)))


def test_a_small_spread_on_a_large_centre_is_kept():
    x = 1e6 + 1e-6 * np.random.default_rng(2).normal(size=(20, 1))
    assert Scale.of(x, None).spread == pytest.approx(x.std(axis=0), rel=1e-6)


# ---- targets ------------------------------------------------------------------------------------


def test_targets_that_vary_are_columns():
    y = np.random.default_rng(0).normal(size=(9, 1))
    assert Scale.of_targets(y, None) == Scale.of(y, None)


@pytest.mark.parametrize(("value", "size"), [(7.0, 7.0), (-3e8, 3e8), (1e-20, 1e-20), (0.0, 1.0)])
def test_the_spread_of_targets_that_do_not_vary(value, size):
    """Half of the 52 bits of equal ones; all of one alone."""
    for n in (2, 77):
        scale = Scale.of_targets(np.full((n, 1), value), None)
        assert scale.spread == pytest.approx([size * 2.0**-26], rel=1e-12)
        np.testing.assert_allclose(scale(np.full((n, 1), value)), 0.0, atol=1e-6)
    one = Scale.of_targets(np.array([[value]]), None)
    assert one.spread == pytest.approx([size], rel=1e-12)
    assert one.centre == pytest.approx([value])


def test_none_changes_nothing():
    x = np.random.default_rng(3).normal(size=(4, 3))
    np.testing.assert_array_equal(Scale.none(3)(x), x)


def test_the_result_is_contiguous():
    x = np.asfortranarray(np.random.default_rng(4).normal(size=(5, 3)))
    assert Scale.of(x, None)(x).flags.c_contiguous
