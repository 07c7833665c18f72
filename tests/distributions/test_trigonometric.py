"""Trigonometric: probabilities, the wall, the flip share and draws."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.testing import (
    BaseTestDistributionRandom,
    Bool,
    Domain,
    assert_support_point_is_expected,
    check_logccdf,
    check_logcdf,
    check_logp,
    check_selfconsistency_discrete_logcdf,
)

from pymc_bsvm import Trigonometric
from tests import oracle
from tests.distributions import reference
from tests.oracle import assert_close, mp

DOMAINS = {
    "f": Domain([-np.inf, -2.1, -1.0, -0.4, 0.0, 0.4, 0.999, 1.0, 2.1, np.inf]),
    "delta": Domain([0, 0.5, 1.0, 3.0, np.inf]),
    "flip": Domain([0, 0, 0.01, 0.3, 0.5]),
}


@pytest.mark.usefixtures("quick")
class TestRandom(BaseTestDistributionRandom):
    pymc_dist = Trigonometric
    pymc_dist_params = {"f": 0.3, "delta": 0.8, "flip": 0.05}  # noqa: RUF012
    expected_rv_op_params = pymc_dist_params
    reference_dist_params = pymc_dist_params
    checks_to_run = [  # noqa: RUF012
        "check_pymc_params_match_rv_op",
        "check_pymc_draws_match_reference",
        "check_rv_size",
    ]

    def reference_dist(self):
        def draw(size, f, delta, flip):
            p = reference.trigonometric(1, f, delta, flip)
            return (self.get_random_state().uniform(size=size) < p).astype(int)

        return draw

    def test_checks_really_run(self, monkeypatch):
        assert len(self.checks_to_run) == 3
        monkeypatch.setattr(type(self), "expected_rv_op_params", {**self.pymc_dist_params, "f": 0})
        with pytest.raises(AssertionError, match="not almost equal"):
            self.test_distribution()


@pytest.mark.usefixtures("quick")
class TestDefaults(BaseTestDistributionRandom):
    pymc_dist = Trigonometric
    pymc_dist_params = {"f": 0.3}  # noqa: RUF012
    expected_rv_op_params = {"f": 0.3, "delta": 1.0, "flip": 0.0}  # noqa: RUF012
    checks_to_run = ["check_pymc_params_match_rv_op"]  # noqa: RUF012


# ---- PyMC's own harness -------------------------------------------------------------------------


def log_probability(value, f, delta, flip):
    return reference.trigonometric_log(int(value), float(f), float(delta), float(flip))


def log_at_most(value, **parameters):
    return 0.0 if value >= 1 else log_probability(0, **parameters)


def log_above(value, **parameters):
    return -np.inf if value >= 1 else log_probability(1, **parameters)


def test_logp_in_the_harness():
    check_logp(Trigonometric, Bool, DOMAINS, log_probability, n_samples=-1, decimal=10)


def test_harness_notices_a_wrong_probability():
    with pytest.raises(AssertionError, match="not almost equal"):
        check_logp(Trigonometric, Bool, DOMAINS, lambda value, **p: log_probability(1 - value, **p))


def test_logcdf_in_the_harness():
    check_logcdf(Trigonometric, Bool, DOMAINS, log_at_most, n_samples=-1, decimal=10)
    check_selfconsistency_discrete_logcdf(Trigonometric, Bool, DOMAINS)


def test_logccdf_in_the_harness():
    check_logccdf(Trigonometric, Bool, DOMAINS, log_above, n_samples=-1, decimal=10)


def test_icdf_is_the_least_label_that_reaches_the_share():
    u = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    for f, flip in [(0.3, 0.0), (-0.8, 0.1), (2.0, 0.0), (2.0, 0.2), (-2.0, 0.0)]:
        below_one = reference.trigonometric(0, f, 1.0, flip)
        got = pm.icdf(Trigonometric.dist(f, flip=flip), u).eval()
        np.testing.assert_array_equal(got, np.where(u <= below_one, 0, 1))
    outside = pm.icdf(Trigonometric.dist(0.3), np.array([-0.1, 1.1])).eval()
    assert np.isnan(outside).all()


@pytest.mark.parametrize(
    ("f", "size", "expected"),
    [
        (0.3, None, 1),
        (-0.3, None, 0),
        (0.0, (2,), [1, 1]),
        ([-5.0, 0.2], None, [0, 1]),
        ([-5.0, 0.2], (3, 2), [[0, 1]] * 3),
    ],
)
def test_support_point_is_the_likelier_label(f, size, expected):
    with pm.Model() as model:
        Trigonometric("x", f, size=size)
    assert_support_point_is_expected(model, expected)


# ---- precision, the wall and gradients ----------------------------------------------------------


def compiled(*, gradient):
    inputs = [pt.dvector(n) for n in ("f", "delta", "flip")]
    label = pt.lvector("label")
    output = pm.logp(Trigonometric.dist(*inputs), label)
    if gradient:
        output = pytensor.grad(output.sum(), inputs)
    return pytensor.function([label, *inputs], output)


def grid(flips, deltas=(0.1, 1.0, 10.0)):
    """Labels, f, delta and flip: inside, at the wall, behind it and beyond the margin."""
    gaps = np.array([1e-12, 1e-6, 1e-2, 0.3, 1.0, 1.7, 2 - 1e-6, 2 - 1e-12, 2.0, 2.1, 40.0, 1e8])
    z = np.concatenate([gaps - 1, [-1.0, -1.0 - 1e-12, -1.5, -1e8]])
    points = [
        (label, (2 * label - 1) * x * delta, delta, flip)
        for label in (0, 1)
        for delta in deltas
        for flip in flips
        for x in z
    ]
    labels, *others = map(np.array, zip(*points, strict=True))
    return labels, *others


def exact(label, f, delta, flip):
    """Log probability in 60 digits."""
    loss = oracle.Trigonometric(delta)
    p = loss.probability((2 * label - 1) * mp.mpf(f))
    p = mp.mpf(flip) + (1 - 2 * mp.mpf(flip)) * p
    return mp.log(p) if p > 0 else -mp.inf


@pytest.mark.parametrize("flip", [0.0, 1e-12, 0.01, 0.49])
def test_logarithm_keeps_its_relative_precision(flip):
    """In all of it: near probability one, and a hair's breadth from the wall."""
    arguments = grid([flip])
    expected = [exact(*point) for point in zip(*(a.tolist() for a in arguments), strict=True)]
    where = list(zip(*arguments, strict=True))
    # at 1 + z = 1e-12 the rounding of z itself is 1e-4 of the distance to the wall
    assert_close(compiled(gradient=False)(*arguments), expected, rtol=4e-12, where=where)


