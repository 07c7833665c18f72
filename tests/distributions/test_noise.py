"""What SILF and EpsilonInsensitive share: densities, tails, quantiles, gradients and draws."""

import functools

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.testing import (
    Domain,
    assert_support_point_is_expected,
    check_icdf,
    check_logccdf,
    check_logcdf,
    check_logp,
    check_selfconsistency_icdf,
)
from scipy import stats

from tests.distributions.cases import NOISES, name
from tests.oracle import assert_close, mp

VALUES = Domain([-np.inf, -40.0, -2.1, -0.5, -0.02, 0.0, 0.3, 1.7, 25.0, np.inf])
every_noise = pytest.mark.parametrize("case", NOISES, ids=name)


def compiled(case, method, *, gradient=False):
    """Compile ``(value, mu, *parameters) ->`` a method of the distribution, for vectors, once."""
    return _compiled(case.dist, (*case.domains,), method, gradient)


@functools.cache
def _compiled(dist, names, method, gradient):
    value, *parameters = inputs = [pt.dvector(n) for n in ("value", "mu", *names)]
    output = method(dist.dist(*parameters), value)
    if gradient:
        output = pytensor.grad(output.sum(), inputs)
    return pytensor.function(inputs, output)


def grid(case, points):
    """Stack ``points(**parameters)`` for all extreme parameters: value, mu, *parameters."""
    columns = []
    for p in case.extreme:
        values = np.asarray(points(**p))
        columns.append(
            np.stack([values, np.zeros_like(values), *np.outer(list(p.values()), values**0)])
        )
    return np.concatenate(columns, axis=1)


# ---- PyMC's own harness -------------------------------------------------------------------------


@every_noise
def test_logp_in_the_harness(case):
    check_logp(case.dist, VALUES, case.paramdomains, case.from_reference("logpdf"), decimal=8)


@every_noise
def test_harness_notices_a_wrong_density(case):
    right = case.from_reference("logpdf")
    with pytest.raises(AssertionError, match="not almost equal"):
        check_logp(case.dist, VALUES, case.paramdomains, lambda **p: right(**p) + 1e-5)


@every_noise
def test_logcdf_in_the_harness(case):
    check_logcdf(case.dist, VALUES, case.paramdomains, case.from_reference("logcdf"), decimal=8)


@every_noise
def test_logccdf_in_the_harness(case):
    below = case.from_reference("logcdf")

    def above(value, mu, **parameters):
        return below(value=mu - value, mu=0.0, **parameters)

    check_logccdf(case.dist, VALUES, case.paramdomains, above, decimal=8)


@every_noise
def test_icdf_in_the_harness(case):
    def quantile(q, mu, **parameters):
        noise = case.reference(**{k: float(p) for k, p in parameters.items()})
        return mu + noise.quantile(float(q))

    check_icdf(case.dist, case.paramdomains, quantile, n_samples=60)
    check_selfconsistency_icdf(case.dist, case.paramdomains, decimal=8)  # in Python mode


@every_noise
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("mu", "size", "expected"),
    [
        (1.5, None, 1.5),
        (1.5, (2, 3), np.full((2, 3), 1.5)),
        (np.arange(3.0), None, np.arange(3.0)),
        (np.arange(3.0), (2, 3), np.tile(np.arange(3.0), (2, 1))),
    ],
)
def test_support_point(case, mu, size, expected):
    with pm.Model() as model:
        case.dist("x", mu, **case.typical, size=size)
    assert_support_point_is_expected(model, expected)


@every_noise
@pytest.mark.usefixtures("quick")
def test_support_point_broadcasts_every_parameter(case):
    parameters = {**case.typical, "C": np.array([1.0, 2.0])}
    with pm.Model() as model:
        case.dist("x", 0.5, **parameters)
    assert_support_point_is_expected(model, [0.5, 0.5])


# ---- precision ----------------------------------------------------------------------------------


def tail_points(C, epsilon, beta=0.0):
    hi = (1 + beta) * epsilon
    inner = epsilon * np.array([0.0, 0.3, 1 - beta, 1 - 0.5 * beta, 1.0, 1 + 0.7 * beta, 1 + beta])
    return np.concatenate([inner, hi + np.array([1e-3, 1.0, 30.0, 500.0]) / C, [1e3, 1e8]])


