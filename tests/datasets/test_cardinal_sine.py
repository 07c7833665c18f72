import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.datasets import sinc

NOISES = ["silf", "gaussian", "student", "none"]


def function(X):
    return np.sin(np.abs(X[:, 0])) / np.abs(X[:, 0])


@pytest.mark.parametrize("noise", NOISES)
def test_shapes_and_seed(noise):
    X, y = sinc(50, noise, 0.1, random_state=3)
    again = sinc(50, noise, 0.1, random_state=3)
    other = sinc(50, noise, 0.1, random_state=4)
    assert X.shape == (50, 1)
    assert y.shape == (50,)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.any(X == other[0])
    assert not np.any(y == other[1])


def test_a_generator_is_continued():
    rng = np.random.default_rng(3)
    first, second = sinc(5, random_state=rng), sinc(5, random_state=rng)
    np.testing.assert_array_equal(first[0], sinc(5, random_state=3)[0])
    assert not np.any(first[0] == second[0])


def test_inputs_are_uniform():
    X, _ = sinc(20_000, random_state=1)
    assert -10 <= X.min() < -9.99
    assert 9.99 < X.max() <= 10
    assert stats.kstest(X[:, 0], stats.uniform(-10, 20).cdf).pvalue > 1e-4


def test_targets_without_noise():
    X, y = sinc(1000, "none", random_state=1)
    np.testing.assert_allclose(y, function(X), rtol=0, atol=1e-15)


@pytest.mark.parametrize("noise", NOISES)
def test_one_seed_has_one_set_of_inputs(noise):
    np.testing.assert_array_equal(sinc(30, noise, 0.2)[0], sinc(30)[0])


@pytest.mark.parametrize(
    ("noise", "arguments", "law"),
    [
        ("gaussian", {}, stats.norm(scale=0.2)),
        ("gaussian", {"sigma": 1.5}, stats.norm(scale=1.5)),
        ("student", {}, stats.t(4, scale=0.1)),
        ("student", {"df": 2.5, "scale": 2.0}, stats.t(2.5, scale=2.0)),
    ],
)
def test_residuals_follow_the_law(noise, arguments, law):
    X, y = sinc(50_000, noise, random_state=5, **arguments)
    assert stats.kstest(y - function(X), law.cdf).pvalue > 1e-4


def test_silf_residuals_have_the_variance_of_the_thesis():
    n = 100_000
    X, y = sinc(n, random_state=6)
    squares = (y - function(X)) ** 2
    error = squares.std() / np.sqrt(n)
    assert abs(squares.mean() - 0.026785) < 5 * error


def test_silf_parameters_reach_the_noise():
    # As epsilon vanishes the noise becomes Laplacian, of scale 1 / C.
    X, y = sinc(50_000, C=2.0, epsilon=1e-9, beta=0.5, random_state=7)
    assert stats.kstest(y - function(X), stats.laplace(scale=0.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.03, 3), (0.126, 13), (1.0, 100)])
def test_outliers_replace_an_exact_number_of_rows(noise, share, count):
    _, clean = sinc(100, noise, random_state=8)
    _, y = sinc(100, noise, share, random_state=8)
    assert np.count_nonzero(y != clean) == count


def test_outliers_have_their_own_scale():
    n = 50_000
    X, y = sinc(n, "none", 0.5, outlier_scale=3.0, random_state=9)
    residual = (y - function(X))[np.abs(y - function(X)) > 1e-12]
    assert abs(len(residual) - n // 2) <= 1
    assert stats.kstest(residual, stats.norm(scale=3.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n": 0}, ValueError, "n = 0 "),
        ({"n": 1.5}, TypeError, "n = 1.5 "),
        ({"noise": "cauchy"}, ValueError, "noise = 'cauchy' "),
        ({"noise": None}, ValueError, "noise = None "),
        (
            {"outliers": -0.1},
            ValueError,
            "outliers must satisfy 0 <= outliers <= 1, but it is -0.1.",
        ),
        ({"outliers": 1.1}, ValueError, "outliers must satisfy 0 <= outliers <= 1, but it is 1.1."),
        (
            {"outlier_scale": -1.0},
            ValueError,
            "outlier_scale must satisfy 0 <= outlier_scale, but it is -1.0.",
        ),
        (
            {"noise": "gaussian", "sigma": -1.0},
            ValueError,
            "sigma must satisfy 0 <= sigma, but it is -1.0.",
        ),
        (
            {"noise": "student", "scale": -1.0},
            ValueError,
            "scale must satisfy 0 <= scale, but it is -1.0.",
        ),
        ({"noise": "student", "df": 0.0}, ValueError, "df = 0.0 "),
        ({"C": -1.0}, ValueError, "C"),
        ({"random_state": "a"}, TypeError, "random_state = 'a' "),
    ],
)
def test_refuses(arguments, error, words, refuses):
    with refuses(error, words):
        sinc(**{"n": 10, **arguments})


def test_one_row():
    X, y = sinc(1, outliers=1.0)
    assert X.shape == (1, 1)
    assert y.shape == (1,)
