"""Derivatives against central differences, and continuity across the knots."""

import numpy as np
import pytest

from tests.losses.cases import label, rows

every_row = pytest.mark.parametrize(("case", "p"), rows(), ids=label)


def _away_from_knots(case, p):
    """Latent values with a step each, no knot within ten steps."""
    knots = np.array([float(k) for k in case.oracle(**p).knots()])
    x = case.points(**p)
    x = x[(np.abs(x) < 1e4) & (np.abs(x) > 1e-9)]
    distance = np.abs(x[:, None] - knots).min(axis=1) if knots.size else np.full(x.shape, np.inf)
    step = np.minimum(1e-4 * np.maximum(np.abs(x), 1e-9), distance / 100)
    if case.name in ("Logistic", "Probit"):
        step = np.minimum(step, 1e-4)
        keep = np.abs(x) < 20
        x, distance, step = x[keep], distance[keep], step[keep]
    good = (distance > 0) & (step > 1e-9 * np.abs(x))
    return x[good], step[good]


@every_row
def test_derivative_by_central_differences(case, p):
    loss = case.loss(**p)
    x, h = _away_from_knots(case, p)
    assert x.size > 5
    y, f = case.arguments(x)
    up, down = f + h, f - h
    difference = (loss.value(y, up) - loss.value(y, down)) / (up - down)
    got = loss.derivative(y, f)
    noise = 1e-15 * np.abs(loss.value(y, f)) / h + 1e-15 * np.abs(got * x) / h
    assert np.all(np.abs(difference - got) <= 2e-4 * np.abs(got) + 4 * noise)
    assert np.median(np.abs(difference - got) / (np.abs(got) + 1e-300)) < 1e-6


@every_row
def test_curvature_by_central_differences(case, p):
    loss = case.loss(**p)
    x, h = _away_from_knots(case, p)
    y, f = case.arguments(x)
    up, down = f + h, f - h
    difference = (loss.derivative(y, up) - loss.derivative(y, down)) / (up - down)
    got = loss.curvature(y, f)
    noise = 1e-15 * np.abs(loss.derivative(y, f)) / h + 1e-15 * np.abs(got * x) / h
    assert np.all(np.abs(difference - got) <= 2e-4 * np.abs(got) + 4 * noise)


@every_row
def test_continuity_across_the_knots(case, p):
    loss, reference = case.loss(**p), case.oracle(**p)
    for knot in map(float, reference.knots()):
        if case.name == "Trigonometric" and knot < 0:
            continue  # the wall
        scale = max(abs(knot), p.get("beta", 1.0) * p.get("epsilon", 1.0))
        for width in (1e-15, 1e-12, 1e-8):
            x = knot + scale * width * np.array([-1.0, 0.0, 1.0])
            y, f = (np.ones(3), x) if case.task == "classification" else (x, np.zeros(3))
            values = loss.value(y, f)
            jump = np.ptp(values) - 4e-16 * values.max()
            steepest = max(abs(float(reference.slope(v))) for v in x)
            assert jump <= (steepest + case.floor(**p)[1]) * np.ptp(x) * 1.001 + 1e-300
            if case.differentiable:
                bend = max(abs(float(c)) for v in x for c in reference.seconds(v, abs(v) * 1e-15))
                slopes = loss.derivative(y, f)
                assert np.ptp(slopes) <= 1.001 * bend * np.ptp(x) + 4e-16 * np.abs(slopes).max()