@every_noise
def test_both_tails_keep_their_relative_precision(case):
    """Twelve digits of log P, where a plain ``log(cdf)`` underflows or has none left.

    Besides, a tail of rate C magnifies the rounding of residual and knots, about 4e-16 epsilon.
    """
    r, mu, *parameters = grid(case, tail_points)
    tails = [
        mp.log(case.oracle(*p).tail(x))
        for x, *p in zip(r.tolist(), *map(list, parameters), strict=True)
    ]
    floor = 4e-4 * parameters[0] * parameters[1]
    log_below, log_above = compiled(case, pm.logcdf), compiled(case, pm.logccdf)
    assert_close(log_below(-r, mu, *parameters), tails, rtol=1e-12, floor=floor, where=list(r))
    assert_close(log_above(r, mu, *parameters), tails, rtol=1e-12, floor=floor, where=list(r))
    # the other side: log(1 - tail), which is -tail for small tails
    others = [mp.log1p(-mp.exp(tail)) for tail in tails]
    assert_close(log_below(r, mu, *parameters), others, rtol=2e-9, floor=1e-300, where=list(r))
    assert_close(log_above(-r, mu, *parameters), others, rtol=2e-9, floor=1e-300, where=list(r))


@every_noise
def test_quantile_inverts_the_distribution_function(case):
    shares = np.array([1e-300, 1e-100, 1e-16, 1e-6, 0.01, 0.2, 0.45, 0.5 - 1e-9, 0.5])
    u, mu, *parameters = grid(case, lambda **p: shares)
    quantile, log_below = compiled(case, pm.icdf), compiled(case, pm.logcdf)
    r = quantile(u, mu, *parameters)
    # a tail turns the rounding of r into C |r| times as much
    slack = 1e-11 + 1e-15 * parameters[0] * np.abs(r)
    assert np.all(np.abs(np.exp(log_below(r, mu, *parameters)) / u - 1) <= slack)
    # 1 - u rounds, so that the upper quantiles mirror the lower ones only for moderate shares
    moderate = u > 0.005
    upper = quantile(1 - u, mu, *parameters)[moderate]
    np.testing.assert_allclose(upper, -r[moderate], rtol=1e-9, atol=1e-12)


@every_noise
def test_value_returns_through_the_distribution_function(case):
    """icdf(cdf(x)) = x wherever the distribution function still resolves x."""
    r, mu, *parameters = grid(case, lambda **p: -tail_points(**p)[:-3])
    u = np.exp(compiled(case, pm.logcdf)(r, mu, *parameters))
    back = compiled(case, pm.icdf)(u, mu, *parameters)
    kept = u > 1e-300
    assert kept.mean() > 0.8
    # near the median u is known to 1e-16 of the total mass, that is, to this much of r
    log_density = compiled(case, pm.logp)(r, mu, *parameters)[kept]
    slack = 1e-14 * np.exp(np.log(u[kept]) - log_density) + 1e-9 * np.abs(r[kept]) + 1e-15
    assert np.all(np.abs(back - r)[kept] <= slack)


# ---- gradients ----------------------------------------------------------------------------------


def residuals(C, epsilon, beta=0.0):
    knots = epsilon * np.array([0.0, 1 - beta, 1.0, 1 + beta])
    others = [epsilon / 3, epsilon * (1 + beta / 3), (1 + beta) * epsilon + 1 / C, 37.0, 1e4, 1e8]
    positive = np.concatenate([knots, others])
    return np.unique(np.concatenate([positive, -positive]))


@every_noise
def test_gradients_equal_central_differences_in_60_digits(case):
    """All parameters, from C = 1e-3 to 1e6, beta = 1e-6 to 1, on the knots and in the tails."""
    value, mu, *parameters = grid(case, residuals)
    names = ["value", "mu", *case.domains]
    got = np.array(compiled(case, pm.logp, gradient=True)(value, mu, *parameters))
    assert np.isfinite(got).all()

    def logp(x, m, *p):
        loss = case.oracle(*p)
        return -loss.value(x, m) - mp.log(loss.normaliser())

    h, errors = mp.mpf(10) ** -25, []
    for column, point in enumerate(np.array([value, mu, *parameters]).T.tolist()):
        x, _, C, epsilon, *beta = point
        if not beta and abs(x) == epsilon:
            continue  # a kink: there is no derivative
        scales = {
            "value": C,
            "mu": C,
            "C": 1 / C + max(abs(x) - epsilon, 0) + epsilon,
            "epsilon": C,
            "beta": C * epsilon,
        }
        for row, key in enumerate(names):
            step = h * (abs(mp.mpf(point[row])) or 1)
            ends = []
            for sign in (1, -1):
                moved = [mp.mpf(p) for p in point]
                moved[row] += sign * step
                ends.append(logp(*moved))
            slope = (ends[0] - ends[1]) / (2 * step)
            errors.append((float(abs(got[row, column] - slope)) / scales[key], key, point))
    assert max(errors)[0] < 1e-8, max(errors)


