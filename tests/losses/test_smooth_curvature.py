"""The curvature with ramps in the place of its steps, against its definition as a convolution."""

from itertools import pairwise

import numba
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.integrate import quad

from pymc_bsvm import losses, symbolic
from pymc_bsvm.losses import numba_language, smooth_curvature
from tests.losses.cases import BY_NAME, label, rows
from tests.oracle import evidence as oracle

SILFS = (
    losses.SILF(10.0, 0.1, 0.3),
    losses.SILF(1.0, 0.1, 0.05),
    losses.SILF(5.0, 0.2, 0.9),  # here and below, the ramps of the two lower knots overlap
    losses.SILF(2.0, 0.5, 0.97),
    losses.SILF(2.0, 0.5, 1.0),
    losses.Huber(2.0, 0.5),
    losses.SILF(1e6, 1e-6, 0.5),
)
LINKS = (losses.Trigonometric(1.0), losses.Trigonometric(0.2), losses.Trigonometric(10.0))
WIDTHS = (0.1, 0.25, 0.5, 1.0)

every_silf = pytest.mark.parametrize("loss", SILFS, ids=repr)
every_link = pytest.mark.parametrize("loss", LINKS, ids=repr)
every_sparse_loss = pytest.mark.parametrize("loss", SILFS + LINKS, ids=repr)
every_width = pytest.mark.parametrize("w", WIDTHS)


def knots_of(loss):
    """Right-hand knots of SILF, half of their distance, and the curvature between them."""
    bend = getattr(loss, "beta", 1.0) * loss.epsilon
    return loss.epsilon - bend, loss.epsilon + bend, bend, loss.C / (2.0 * bend)


def ramps_of(loss, w):
    """Start and end of every ramp, in the residual or in the margin."""
    if loss.task == "classification":
        return [((1.0 - w) * loss.delta, (1.0 + w) * loss.delta)]
    lo, hi, bend, _ = knots_of(loss)
    return [(knot - w * bend, knot + w * bend) for knot in (-hi, -lo, lo, hi)]


def grid(loss, w, n=2001):
    """Residuals or margins before, in and behind the ramps."""
    top = 1.2 * ramps_of(loss, w)[-1][1]
    low = -0.97 * loss.delta if loss.task == "classification" else -top
    return np.linspace(low, top, n)


def pair(loss, x):
    """Targets and latent values whose residual or margin is exactly x."""
    x = np.asarray(x, dtype=float)
    return (np.ones_like(x), x) if loss.task == "classification" else (x, np.zeros_like(x))


def smooth(loss, x, w):
    return loss.smooth_curvature(*pair(loss, x), w)


def exact(loss, x):
    return loss.curvature(*pair(loss, x))


def scale_of(loss):
    """Height of the steps."""
    return np.pi**2 / 8.0 / loss.delta**2 if loss.task == "classification" else knots_of(loss)[3]


# ---- its definition -----------------------------------------------------------------------------


@every_sparse_loss
@every_width
def test_the_oracle_agrees(loss, w):
    x = grid(loss, w)
    expected = oracle.curvature(loss, *pair(loss, x), w)
    slack = 1e-12 * expected.max()
    np.testing.assert_allclose(smooth(loss, x, w), expected, rtol=1e-10, atol=slack)
    assert expected.max() >= 0.99 * scale_of(loss)


@every_silf
@every_width
def test_convolution_by_quadrature(loss, w):
    """The exact curvature, averaged with the derivative of the ramp as the weight."""
    lo, hi, bend, _ = knots_of(loss)
    tau = w * bend
    for r in np.concatenate([np.linspace(0.0, hi + 1.5 * tau, 24), [lo, hi, lo + tau, hi - tau]]):
        kinks = [k for k in (-hi, -lo, lo, hi) if r - tau < k < r + tau]
        expected = quad(
            lambda t, r=r: exact(loss, t) * 0.75 * (1.0 - ((t - r) / tau) ** 2) / tau,
            r - tau,
            r + tau,
            points=kinks or None,
            epsabs=1e-12 * scale_of(loss),
            epsrel=1e-12,
        )[0]
        for side in (-r, r):
            got = float(smooth(loss, side, w))
            assert got == pytest.approx(expected, rel=1e-9, abs=1e-9 * scale_of(loss))