def test_distribution_function_keeps_that_precision():
    f = np.array([1e-12, 1e-9, 1e-4]) - 1
    x = Trigonometric.dist(f)
    np.testing.assert_array_equal(pm.logccdf(x, np.zeros(3, int)).eval(), pm.logp(x, 1).eval())
    x = Trigonometric.dist(-f)
    np.testing.assert_array_equal(pm.logcdf(x, np.zeros(3, int)).eval(), pm.logp(x, 0).eval())


def test_wall_is_infinite_and_a_flip_makes_it_a_floor():
    f = np.array([-1.0, -1.0 - 1e-12, -3.0, -1e8])
    ones = np.ones(4)
    logp = compiled(gradient=False)
    np.testing.assert_array_equal(logp(np.ones(4, int), f, ones, 0 * ones), -np.inf)
    np.testing.assert_array_equal(logp(np.zeros(4, int), -f, ones, 0 * ones), -np.inf)
    np.testing.assert_allclose(logp(np.ones(4, int), f, ones, 0.01 * ones), np.log(0.01))
    np.testing.assert_allclose(logp(np.zeros(4, int), f, ones, 0.01 * ones), np.log(0.99))


@pytest.mark.parametrize("flip", [0.0, 0.01, 0.3])
def test_gradients_are_finite_everywhere_and_right_inside(flip):
    label, f, delta, flips = arguments = grid([flip])
    got = np.array(compiled(gradient=True)(*arguments))
    assert np.isfinite(got).all()
    z = (2 * label - 1) * f / delta
    np.testing.assert_array_equal(got[0][(z > 1) | (z < -1)], 0.0)
    h = mp.mpf(10) ** -22
    smooth = (np.abs(z) < 1 - 1e-3) | (np.abs(z) > 1 + 1e-3)
    if flip == 0:
        smooth &= z > -1  # behind the wall there is no slope to compare
    for i in np.flatnonzero(smooth):
        point = [int(label[i]), *(float(a[i]) for a in (f, delta, flips))]
        for row, scale in ((0, delta[i]), (1, delta[i]), (2, 1.0)):
            moved = [list(map(mp.mpf, point)) for _ in range(2)]
            for sign, p in zip((1, -1), moved, strict=True):
                p[row + 1] += sign * h * float(scale)
            if flip == 0 and row == 2:
                continue  # the derivative of the flip share is one-sided here, tested below
            high, low = (exact(point[0], *p[1:]) for p in moved)
            slope = float((high - low) / (2 * h * float(scale)))
            size = 1 / scale if row < 2 else 1.0
            assert got[row, i] == pytest.approx(slope, rel=1e-8, abs=1e-12 * size), (point, row)