@every_noise
def test_gradient_of_the_distribution_function_is_the_density(case):
    value, mu, *parameters = grid(case, residuals)
    slope, location_slope, *others = compiled(case, pm.logcdf, gradient=True)(
        value, mu, *parameters
    )
    log_density = compiled(case, pm.logp)(value, mu, *parameters)
    expected = np.exp(log_density - compiled(case, pm.logcdf)(value, mu, *parameters))
    # far out, the two logarithms are huge and nearly equal
    slack = 1e-9 + 1e-15 * np.abs(log_density)
    assert np.all(np.abs(slope - expected) <= slack * expected)
    np.testing.assert_array_equal(location_slope, -slope)
    assert np.isfinite(others).all()


# ---- draws --------------------------------------------------------------------------------------


@every_noise
def test_draws_follow_the_distribution(case):
    n = 200_000
    draws = pm.draw(case.dist.dist(0.7, **case.typical, size=n), random_seed=11) - 0.7
    loss, noise = case.loss(**case.typical), case.reference(**case.typical)
    variance, fourth = loss.variance(), noise.moment(4)
    assert variance == pytest.approx(noise.moment(2), rel=1e-9)
    assert abs(draws.mean()) < 5 * np.sqrt(variance / n)
    assert abs(draws.var() - variance) < 5 * np.sqrt((fourth - variance**2) / n)
    knots = np.linspace(-4, 4, 4001)
    table = np.exp([noise.logcdf(r) for r in knots[::20]])
    cdf = np.interp(draws, knots[::20], table)  # the interpolation error is below 1e-4
    assert stats.kstest(cdf, "uniform").pvalue > 1e-3


@every_noise
def test_draws_at_extreme_parameters_have_the_right_spread(case):
    columns = {key: np.array([[p[key]] for p in case.extreme]) for key in case.domains}
    n = 20_000
    draws = pm.draw(case.dist.dist(0.0, **columns, size=(len(case.extreme), n)), random_seed=3)
    assert np.isfinite(draws).all()
    expected = [np.sqrt(case.loss(**p).variance()) for p in case.extreme]
    np.testing.assert_allclose(draws.std(axis=1), expected, rtol=0.06)


@every_noise
def test_draws_are_reproducible(case):
    x = case.dist.dist(0.0, **case.typical, size=(4, 2))
    first, again = pm.draw(x, random_seed=5), pm.draw(x, random_seed=5)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, pm.draw(x, random_seed=6))
    assert np.unique(pm.draw(x, draws=3, random_seed=5)).size == 24


# ---- slopes where formulas meet -----------------------------------------------------------------


@every_noise
def test_slope_of_the_quantile_is_one_over_the_density(case):
    """Also at the median, where the formula changes sides."""
    shares = np.array([1e-6, 0.01, 0.3, 0.5, 0.6, 0.999])
    u, mu, *parameters = grid(case, lambda **p: shares)
    value, location, *rest = inputs = [pt.dvector(n) for n in ("value", "mu", *case.domains)]
    quantile = pm.icdf(case.dist.dist(location, *rest), value)
    gradients = pytensor.grad(quantile.sum(), [value, location])
    slope, location_slope = pytensor.function(inputs, gradients)(u, mu, *parameters)
    r = compiled(case, pm.icdf)(u, mu, *parameters)
    density = np.exp(compiled(case, pm.logp)(r, mu, *parameters))
    np.testing.assert_allclose(slope * density, 1.0, rtol=1e-6)
    np.testing.assert_array_equal(location_slope, 1.0)