@every_link
@every_width
def test_trigonometric_loss_is_continued_beyond_its_margin(loss, w):
    z = np.linspace(1.0 - w, 1.0 + w, 41)
    u = (z - 1.0) / w
    bend = np.pi**2 / (8.0 * loss.delta**2) / np.cos(np.pi / 4.0 * (1.0 - z)) ** 2
    expected = bend * (0.5 - 0.75 * u + 0.25 * u**3)
    got = smooth(loss, z * loss.delta, w)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-13 * scale_of(loss))
    for y in (-1.0, 1.0):
        other = loss.smooth_curvature(np.full(41, y), y * z * loss.delta, w)
        np.testing.assert_array_equal(other, got)
    half = float(smooth(loss, loss.delta, w))  # half of the step at the knot
    assert half == pytest.approx(0.5 * scale_of(loss), rel=1e-13)


# ---- its properties -----------------------------------------------------------------------------


@every_sparse_loss
@every_width
def test_outside_the_ramps_it_is_the_exact_curvature(loss, w):
    x = grid(loss, w)
    away = np.ones(x.size, dtype=bool)
    for start, end in ramps_of(loss, w):
        margin = 1e-9 * (end - start)
        away &= (x < start - margin) | (x > end + margin)
    assert away.any()
    expected, got = exact(loss, x), smooth(loss, x, w)
    np.testing.assert_allclose(got[away], expected[away], rtol=1e-13, atol=1e-14 * scale_of(loss))
    assert np.abs(got - expected)[~away].max() > 0.1 * scale_of(loss)


@every_sparse_loss
@every_width
def test_beyond_the_last_ramp_it_is_zero(loss, w):
    end = ramps_of(loss, w)[-1][1]
    far = end * np.array([1.0 + 1e-12, 1.1, 2.0, 1e3, 1e8])
    np.testing.assert_array_equal(smooth(loss, far, w), 0.0)
    if loss.task == "regression":
        np.testing.assert_array_equal(smooth(loss, -far, w), 0.0)
    assert float(smooth(loss, end - 1e-3 * (end - ramps_of(loss, w)[-1][0]), w)) > 0.0


@every_width
def test_the_flat_zone_stays_flat(w):
    for loss in SILFS[:2]:
        start = ramps_of(loss, w)[2][0]
        assert start > 0.0
        x = np.linspace(-start, start, 9) * (1.0 - 1e-12)
        np.testing.assert_array_equal(smooth(loss, x, w), 0.0)
        assert float(smooth(loss, start + 0.01 * w * knots_of(loss)[2], w)) > 0.0


@every_sparse_loss
@every_width
def test_it_is_between_zero_and_the_height_of_the_step(loss, w):
    x = grid(loss, w, 5001)
    got = smooth(loss, x, w)
    assert got.min() >= 0.0
    if loss.task == "regression":
        assert got.max() <= (1.0 + 1e-14) * scale_of(loss)
        np.testing.assert_array_equal(got, smooth(loss, -x, w))
        middle = np.abs(x) >= loss.epsilon  # it falls from the middle of the band outwards
        right = got[middle & (x > 0.0)]
        assert np.all(np.diff(right) <= 1e-13 * scale_of(loss))
    else:
        assert np.all(np.diff(got) <= 0.0)


@every_sparse_loss
@every_width
def test_it_is_continuously_differentiable(loss, w):
    """Slopes on both sides of every end and knot: they differ by a vanishing amount."""
    for start, end in ramps_of(loss, w):
        length = end - start
        for place in (start, 0.5 * (start + end), end, 0.3 * start + 0.7 * end):
            if loss.task == "classification" and place <= -0.9 * loss.delta:
                continue
            gaps = []
            for share in (1e-2, 1e-3, 1e-4):
                h = share * length
                left, here, right = smooth(loss, place + h * np.array([-1.0, 0.0, 1.0]), w)
                assert abs(right - left) <= 20.0 * scale_of(loss) * share
                gaps.append(abs((right - here) - (here - left)) / h)
            steepest = scale_of(loss) / length
            assert gaps[1] <= 0.15 * gaps[0] + 1e-6 * steepest
            assert gaps[2] <= 0.15 * gaps[1] + 1e-6 * steepest + 1e-11 * scale_of(loss) / h


