import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.datasets import robot_arm


def position(X):
    x1, x2 = X[:, 0], X[:, 1]
    end = 2.0 * np.exp(1j * x1) + 1.3 * np.exp(1j * (x1 + x2))
    return np.column_stack([end.real, end.imag])


@pytest.mark.parametrize("inputs", [2, 6])
def test_shapes_and_seed(inputs):
    X, Y = robot_arm(40, inputs, random_state=3)
    again = robot_arm(40, inputs, random_state=3)
    other = robot_arm(40, inputs, random_state=4)
    assert X.shape == (40, inputs)
    assert Y.shape == (40, 2)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(Y, again[1])
    assert not np.any(X == other[0])
    assert not np.any(Y == other[1])


def test_one_seed_has_one_arm():
    X2, Y2 = robot_arm(40, 2)
    X6, Y6 = robot_arm(40, 6)
    np.testing.assert_array_equal(X2, X6[:, :2])
    np.testing.assert_array_equal(Y2, Y6)


def test_angles_are_uniform_on_the_ranges():
    X, _ = robot_arm(20_000, random_state=1)
    size = np.abs(X[:, 0])
    assert stats.kstest(size, stats.uniform(0.453, 1.932 - 0.453).cdf).pvalue > 1e-4
    assert stats.kstest(X[:, 1], stats.uniform(0.534, 3.142 - 0.534).cdf).pvalue > 1e-4
    assert size.min() >= 0.453
    assert size.max() <= 1.932
    assert abs(np.mean(X[:, 0] > 0) - 0.5) < 5 * 0.5 / np.sqrt(len(X))


def test_outputs_without_noise():
    X, Y = robot_arm(500, noise_sd=0.0)
    np.testing.assert_allclose(Y, position(X), rtol=0, atol=1e-14)


def test_outputs_at_a_known_pose():
    # x1 = x2 = π/2: the forearm points back along the first axis.
    np.testing.assert_allclose(position(np.full((1, 2), np.pi / 2)), [[-1.3, 2.0]], atol=1e-15)


@pytest.mark.parametrize("noise_sd", [0.05, 0.4])
def test_noise(noise_sd):
    X, Y = robot_arm(50_000, noise_sd=noise_sd, random_state=2)
    residual = Y - position(X)
    for column in residual.T:
        assert stats.kstest(column, stats.norm(scale=noise_sd).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(residual.T)[0, 1]) < 5 / np.sqrt(len(X))


def test_noise_default():
    X, Y = robot_arm(50_000, random_state=2)
    variance = np.mean((Y - position(X)) ** 2)
    assert abs(variance - 0.0025) < 5 * 0.0025 * np.sqrt(2 / (2 * len(X)))


def test_added_inputs():
    X, _ = robot_arm(20_000, 6, random_state=5)
    for column in (X[:, 2:4] - X[:, :2]).T:
        assert stats.kstest(column, stats.norm(scale=0.02).cdf).pvalue > 1e-4
    for column in X[:, 4:].T:
        assert stats.kstest(column, stats.norm().cdf).pvalue > 1e-4
    independent = np.column_stack([X[:, :2], X[:, 2:4] - X[:, :2], X[:, 4:]])
    correlation = np.corrcoef(independent.T) - np.eye(6)
    assert np.abs(correlation).max() < 5 / np.sqrt(len(X))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n": -1}, ValueError, "n = -1 "),
        ({"inputs": 3}, ValueError, "inputs = 3 "),
        ({"inputs": "2"}, ValueError, "inputs = '2' "),
        ({"noise_sd": -0.1}, ValueError, "noise_sd must satisfy 0 <= noise_sd, but it is -0.1."),
        ({"noise_sd": np.nan}, ValueError, "noise_sd must satisfy 0 <= noise_sd, but it is nan."),
        ({"random_state": 0.5}, TypeError, "random_state = 0.5 "),
    ],
)
def test_refuses(arguments, error, words, refuses):
    with refuses(error, words):
        robot_arm(**{"n": 10, **arguments})