def test_slope_close_to_the_wall():
    """D logp / df = (pi / 2) cot(pi (1 + z) / 4), (5.10), which grows like 2 / (1 + z)."""
    behind = np.array([2.0**-k for k in range(1, 45, 4)])
    ones = np.ones_like(behind)
    slope = compiled(gradient=True)(np.ones(behind.size, int), behind - 1, ones, 0 * ones)[0]
    np.testing.assert_allclose(slope, np.pi / 2 / np.tan(np.pi / 4 * behind), rtol=1e-12)


def test_gradient_of_the_flip_share_at_zero():
    """D log p / d flip = (1 - 2 q) / q, with the probability q of the label without flips."""
    f = np.array([-0.9, -0.3, 0.0, 0.5, 1.0, 4.0])
    q = np.array([reference.trigonometric(1, x) for x in f])
    got = compiled(gradient=True)(np.ones(6, int), f, np.ones(6), np.zeros(6))[2]
    np.testing.assert_allclose(got, (1 - 2 * q) / q, rtol=1e-10, atol=1e-12)


def test_probabilities_of_the_two_labels_sum_to_one():
    _, f, delta, flip = grid([0.0, 0.02])
    logp = compiled(gradient=False)
    total = sum(np.exp(logp(np.full(f.size, label), f, delta, flip)) for label in (0, 1))
    np.testing.assert_allclose(total, 1.0, rtol=1e-14)


def test_values_that_are_no_labels_are_impossible():
    got = pm.logp(Trigonometric.dist(0.2), np.array([-1, 0, 1, 2])).eval()
    np.testing.assert_array_equal(np.isfinite(got), [False, True, True, False])


# ---- draws --------------------------------------------------------------------------------------


@pytest.mark.parametrize("flip", [0.0, 0.05])
def test_class_frequencies(flip):
    n = 100_000
    f = np.array([-2.0, -0.7, 0.0, 0.4, 0.99, 3.0])
    draws = pm.draw(Trigonometric.dist(f, flip=flip, size=(n, f.size)), random_seed=8)
    assert draws.dtype == np.int64
    assert set(np.unique(draws)) == {0, 1}
    p = np.array([reference.trigonometric(1, x, flip=flip) for x in f])
    errors = np.sqrt(p * (1 - p) / n)
    assert np.all(np.abs(draws.mean(axis=0) - p) <= 5 * errors)  # exact where the label is certain


def test_draws_are_reproducible():
    x = Trigonometric.dist(np.zeros(50))
    np.testing.assert_array_equal(pm.draw(x, random_seed=4), pm.draw(x, random_seed=4))
    assert not np.array_equal(pm.draw(x, random_seed=4), pm.draw(x, random_seed=5))
