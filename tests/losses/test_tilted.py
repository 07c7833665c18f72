"""Averages of likelihoods over Gaussians and their derivatives, against multiple precision."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.losses.tilted import by_quadrature
from tests import oracle
from tests.losses.cases import BY_NAME, CASES, label
from tests.oracle import mp
from tests.oracle import predictive as reference

PUBLISHED = json.loads((Path(__file__).parent / "data" / "tilted.json").read_text(encoding="utf-8"))
NORMALISED = [case for case in CASES if case.normalised]
LOSSES = [
    losses.SILF(10.0, 0.1, 0.3),
    losses.SILF(1e3, 1.0, 0.01),
    losses.Huber(2.0, 0.5),
    losses.EpsilonInsensitive(5.0, 0.3),
    losses.EpsilonInsensitive(1e6, 0.5),
    losses.Laplace(3.0),
    losses.Gaussian(0.7),
    losses.Trigonometric(1.0),
    losses.Trigonometric(0.03),
    losses.Logistic(),
    losses.Probit(),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def argument(loss, y, mean):
    """Return the residual or margin of the mean, and the sign of its derivative."""
    return (y - mean, -1.0) if loss.task == "regression" else (y * mean, y)


def quadrature(loss, y, mean, variance):
    """Return what the default on the base class gives."""
    y, mean, variance = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (y, mean, variance))
    centre, sign = argument(loss, y, mean)
    log_z, slope, *moments = by_quadrature(loss, centre, variance)
    return losses.Tilted(log_z, sign * slope, *moments)


def own(loss, y, mean, variance):
    """Return what the loss gives."""
    return loss.tilted(y, mean, variance)


both_ways = pytest.mark.parametrize("average", [own, quadrature])


def assert_tilted(got, u, log_z, shift, spread, variance):
    """Compare with the exact log, and with the shift of the mean and the variance of f.

    Rounding of u leaves 1e-11 of the log where a narrow Gaussian is far from zero, and 1e-16 of
    an ``alpha`` that vanishes by symmetry, in units of 1 / sd.
    """
    v = mp.mpf(variance)
    alpha, narrowing = shift / v, 1 - spread / v
    assert abs(float(np.squeeze(got.log_z)) - log_z) <= 1e-11 * (1 + abs(log_z))
    slack = 2e-11 * abs(alpha) + 2e-16 / mp.sqrt(v)
    assert abs(float(np.squeeze(got.alpha)) - alpha) <= slack
    assert abs(variance * float(np.squeeze(got.nu)) - narrowing) <= 2e-12
    rounding = 1e-14 * (1 + abs(u)) / mp.sqrt(spread)  # of points in units of their distance
    assert abs(float(np.squeeze(got.variance)) / spread - 1) <= 2e-11 + rounding


# ---- published cases ----------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("case", PUBLISHED, ids=lambda c: re.sub(r"\W+", "-", c["loss"]))
def test_published_cases(average, case):
    loss = eval(case["loss"], dict(vars(losses)))
    y, mean, variance = (float(case[k]) for k in ("y", "mean", "variance"))
    got = average(loss, y, mean, variance)
    log_z, at, spread = (float(case[k]) for k in ("log_z", "tilted_mean", "tilted_variance"))
    assert float(np.squeeze(got.log_z)) == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    assert mean + variance * float(np.squeeze(got.alpha)) == pytest.approx(at, rel=1e-12, abs=1e-13)
    assert variance * float(np.squeeze(got.nu)) == pytest.approx(1 - spread / variance, abs=1e-13)


# ---- multiple precision -------------------------------------------------------------------------


def points(loss, variance):
    """Arguments on both sides, at the knots and far out on both."""
    width = getattr(loss, "delta", 1.0) if loss.task == "classification" else loss.variance() ** 0.5
    far = 30.0 * width + 6.0 * variance**0.5
    return [0.0, -1.3 * width, *map(float, loss.knots[-1:]), far]


@every_loss
@pytest.mark.parametrize("variance", [1e-8, 0.3, 1e4])
def test_moments_in_multiple_precision(loss, variance):
    exact = getattr(oracle, type(loss).__name__)(**loss.fields)
    for u in points(loss, variance):
        y, mean = (u, 0.0) if loss.task == "regression" else (1.0, u)
        log_z, shift, spread = reference.tilted(exact, u, variance)
        if loss.task == "regression":
            log_z, shift = log_z - mp.log(exact.normaliser()), -shift
        for average in (own, quadrature):
            assert_tilted(average(loss, y, mean, variance), u, log_z, shift, spread, variance)


@both_ways
@pytest.mark.parametrize(("margin", "variance"), [(-8.0, 0.01), (-3.0, 1e-4), (-40.0, 2.0)])
def test_behind_the_trigonometric_wall(average, margin, variance):
    """Distances from the wall are of the order of ``variance / depth``, here down to 5e-5."""
    log_z, shift, spread = reference.tilted(oracle.Trigonometric(1.0), margin, variance)
    assert log_z < -150
    got = average(losses.Trigonometric(), 1.0, margin, variance)
    assert_tilted(got, margin, log_z, shift, spread, variance)


@both_ways
def test_far_from_the_tube_nothing_is_rounded_away(average):
    """A row deep inside the tube hardly pulls, and how little has all its digits."""
    loss, exact = losses.EpsilonInsensitive(3.0, 0.4), oracle.EpsilonInsensitive(3.0, 0.4)
    got = average(loss, 0.0, 0.3, 1e-4)
    with mp.workdps(60):
        # the tail above the knot is a truncated exponential of the Gaussian; the lower one is nil
        v, gap, C = mp.mpf(1e-4), mp.mpf(0.4) - mp.mpf(0.3), mp.mpf(3)
        s = mp.sqrt(v)
        tail = mp.exp(C * gap + C * C * v / 2) * mp.erfc((gap + C * v) / (s * mp.sqrt(2))) / 2
        density = mp.exp(-gap * gap / (2 * v)) / (s * mp.sqrt(2 * mp.pi))
        alpha, nu = -C * tail, C * density - C * C * tail
        assert abs(float(np.squeeze(got.alpha)) / alpha - 1) < 1e-12
        assert abs(float(np.squeeze(got.nu)) / nu - 1) < 1e-11
    assert exact.knots()[-1] == 0.4


# ---- derivatives with respect to the parameters -------------------------------------------------


def log_average(loss, fields, u, variance):
    """Return the exact logarithm for parameters in multiple precision."""
    exact = getattr(oracle, type(loss).__name__)(**fields)
    log_z, _, _ = reference.tilted(exact, u, variance)
    return log_z - mp.log(exact.normaliser()) if loss.task == "regression" else log_z


@pytest.mark.parametrize(
    ("loss", "name"), [(loss, name) for loss in LOSSES for name in loss.fields], ids=str
)
@pytest.mark.parametrize("variance", [1e-3, 40.0])
def test_slopes_in_multiple_precision(loss, name, variance):
    u = points(loss, variance)[1] * (0.9 if loss.task == "classification" else 1.0)
    y, mean = (u, 0.0) if loss.task == "regression" else (1.0, u)
    got = dict(zip(loss.fields, loss.tilted_slopes(y, mean, variance), strict=True))[name]
    fields = {key: mp.mpf(value) for key, value in loss.fields.items()}
    step = fields[name] * mp.mpf("1e-15")
    up, down = (
        log_average(loss, fields | {name: fields[name] + k * step}, u, variance) for k in (1, -1)
    )
    exact = (up - down) / (2 * step)
    scale = abs(exact) + 1 / fields[name]  # what the averaged loss and the normaliser nearly share
    assert abs(float(got) - exact) <= 1e-10 * scale


def test_slopes_of_rows():
    C, y = np.array([1.0, 5.0, 40.0]), np.array([[0.1, 0.4, -2.0], [0.0, 3.0, 1.0]])
    got = losses.SILF(C, 0.1).tilted_slopes(y, 0.2, 0.3)
    assert got.shape == (3, 2, 3)
    for place in np.ndindex(2, 3):
        one = losses.SILF(C[place[1]], 0.1).tilted_slopes(y[place], 0.2, 0.3)
        np.testing.assert_allclose(got[(slice(None), *place)], one, rtol=1e-12)
    assert losses.Logistic().tilted_slopes([1, -1], 0.0, 1.0).shape == (0, 2)


def test_a_fixed_rule_agrees_with_the_adaptive_one(rng):
    """The logistic term has poles at odd multiples of i pi, just off the ends of its pieces."""
    logistic = losses.Logistic()
    centre, variance = 50.0 * rng.normal(size=300), 10.0 ** rng.uniform(-6.0, 5.0, 300)
    fixed, adaptive = logistic.blurred(centre, variance), by_quadrature(logistic, centre, variance)
    np.testing.assert_allclose(fixed.log_z, adaptive.log_z, rtol=1e-12, atol=2e-12)
    slack = 1e-10 * np.abs(adaptive.alpha) + 1e-13 / np.sqrt(variance)  # the tolerance of panels
    assert np.all(np.abs(fixed.alpha - adaptive.alpha) <= slack)
    np.testing.assert_allclose(variance * fixed.nu, variance * adaptive.nu, atol=1e-11)


# ---- identities ---------------------------------------------------------------------------------


@every_loss
def test_derivatives_are_those_of_the_log(loss, rng):
    n, h = 60, 1e-4
    mean, variance = 0.5 * rng.normal(size=n), rng.uniform(0.05, 2.0, n)
    regression = loss.task == "regression"
    y = rng.normal(size=n) if regression else rng.choice([-1.0, 1.0], n)
    at, up, down = (loss.tilted(y, mean + k * h, variance) for k in (0, 1, -1))
    np.testing.assert_allclose((up.log_z - down.log_z) / (2 * h), at.alpha, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose((down.alpha - up.alpha) / (2 * h), at.nu, rtol=2e-6, atol=2e-6)
    assert np.all(at.nu >= 0.0)
    assert np.all(variance * at.nu <= 1.0)


@pytest.mark.parametrize("case", NORMALISED, ids=label)
def test_the_log_is_that_of_the_predictive_density(case, rng):
    from pymc_bsvm.evidence import log_predictive_density

    loss = case.loss(**BY_NAME[case.name].parameters[0])
    y = rng.normal(size=20) if case.task == "regression" else rng.choice([-1.0, 1.0], 20)
    mean, variance = rng.normal(size=20), rng.uniform(0.01, 3.0, 20)
    expected = log_predictive_density(loss, y, mean, variance)
    np.testing.assert_allclose(loss.tilted(y, mean, variance).log_z, expected, atol=1e-12)


def test_labels_have_probabilities_that_sum_to_one():
    for loss in (losses.Trigonometric(), losses.Logistic(), losses.Probit()):
        total = sum(np.exp(loss.tilted(y, 0.4, 2.0).log_z) for y in (-1, 1))
        assert total == pytest.approx(1.0, abs=1e-13)


def test_rows_have_parameters_of_their_own():
    C, mean = np.array([1.0, 5.0, 40.0]), np.array([[0.1, 0.4, -2.0], [0.0, 3.0, 1.0]])
    got = losses.SILF(C, 0.1).tilted(0.2, mean, 0.3)
    assert got.log_z.shape == (2, 3)
    for place in np.ndindex(2, 3):
        one = losses.SILF(C[place[1]], 0.1).tilted(0.2, mean[place], 0.3)
        for several, single in zip(got, one, strict=True):
            assert several[place] == pytest.approx(float(single), rel=1e-13, abs=1e-15)


def test_what_cannot_be_averaged_is_refused():
    silf = losses.SILF(1.0, 0.1)
    for variance in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="variance"):
            silf.tilted(0.0, 0.0, variance)
    with pytest.raises(ValueError, match="mean must be finite"):
        silf.tilted(0.0, np.inf, 1.0)
    with pytest.raises(ValueError, match="labels -1 and 1 only"):
        losses.Logistic().tilted(0, 0.0, 1.0)
    with pytest.raises(ValueError, match="not a negative log likelihood"):
        losses.SoftMarginL1(1.0).tilted(1, 0.0, 1.0)
