"""Value, derivative, curvature and conjugate against the multiple-precision oracle."""

import numpy as np
import pytest

from tests.losses.cases import BY_NAME, EPS, label, rows
from tests.oracle import assert_close

every_row = pytest.mark.parametrize(("case", "p"), rows(), ids=label)
regression_row = pytest.mark.parametrize(
    ("case", "p"), rows(lambda case: case.task == "regression"), ids=label
)
kinked_row = pytest.mark.parametrize(
    ("case", "p"), rows(lambda case: not case.differentiable), ids=label
)


def _unit(case, x):
    """Error in units of a plain one: a tail exp(-t) amplifies the rounding of t by t itself."""
    return 1 + 4 * EPS / case.rtol * np.where(x > 0, case.conditioning(x), 0.0)


@every_row
def test_value(case, p):
    x = case.points(**p)
    expected = [case.oracle(**p).profile(v) for v in x]
    floor = case.floor(**p)[0] / 10
    unit = _unit(case, x)
    got = case.loss(**p).value(*case.arguments(x))
    assert got.shape == x.shape
    _compare(got, expected, case.rtol * unit, floor, x)


@every_row
def test_derivative(case, p):
    x = case.points(**p)
    y, f = case.arguments(x)
    reference = case.oracle(**p)
    expected = [reference.derivative(a, b) for a, b in zip(y, f, strict=True)]
    got = case.loss(**p).derivative(y, f)
    _compare(got, expected, case.rtol * _unit(case, x), case.floor(**p)[1] / 10, x)


def _compare(got, expected, rtol, floor, x):
    for u in np.unique(rtol):
        at = rtol == u
        chosen = [e for e, keep in zip(expected, at, strict=True) if keep]
        assert_close(got[at], chosen, u, floor, x[at])


@every_row
def test_curvature(case, p):
    x = case.points(**p)
    reference = case.oracle(**p)
    got = case.loss(**p).curvature(*case.arguments(x))
    unit = _unit(case, x)
    for v, g, u in zip(x, got, unit, strict=True):
        # a knot is known to a few roundings of the lengths it is made of
        size = max(abs(v), *(abs(float(k)) for k in reference.knots()), 1e-300, p.get("epsilon", 0))
        near_knot = any(abs(v - k) < 4 * EPS * size for k in reference.knots())
        candidates = reference.seconds(v, 4 * EPS * size if near_knot else 0)
        errors = []
        for c in candidates:
            try:
                assert_close(g, [c], case.rtol * u, 0.0, [v])
                break
            except AssertionError as failure:
                errors.append(failure)
        else:
            raise errors[0]


@pytest.mark.parametrize(
    ("case", "p", "target"),
    [
        (case, p, target)
        for case, p in rows()
        for target in ((0.0, 0.3, -17.0) if case.task == "regression" else (None,))
    ],
    ids=label,
)
def test_conjugate(case, p, target):
    n = 39
    if case.task == "classification":
        y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    else:
        y = np.full(n, target)
    a = case.duals(y, **p)
    reference = case.oracle(**p)
    loss = case.loss(**p)
    lower, upper = loss.dual_domain(y)
    assert np.all((lower <= a) & (a <= upper))
    pairs = [(float(u), float(v)) for u, v in zip(y, a, strict=True)]
    table = {pair: reference.conjugate(*pair) for pair in set(pairs)}
    expected = [table[pair] for pair in pairs]
    assert_close(loss.conjugate(y, a), expected, case.rtol, case.terms(y, a, **p), pairs)