@every_silf
@every_width
def test_the_integral_over_the_residual_is_preserved(loss, w):
    """It is the rise of the slope of the loss from -C to C."""
    ends = sorted({end for ramp in ramps_of(loss, w) for end in ramp})
    nodes, weights = np.polynomial.legendre.leggauss(8)
    total = 0.0
    for left, right in pairwise(ends):
        half = 0.5 * (right - left)
        total += half * (weights @ smooth(loss, left + half * (nodes + 1.0), w))
    assert total == pytest.approx(2.0 * loss.C, rel=1e-9)


@pytest.mark.parametrize("loss", [losses.Huber(2.0, 0.5), losses.SILF(2.0, 0.5, 1.0)], ids=repr)
@every_width
def test_huber_has_no_dent_at_zero(loss, w):
    x = 0.999 * (1.0 - w) * np.linspace(-1.0, 1.0, 401)  # hi is one
    np.testing.assert_allclose(smooth(loss, x, w), 2.0, rtol=1e-14)


@pytest.mark.parametrize("w", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("beta", [0.85, 0.95, 0.999])
def test_overlapping_ramps_leave_a_shallow_dent(w, beta):
    """The weight of the flat zone around zero is what is missing there."""
    loss = losses.SILF(2.0, 0.5, beta)
    lo, _, bend, height = knots_of(loss)
    tau = w * bend
    assert lo < tau
    u = lo / tau
    missing = 1.5 * u - 0.5 * u**3  # the integral of the weight over [-lo, lo]
    got = float(smooth(loss, 0.0, w))
    assert got == pytest.approx(height * (1.0 - missing), rel=1e-10)
    assert 0.0 < got < height


def test_huber_is_silf_with_beta_one():
    r = np.linspace(-3.0, 3.0, 301)
    huber, silf = losses.Huber(2.0, 0.7), losses.SILF(2.0, 0.7, 1.0)
    np.testing.assert_array_equal(huber.smooth_curvature(r, 0.0), silf.smooth_curvature(r, 0.0))


@every_sparse_loss
def test_narrow_ramps_are_steps(loss):
    x = grid(loss, 0.5, 997)
    ramps = ramps_of(loss, 1e-6)
    away = np.all([(x < start) | (x > end) for start, end in ramps], axis=0)
    assert away.sum() > 900
    np.testing.assert_allclose(
        smooth(loss, x[away], 1e-6), exact(loss, x[away]), rtol=1e-12, atol=1e-13 * scale_of(loss)
    )


# ---- the argument -------------------------------------------------------------------------------


@every_sparse_loss
def test_the_width_is_that_of_the_class_unless_told(loss):
    x = grid(loss, 0.5)
    y, f = pair(loss, x)
    assert 0.0 < type(loss).ramp_width < 2.0
    expected = loss.smooth_curvature(y, f, type(loss).ramp_width)
    np.testing.assert_array_equal(loss.smooth_curvature(y, f), expected)
    other = loss.smooth_curvature(y, f, 0.7 * type(loss).ramp_width)
    assert np.abs(other - expected).max() > 0.01 * scale_of(loss)
    assert loss.smooth_curvature(y, f).dtype == np.float64


@pytest.mark.parametrize(
    ("case", "p"),
    rows(lambda c: c.name in ("Gaussian", "Logistic", "Probit", "SoftMarginL2")),
    ids=label,
)
def test_losses_without_ramps_have_their_own_curvature(case, p):
    loss = case.loss(**p)
    y, f = case.arguments(case.points(**p))
    assert loss.ramp_width == 0.0
    with np.errstate(over="ignore"):
        got = np.broadcast_to(loss.smooth_curvature(y, f, 0.4), y.shape)
    np.testing.assert_array_equal(got, loss.curvature(y, f))


# ---- one formula, three languages ---------------------------------------------------------------


def arguments_of(name):
    """Stack (y, f, width, *parameters) over ramps, knots and beyond, for both labels."""
    blocks = []
    for loss in (loss for loss in SILFS + LINKS if type(loss).__name__ == name):
        for w in WIDTHS:
            x = np.concatenate([grid(loss, w, 101), *map(np.array, ramps_of(loss, w)), [1e3, 1e8]])
            y, f = pair(loss, x)
            if loss.task == "classification":
                y, f = np.concatenate([y, -y]), np.concatenate([f, -f])
            else:
                y, f = y + 0.25, f + 0.25
            own = np.array([w, *loss.parameters])
            blocks.append(np.stack([y, f, *np.outer(own, np.ones_like(y))]))
    return list(np.concatenate(blocks, axis=1))


@pytest.mark.parametrize("name", ["SILF", "Huber", "Trigonometric"])
def test_all_languages_agree(name):
    kind, arguments = getattr(losses, name), arguments_of(name)
    expected = smooth_curvature(kind)(*arguments)
    assert np.count_nonzero(expected) > 0.3 * expected.size

    formula = smooth_curvature(kind, numba_language)
    names = ", ".join(f"x{i}" for i in range(len(arguments)))
    scalar = eval(f"lambda {names}: formula({names})", {"formula": formula})
    signature = numba.float64(*[numba.float64] * len(arguments))
    compiled = numba.vectorize([signature], nopython=True)(scalar)
    inputs = [pt.dvector() for _ in arguments]
    graph = pytensor.function(inputs, smooth_curvature(kind, symbolic)(*inputs))

    _, _, width, *parameters = arguments
    if name == "Trigonometric":
        slack = 1e-12 * np.abs(expected) + 1e-13 / parameters[0] ** 2
    else:  # a rounding of the residual, as a share of the ramp
        C, epsilon, beta = parameters
        bend = beta * epsilon
        residual = np.abs(arguments[0]) + np.abs(arguments[1]) + epsilon
        slack = C / bend * (1e-13 + 8e-16 * residual / (width * bend))
    for got in (compiled(*arguments), graph(*arguments)):
        assert got.shape == expected.shape
        assert np.all(np.abs(got - expected) <= slack), np.max(np.abs(got - expected) / slack)
        far = np.abs(arguments[0] - arguments[1]) > 1e2
        np.testing.assert_array_equal(got[far], expected[far])


@pytest.mark.parametrize("name", ["SILF", "Huber", "Trigonometric"])
def test_gradient_of_the_graph_by_central_differences(name):
    kind, arguments = getattr(losses, name), arguments_of(name)
    ordinary = np.abs(arguments[0] - arguments[1]) < 1e2
    if name != "Trigonometric":
        ordinary &= arguments[4] > 1e-3  # epsilon
    arguments = [x[ordinary] for x in arguments]
    inputs = [pt.dvector() for _ in arguments]
    output = smooth_curvature(kind, symbolic)(*inputs)
    count = len(inputs) if name != "Huber" else len(inputs) - 1  # beta is one
    slopes = pytensor.function(inputs, pytensor.grad(output.sum(), inputs[1:count]))(*arguments)
    formula = smooth_curvature(kind)
    height = np.abs(formula(*arguments)).max()
    for k, got in enumerate(slopes, start=1):
        h = 1e-6 * np.maximum(np.abs(arguments[k]), 1e-2)
        up, down = list(arguments), list(arguments)
        up[k], down[k] = arguments[k] + h, arguments[k] - h
        if name == "SILF" and k == count - 1:  # beta stays below one
            up[k] = np.minimum(up[k], 1.0)
        expected = (formula(*up) - formula(*down)) / (up[k] - down[k])
        assert np.isfinite(got).all()
        size = np.abs(expected).max() + height
        # at the ends of the ramps the slope has kinks, of which the differences see both sides
        assert np.quantile(np.abs(got - expected) / size, 0.9) < 1e-7
        assert np.abs(got - expected).max() < 1e-3 * size


def test_the_names_are_those_of_the_cases():
    for loss in SILFS + LINKS:
        assert BY_NAME[type(loss).__name__].task == loss.task
