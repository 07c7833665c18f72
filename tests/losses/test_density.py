"""Normaliser, variance, distribution function, quantile and mixing density of the noise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from tests.losses.cases import BY_NAME, CASES, EPS, label, rows
from tests.oracle import assert_close, mp

densities = pytest.mark.parametrize(
    ("case", "p"), rows(lambda c: c.task == "regression" and c.normalised), ids=label
)
distributions = pytest.mark.parametrize(("case", "p"), rows(lambda c: c.distribution), ids=label)
probabilities = pytest.mark.parametrize(
    ("case", "p"), rows(lambda c: c.task == "classification" and c.normalised), ids=label
)


@densities
def test_normaliser(case, p):
    reference = case.oracle(**p)
    got = case.loss(**p).log_normalizer()
    assert isinstance(got, float)
    assert_close(got, [mp.log(reference.normaliser())], 2e-15, 1.0)
    assert_close(got, [mp.log(reference.normaliser_by_quadrature())], 2e-15, 1.0)


@densities
def test_variance(case, p):
    reference = case.oracle(**p)
    got = case.loss(**p).variance()
    assert_close(got, [reference.variance()], 1e-14)
    assert_close(got, [reference.variance_by_quadrature()], 1e-14)


@densities
def test_density_by_quadrature_of_the_loss_itself(case, p):
    """``exp(-l) / Z`` integrates to one in ``y``, with float arithmetic only."""
    loss, reference = case.loss(**p), case.oracle(**p)
    f = 0.25
    log_z = loss.log_normalizer()
    lengths = [float(s) for s in reference.scales()]
    knots = [0.0, *(float(k) for k in reference.knots() if k > 0)]
    inner = sorted({k + m * s for k in knots for s in lengths for m in (0, 1, 4, 12, 45)})
    total = second = 0.0
    for side in (-1.0, 1.0):
        for a, b in itertools.pairwise(inner):
            if b - a < 1e-12 * max(1, b):
                continue

            def density(r, side=side):
                return float(np.exp(-loss.value(f + side * r, f) - log_z))

            total += integrate.quad(density, a, b, epsabs=0, epsrel=1e-9)[0] if density(a) else 0
            second += (
                integrate.quad(lambda r: r**2 * density(r), a, b, epsabs=0, epsrel=1e-9)[0]
                if density(a)
                else 0
            )
    assert total == pytest.approx(1.0, rel=1e-7)
    assert second == pytest.approx(loss.variance(), rel=1e-7)


@probabilities
def test_class_probabilities_sum_to_one(case, p, rng):
    loss = case.loss(**p)
    assert loss.log_normalizer() == 0.0
    scale = p.get("delta", 1.0)
    f = np.concatenate(
        [case.points(**p), scale * rng.uniform(-1.2, 1.2, 500), rng.normal(0, 9, 500)]
    )
    total = np.exp(-loss.value(1.0, f)) + np.exp(-loss.value(-1.0, f))
    assert np.max(np.abs(total - 1)) <= 1e-15


@pytest.mark.parametrize("name", [c.name for c in CASES if not c.normalised])
def test_soft_margins_have_no_normaliser(name):
    case = BY_NAME[name]
    loss = case.loss(**case.parameters[0])
    with pytest.raises(ValueError, match=name):
        loss.log_normalizer()


def _residuals(case, p):
    reference = case.oracle(**p)
    knots = [float(k) for k in reference.knots() if k >= 0]
    C = p["C"]
    out = [k + m / C for k in [0.0, *knots] for m in (1e-9, 1e-3, 0.3, 1, 5, 30, 700, 1e4, 1e6)]
    out += [k * (1 + n) for k in knots for n in (0, 1e-12, -1e-12, 1e-6, -1e-6, -0.3)]
    out += [k + m * float(s) for k in knots for s in reference.scales() for m in (-1, 1, 3, 9)]
    return np.array(sorted({*out, *(-r for r in out), 0.0}))


def _lost(case, p, r):
    """Log of the tail moves by ``C`` per unit of ``r``: what one rounding of ``r`` costs."""
    C, epsilon = p["C"], p.get("epsilon", 0.0)
    return C * np.maximum(np.abs(r), epsilon)


@distributions
def test_distribution_function_in_both_tails(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    r = _residuals(case, p)
    got = loss.cdf(r)
    expected = [reference.cdf(v) for v in r]
    for g, e, v in zip(got, expected, r, strict=True):
        # exp(-t) turns the rounding of t = C (|r| - epsilon) into a relative error t
        t = float(-mp.log(reference.tail(abs(v))))
        assert_close(g, [e], 1e-14 + 3 * EPS * (t if v < 0 else 0), 0.0, [v])
    assert np.all(np.diff(got) >= -2e-16)
    assert float(loss.cdf(-np.inf)) == 0.0
    assert float(loss.cdf(np.inf)) == 1.0


@distributions
def test_log_distribution_function_in_both_tails(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    r = _residuals(case, p)
    got = loss.log_cdf(r)
    for g, v in zip(got, r, strict=True):
        e = reference.log_cdf(v)
        t = float(-mp.log(reference.tail(abs(v))))
        rtol = 1e-14 + (3 * EPS * t if v > 0 else 0)
        assert_close(g, [e], rtol, 0.0, [v])


@distributions
def test_log_distribution_function_far_out(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    far = -1e6 / p["C"]
    assert_close(loss.log_cdf(far), [reference.log_cdf(far)], 1e-14)
    # on the other side log F = log1p(-tail) is minus the tail, not zero
    near = -float(reference.quantile(1e-200))
    assert loss.log_cdf(near) < 0
    rtol = 1e-12 + 3 * EPS * float(_lost(case, p, near))
    assert_close(loss.log_cdf(near), [-reference.tail(near)], rtol)
    assert float(loss.log_cdf(0.0)) == pytest.approx(-np.log(2), rel=1e-14)


_LOWER = [1e-300, 1e-100, 1e-20, 1e-9, 1e-3, 0.05, 0.2, 0.35, 0.45, 0.499, 0.4999999999, 0.5]
_UPPER = [0.5000001, 0.51, 0.6, 0.8, 0.97, 0.9999, 1 - 1e-9, 1 - 1e-16]
PROBABILITIES = np.array([*_LOWER, *_UPPER])


@distributions
def test_quantile_against_the_oracle(case, p):
    """Within a rounding of ``r`` plus what a rounding of ``u`` makes of it."""
    loss, reference = case.loss(**p), case.oracle(**p)
    got = loss.quantile(PROBABILITIES)
    for g, u in zip(got, PROBABILITIES, strict=True):
        e = reference.quantile(u)
        p_tail = min(mp.mpf(u), 1 - mp.mpf(u))
        moved = float(p_tail / reference.density(e))
        assert abs(float(mp.mpf(float(g)) - e)) <= 8 * EPS * (abs(float(e)) + moved), (
            u,
            g,
            float(e),
        )


@distributions
def test_quantiles_end_at_infinity_and_are_unknown_beyond(case, p):
    """NaN comes without a warning, which would be an error here."""
    shares = [-0.5, -1e-12, 0.0, 1.0, 1.0 + 1e-12, 1.5, np.nan]
    expected = [np.nan, np.nan, -np.inf, np.inf, np.nan, np.nan, np.nan]
    np.testing.assert_array_equal(case.loss(**p).quantile(shares), expected)


@distributions
def test_quantile_inverts_the_distribution_function(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    r = _residuals(case, p)
    r = r[(r <= 0) & (r > -600 / p["C"] - p.get("epsilon", 0.0))]
    u = loss.cdf(r)
    keep = u > 1e-290
    r, u = r[keep], u[keep]
    log_density = -loss.value(r, 0.0) - loss.log_normalizer()
    t = _lost(case, p, r)
    slack = 16 * EPS * (np.abs(r) + u * np.exp(-log_density) * (1 + t))
    assert np.all(np.abs(loss.quantile(u) - r) <= slack)
    back = loss.cdf(loss.quantile(PROBABILITIES))
    spread = 1 + np.abs(np.log(np.minimum(PROBABILITIES, 1 - PROBABILITIES)))
    spread = spread + p["C"] * p.get("epsilon", 0.0)
    assert np.all(np.abs(back - PROBABILITIES) <= 16 * EPS * spread * PROBABILITIES)
    assert np.all(np.diff(loss.quantile(PROBABILITIES)) > 0)
    assert float(reference.quantile(0.5)) == float(loss.quantile(0.5)) == 0.0


@distributions
def test_quantile_at_the_ends(case, p):
    loss = case.loss(**p)
    assert float(loss.quantile(0.0)) == -np.inf
    assert float(loss.quantile(1.0)) == np.inf


@distributions
def test_distribution_function_differentiates_to_the_density(case, p):
    loss = case.loss(**p)
    r = np.array([-2.0, -0.7, -0.31, 0.11, 0.9]) / p["C"]
    h = 1e-5 / p["C"]
    slope = (loss.cdf(r + h) - loss.cdf(r - h)) / (2 * h)
    density = np.exp(-loss.value(r, 0.0) - loss.log_normalizer())
    # O(h) if a knot falls inside the step, and the rounding of the difference of two cdf values
    noise = EPS / h
    assert np.all(np.abs(slope - density) <= 1e-4 * density + 4 * noise)


mixed = pytest.mark.parametrize(("case", "p"), rows(lambda c: c.name == "SILF"), ids=label)


@mixed
def test_mixing_density_against_the_oracle(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    lo, hi = float(reference.knots()[-2]), float(reference.hi)
    if p["beta"] == 1.0:
        lo = 0.0
    inside = [lo + (hi - lo) * k for k in (0.1, 0.25, 0.5, 0.8, 0.97)]
    if lo > 0:
        inside += [lo * k for k in (0.0, 0.3, 0.999)]
    t = np.array(sorted({*inside, *(-v for v in inside)}))
    got = loss.mixing_density(t)
    expected = [reference.mixing_density(v) for v in t]
    # exp(-l) turns the rounding of l into a relative error l
    peak = float(reference.profile(hi))
    for g, e, v in zip(got, expected, t, strict=True):
        floor = 1e-3 * float(reference.mixing_density(0)) * np.exp(-float(reference.profile(v)))
        assert_close(g, [e], 3e-14 + 8 * EPS * min(peak, float(reference.profile(v))), floor, [v])
    outside = np.array([-2.0, -1.000001, 1.000001, 2.0, 1e6]) * hi
    assert np.array_equal(loss.mixing_density(outside), np.zeros(5))


@mixed
def test_mixing_density_is_one_and_reproduces_the_noise(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    C, beta, epsilon = p["C"], p["beta"], p["epsilon"]
    lo, hi = (1 - beta) * epsilon, (1 + beta) * epsilon
    width = np.sqrt(2 * beta * epsilon / C)
    centre = [lo, hi] + [lo + width * m for m in (1, 3, 8, 20, 60)]
    base = {-hi, hi, *(s * c for s in (-1, 1) for c in centre if c <= hi)}

    def integral(function, extra):
        cuts = sorted({*base, *(c for c in extra if -hi < c < hi)})
        total = 0.0
        for a, b in itertools.pairwise(cuts):
            if b > a:
                nodes, weights = np.polynomial.legendre.leggauss(40)
                t = (a + b) / 2 + (b - a) / 2 * nodes
                total += (b - a) / 2 * float(weights @ function(t))
        return total

    dense = np.linspace(-hi, hi, 4001)
    assert np.all(loss.mixing_density(dense) >= 0)
    assert integral(loss.mixing_density, []) == pytest.approx(1.0, rel=1e-7)
    for r in (0.0, 0.4 * lo, epsilon, -0.9 * hi, hi + 1 / C, -hi - 3 / C):
        near = [r, *(r + s * m / C for s in (-1, 1) for m in (1, 4, 12, 40))]
        mixture = integral(
            lambda t, r=r: loss.mixing_density(t) * C / 2 * np.exp(-C * np.abs(r - t)), near
        )
        density = float(reference.density(r))
        if density > 1e-250:
            assert mixture == pytest.approx(density, rel=1e-6), r


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.floats(-3, 6).map(lambda e: 10.0**e),
    st.floats(-6, 1).map(lambda e: 10.0**e),
    st.floats(-8, 0).map(lambda e: 10.0**e),
    st.floats(1e-12, 0.5),
)
def test_hypothesis_noise_of_the_soft_insensitive_loss(C, epsilon, beta, u):
    case = BY_NAME["SILF"]
    p = {"C": C, "epsilon": epsilon, "beta": beta}
    loss, reference = case.loss(**p), case.oracle(**p)
    assert_close(loss.log_normalizer(), [mp.log(reference.normaliser())], 2e-15, 1.0)
    assert_close(loss.variance(), [reference.variance()], 2e-14)
    r = float(loss.quantile(u))
    assert r <= 0
    exact = reference.quantile(u)
    moved = float(mp.mpf(u) / reference.density(exact))
    assert abs(float(mp.mpf(r) - exact)) <= 8 * EPS * (abs(r) + moved)
    t = 1 + abs(np.log(u)) + C * epsilon * 4
    assert_close(loss.cdf(r), [reference.cdf(r)], 1e-14 + 3 * EPS * t)
    assert float(loss.cdf(-r)) == pytest.approx(1 - float(loss.cdf(r)), rel=4e-16)
