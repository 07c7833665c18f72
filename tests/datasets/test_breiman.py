"""Breiman's problems against their definitions; every bound is 5 standard errors."""

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.datasets import ringnorm, twonorm, waveform

N = 100_000
TRIANGLE = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
H1 = np.array([0] * 4 + TRIANGLE + [0] * 4)
H2 = np.array([0] * 8 + TRIANGLE)
H3 = np.array(TRIANGLE + [0] * 8)

# Column means of the 1647 rows labelled +1 in the 5000 standardised rows of the waveform set in
# the benchmark of Rätsch, Onoda and Müller (2001).
POOL_MEANS = [
    [0.015, 0.156, 0.263, 0.350, 0.407, 0.544, 0.651],
    [0.763, 0.799, 0.666, 0.415, 0.000, -0.393, -0.650],
    [-0.807, -0.796, -0.797, -0.722, -0.547, -0.324, 0.007],
]


def assert_mean(points, mean):
    error = points.std(axis=0) / np.sqrt(len(points))
    assert np.all(np.abs(points.mean(axis=0) - mean) < 5 * error)


def assert_covariance(points, covariance):
    centred = points - points.mean(axis=0)
    estimate = centred.T @ centred / len(points)
    fourth = (centred**2).T @ centred**2 / len(points)
    error = np.sqrt((fourth - estimate**2) / len(points))
    assert np.all(np.abs(estimate - covariance) < 5 * error)


def mixture_covariance(first, second):
    difference = first - second
    return np.eye(21) + np.outer(difference, difference) / 12


@pytest.mark.parametrize(("draw", "dim"), [(twonorm, 20), (ringnorm, 20), (waveform, 21)])
def test_shapes_labels_and_seed(draw, dim):
    X, labels = draw(60, random_state=3)
    again, other = draw(60, random_state=3), draw(60, random_state=4)
    assert X.shape == (60, dim)
    assert labels.shape == (60,)
    assert labels.dtype == np.int64
    assert set(labels) == {0, 1}
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(labels, again[1])
    assert not np.any(X == other[0])
    assert np.any(labels != other[1])


@pytest.mark.parametrize(
    ("draw", "share"), [(twonorm, 1 / 2), (ringnorm, 1 / 2), (waveform, 1 / 3)]
)
def test_share_of_label_1(draw, share):
    _, labels = draw(N, random_state=5)
    assert abs(labels.mean() - share) < 5 * np.sqrt(share * (1 - share) / N)


@pytest.mark.parametrize(("label", "sign"), [(0, -1), (1, 1)])
def test_twonorm_moments(label, sign):
    X, labels = twonorm(N, random_state=6)
    points = X[labels == label]
    assert_mean(points, sign * 2 / np.sqrt(20))
    assert_covariance(points, np.eye(20))


def test_twonorm_best_error():
    X, labels = twonorm(N, random_state=7)
    p = stats.norm.sf(2)
    wrong = (X.sum(axis=1) > 0) != labels
    assert abs(wrong.mean() - p) < 5 * np.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize(("label", "mean", "variance"), [(0, 0.0, 4.0), (1, 2 / np.sqrt(20), 1.0)])
def test_ringnorm_moments(label, mean, variance):
    X, labels = ringnorm(N, random_state=8)
    points = X[labels == label]
    assert_mean(points, mean)
    assert_covariance(points, variance * np.eye(20))


@pytest.mark.parametrize(("shift", "p"), [(2 / np.sqrt(20), 0.01257), (1 / np.sqrt(20), 0.01494)])
def test_ringnorm_best_error(shift, p):
    X, labels = ringnorm(N, shift=shift, random_state=9)
    wide, inner = np.sum(X**2, axis=1) / 8 + 20 * np.log(2), np.sum((X - shift) ** 2, axis=1) / 2
    wrong = (inner < wide) != labels
    assert abs(wrong.mean() - p) < 5 * np.sqrt(p * (1 - p) / N)


def test_ringnorm_refuses_shift(refuses):
    with refuses(ValueError, "shift must satisfy -inf < shift < inf, but it is inf."):
        ringnorm(5, shift=np.inf)
    with refuses(TypeError, "shift must be a real number, but got '1' "):
        ringnorm(5, shift="1")


def test_waveform_class_of_one_pair():
    X, labels = waveform(N, random_state=10)
    points = X[labels == 1]
    assert_mean(points, (H1 + H3) / 2)
    assert_covariance(points, mixture_covariance(H1, H3))


def test_waveform_class_of_two_pairs():
    X, labels = waveform(N, random_state=11)
    points = X[labels == 0]
    between = (H3 - H1) / 4
    within = (mixture_covariance(H1, H2) + mixture_covariance(H2, H3)) / 2
    assert_mean(points, (H1 + 2 * H2 + H3) / 4)
    assert_covariance(points, within + np.outer(between, between))


def test_waveform_label_1_is_the_positive_class_of_the_benchmark():
    X, labels = waveform(N, random_state=12)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    points = Z[labels == 1]
    error = points.std(axis=0) * np.sqrt(1 / 1647 + 1 / len(points))
    assert np.all(np.abs(points.mean(axis=0) - np.concatenate(POOL_MEANS)) < 5 * error)


@pytest.mark.parametrize("draw", [twonorm, ringnorm, waveform])
def test_bad_count_and_seed(draw, refuses):
    with refuses(ValueError, "n = 0 "):
        draw(0)
    with refuses(TypeError, "random_state = 'a' "):
        draw(5, random_state="a")