@every_row
def test_conjugate_is_infinite_outside_the_domain(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    for y in (1.0, -1.0):
        lower, upper = (float(v) for v in loss.dual_domain(y))
        outside = [b + s * (1e-9 * abs(b) + 1e-12) for b, s in ((lower, -1), (upper, 1))]
        outside = [a for a in outside if np.isfinite(a)]
        for a in outside:
            assert reference.conjugate(y, a) == np.inf
            assert loss.conjugate(y, a) == np.inf
        inside = [a for a in (lower, upper) if np.isfinite(a)]
        for a in inside:
            assert np.isfinite(loss.conjugate(y, a))


@regression_row
def test_one_rounding_of_the_residual_is_all_that_is_lost(case, p):
    """With ``y`` and ``f`` both away from zero: the oracle sees the rounded residual."""
    x = case.points(**p)
    y = np.resize([0.3, -1.7, 2e-3], x.shape)
    f = y - x
    r = y - f
    reference = case.oracle(**p)
    loss = case.loss(**p)
    floor = case.floor(**p)
    assert_close(loss.value(y, f), [reference.profile(v) for v in r], case.rtol, floor[0] / 10, r)
    assert_close(
        loss.derivative(y, f), [-reference.slope(v) for v in r], case.rtol, floor[1] / 10, r
    )


def test_band_keeps_its_digits_when_it_is_thin():
    """A band of relative width 2e-8: half of the digits of ``r - lo`` are lost if it is naive."""
    case, p = BY_NAME["SILF"], {"C": 3.0, "epsilon": 0.1, "beta": 1e-8}
    r = p["epsilon"] + p["beta"] * p["epsilon"] * np.linspace(-0.9, 0.9, 19)
    reference = case.oracle(**p)
    assert_close(case.loss(**p).value(r, 0.0), [reference.profile(v) for v in r], 3e-14)
    assert_close(case.loss(**p).derivative(r, 0.0), [-reference.slope(v) for v in r], 3e-14)


@pytest.mark.parametrize("delta", [0.1, 0.37, 1.0, 10.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_wall(delta, y):
    loss = BY_NAME["Trigonometric"].loss(delta=delta)
    for margin in (-delta, -delta * (1 + 1e-15), -2 * delta, -1e8):
        f = y * margin
        assert loss.value(y, f) == np.inf
        assert loss.derivative(y, f) == -y * np.inf
        assert loss.curvature(y, f) == np.inf
    f = y * np.nextafter(-delta, 0)
    assert np.isfinite(loss.value(y, f))
    assert np.isfinite(loss.derivative(y, f))


@kinked_row
def test_a_kink_takes_the_slope_of_the_flat_side(case, p):
    loss = case.loss(**p)
    if case.task == "classification":
        f = np.array([1.0, -1.0])
        assert np.array_equal(loss.derivative(f, f), [0.0, 0.0])
        return
    kink = p.get("epsilon", 0.0)
    assert np.array_equal(loss.derivative([kink, -kink], 0.0), [0.0, 0.0])
    assert np.array_equal(loss.value([kink, -kink], 0.0), [0.0, 0.0])


@every_row
def test_arrays_broadcast_and_scalars_pass(case, p):
    loss = case.loss(**p)
    y = np.array([[1.0], [-1.0], [1.0]])
    f = np.array([0.05, 0.01, -0.02, 0.0])
    a = loss.project(y, np.full(4, 0.25))
    for got in (
        loss.value(y, f),
        loss.derivative(y, f),
        loss.curvature(y, f),
        loss.conjugate(y, a),
        loss.gap(y, f, a),
        *loss.sets(y, f, a),
    ):
        assert got.shape == (3, 4)
    grid = np.broadcast_arrays(y, f)
    assert np.array_equal(loss.value(y, f), loss.value(*grid))
    assert float(loss.value(1, 0)) == float(loss.value(1.0, 0.0))
    assert np.ndim(loss.value(1.0, 0.05)) == 0
    assert loss.value(np.ones(0), np.ones(0)).shape == (0,)


@every_row
def test_arguments_are_left_alone(case, p):
    loss = case.loss(**p)
    y, f = case.arguments(case.points(**p))
    a = case.duals(y, **p)
    before = y.copy(), f.copy(), a.copy()
    for method in (loss.value, loss.derivative, loss.curvature):
        method(y, f)
    loss.conjugate(y, a)
    loss.project(y, a)
    loss.gap(y, f, a)
    loss.sets(y, f, a)
    for was, now in zip(before, (y, f, a), strict=True):
        assert np.array_equal(was, now)


@every_row
def test_infinities_and_nan_pass_without_a_warning(case, p):
    loss = case.loss(**p)
    assert loss.value(1.0, -np.inf) == np.inf
    assert loss.value(1.0, np.inf) == (np.inf if case.task == "regression" else 0.0)
    assert not np.isfinite(loss.value(1.0, np.nan))  # a broken latent never looks like a good fit
