"""The reference against itself: quadrature against closed forms, bisection against algebra."""

import pytest

from tests.oracle import (
    SILF,
    EpsilonInsensitive,
    Gaussian,
    Huber,
    Laplace,
    Logistic,
    Probit,
    SoftMarginL1,
    SoftMarginL2,
    SoftMarginLe,
    Trigonometric,
    mp,
)

DENSITIES = [
    SILF(10, 0.1, 0.3),
    SILF(1e6, 10, 0.5),
    SILF(1e-3, 1e-6, 1e-8),
    SILF(1, 2, 1e-8),
    Huber(2, 0.5),
    EpsilonInsensitive(3, 0.7),
    EpsilonInsensitive(1e6, 10),
    Laplace(2.5),
    Gaussian(0.3),
]


def _relative(a, b):
    return abs(a / b - 1)


def _name(loss):
    numbers = [f"{k}={mp.nstr(v, 3)}" for k, v in vars(loss).items() if isinstance(v, mp.mpf)]
    return f"{type(loss).__name__}-{'-'.join(numbers)}"


@pytest.mark.parametrize("loss", DENSITIES, ids=_name)
def test_normaliser_and_variance_against_quadrature(loss):
    assert _relative(loss.normaliser_by_quadrature(), loss.normaliser()) < mp.mpf("1e-35")
    assert _relative(loss.variance_by_quadrature(), loss.variance()) < mp.mpf("1e-35")


@pytest.mark.parametrize("loss", [*DENSITIES[:1], *DENSITIES[4:6]], ids=_name)
def test_distribution_function_against_quadrature(loss):
    for r in [-3, -0.75, -0.125, -0.08, -1e-3, 0, 0.05, 0.11, 0.5, 2]:
        assert _relative(loss.cdf(r), loss.cdf_by_quadrature(r)) < mp.mpf("1e-30")


def test_distribution_function_of_appendix_f():
    loss = SILF(10, 0.1, 0.3)
    for r in [-3, -0.13, -0.1, -0.07, -0.01, 0, 0.01, 0.06, 0.1, 0.13, 0.2, 1]:
        assert _relative(loss.cdf(r), loss.cdf_of_appendix_f(r)) < mp.mpf("1e-45")


@pytest.mark.parametrize("u", [1e-300, 1e-3, 0.2, 0.4999, 0.5, 0.7, 1 - 2.0**-53])
def test_quantile_inverts_the_distribution_function(u):
    loss = SILF(10, 0.1, 0.3)
    assert _relative(loss.cdf(loss.quantile(u)), mp.mpf(u)) < mp.mpf("1e-30")


def test_conjugates_against_algebra():
    silf = SILF(10, 0.1, 0.3)
    for a in [-10, -3.7, 0, 1e-9, 9.99, 10]:
        closed = silf.lo * abs(a) - a * mp.mpf("0.4")
        closed += silf.beta * silf.epsilon / 10 * mp.mpf(a) ** 2
        assert abs(silf.conjugate(mp.mpf("0.4"), a) - closed) < mp.mpf("1e-45")
    assert silf.conjugate(0, 10.0001) == mp.inf
    for a in [0, 1e-6, 0.5, 3, 1e4]:
        s = 2 * mp.mpf(a) / mp.pi  # (5.29)
        closed = -a + 2 * s * mp.atan(s) - mp.log1p(s**2)
        twice = Trigonometric(2).conjugate(-1, -mp.mpf(a) / 2)
        for got in (Trigonometric(1).conjugate(1, a), twice):
            assert abs(got - closed) < mp.mpf("1e-45") * (1 + a)
    assert Trigonometric(1).conjugate(1, -1e-9) == mp.inf
    for a in [0, 0.25, 0.9, 1]:
        p = mp.mpf(a)
        closed = sum(q * mp.log(q) for q in (p, 1 - p) if q)
        assert abs(Logistic().conjugate(-1, -a) - closed) < mp.mpf("1e-45")
    assert Logistic().conjugate(1, 1.01) == mp.inf
    assert Probit().conjugate(1, -0.01) == mp.inf
    assert abs(Probit().conjugate(1, 0)) < mp.mpf("1e-50")
    assert abs(SoftMarginL1(2).conjugate(1, 1.5) + 1.5) < mp.mpf("1e-50")
    assert abs(SoftMarginL2(2).conjugate(1, 3) - (-3 + mp.mpf(9) / 4)) < mp.mpf("1e-45")
    assert abs(SoftMarginLe(2, 0.25).conjugate(-1, -1) - (-1 + mp.mpf("0.125"))) < mp.mpf("1e-45")
    assert abs(Gaussian(2).conjugate(1, 3) - (-3 + 18)) < mp.mpf("1e-45")
    assert abs(Laplace(2).conjugate(1, -2) - 2) < mp.mpf("1e-50")
    assert abs(EpsilonInsensitive(2, 0.5).conjugate(1, 1) + 0.5) < mp.mpf("1e-50")


SMOOTH = [
    (SILF(10, 0.1, 0.3), [-1, -0.1, 0.02, 0.1, 0.5]),
    (Trigonometric(0.5), [-0.49, -0.1, 0.3, 0.7]),
    (Logistic(), [-30, -1, 0.3, 30]),
    (Probit(), [-30, -1, 0.3, 5]),
    (SoftMarginL2(3), [-2, 0.5, 2]),
    (SoftMarginLe(3, 0.3), [-2, 0.5, 2]),
]


@pytest.mark.parametrize(("loss", "points"), SMOOTH, ids=[_name(x[0]) for x in SMOOTH])
def test_slopes_against_numerical_differentiation(loss, points):
    for x in map(mp.mpf, points):
        assert abs(mp.diff(loss.profile, x) - loss.slope(x)) < mp.mpf("1e-25")
        assert abs(mp.diff(loss.slope, x) - loss.seconds(x)[0]) < mp.mpf("1e-25")


@pytest.mark.parametrize("loss", [Trigonometric(0.7), Logistic(), Probit()], ids=_name)
def test_losses_are_negative_logarithms_of_their_probabilities(loss):
    for x in [-0.69, -0.2, 0, 0.3, 3]:
        p = loss.probability(x)
        assert abs(loss.profile(x) + mp.log(p) if p else 0) < mp.mpf("1e-50")
        assert abs(p + loss.probability(-x) - 1) < mp.mpf("1e-55")


@pytest.mark.parametrize("loss", [SILF(10, 0.1, 0.3), Huber(2, 0.5)], ids=_name)
def test_mixing_density_reproduces_the_noise(loss):
    C, knots = loss.C, loss.knots()
    assert abs(mp.quad(loss.mixing_density, knots) - 1) < mp.mpf("1e-20")
    for r in map(mp.mpf, [0, 0.04, 0.11, -0.3, 2]):
        cuts = sorted({*knots, min(max(r, knots[0]), knots[-1])})
        mixture = mp.quad(
            lambda t, r=r: loss.mixing_density(t) * C / 2 * mp.exp(-C * abs(r - t)), cuts
        )
        assert _relative(mixture, loss.density(r)) < mp.mpf("1e-20")
