import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.datasets import two_gaussians, two_gaussians_probability

MEAN = {1: {0: [2.0], 1: [-2.0]}, 2: {0: [2.0, 0.0], 1: [-2.0, 0.0]}}
COVARIANCE = {
    1: {0: [[1.0]], 1: [[1.0]]},
    2: {0: [[2.0, 0.0], [0.0, 1.0]], 1: [[1.0, 0.0], [0.0, 2.0]]},
}


def direct_probability(X):
    dim = X.shape[1]
    p0, p1 = (
        stats.multivariate_normal(MEAN[dim][label], COVARIANCE[dim][label]).pdf(X)
        for label in (0, 1)
    )
    return p1 / (p0 + p1)


@pytest.mark.parametrize("dim", [1, 2])
def test_shapes_labels_and_seed(dim):
    X, labels = two_gaussians(101, dim, random_state=3)
    again = two_gaussians(101, dim, random_state=3)
    other = two_gaussians(101, dim, random_state=4)
    assert X.shape == (101, dim)
    assert labels.shape == (101,)
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == [51, 50]
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(labels, again[1])
    assert not np.any(X == other[0])
    assert np.any(labels != other[1])


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("label", [0, 1])
def test_class_moments(dim, label):
    X, labels = two_gaussians(100_000, dim, random_state=5)
    points = X[labels == label]
    m = len(points)
    covariance = np.array(COVARIANCE[dim][label])
    variance = np.diag(covariance)
    error = np.sqrt(variance / m)
    assert np.all(np.abs(points.mean(axis=0) - MEAN[dim][label]) < 5 * error)
    spread = np.sqrt((np.outer(variance, variance) + covariance**2) / m)
    estimate = np.atleast_2d(np.cov(points.T))
    assert np.all(np.abs(estimate - covariance) < 5 * spread)


@pytest.mark.parametrize("dim", [1, 2])
def test_probability_by_bayes_theorem(dim):
    X, _ = two_gaussians(2000, dim)
    np.testing.assert_allclose(two_gaussians_probability(X), direct_probability(X), rtol=1e-12)


def test_probability_of_one_input_is_logistic():
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(
        two_gaussians_probability(x[:, None]), 1 / (1 + np.exp(4 * x)), rtol=1e-13
    )


def test_probability_far_away():
    far = [[-500.0], [500.0]]
    np.testing.assert_array_equal(two_gaussians_probability(far), [1.0, 0.0])


@pytest.mark.parametrize("dim", [1, 2])
def test_probability_by_frequencies(dim):
    X, labels = two_gaussians(200_000, dim, random_state=6)
    probability = two_gaussians_probability(X)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (probability >= low) & (probability < low + 0.2)
        p = probability[inside]
        assert len(p) > 500
        error = np.sqrt(np.sum(p * (1 - p))) / len(p)
        assert abs(labels[inside].mean() - p.mean()) < 5 * error


def test_optimal_classifier_of_table_5_2():
    """Table 5.2 of [Chu03]: the true model has NLL 2532.5 and error 0.0490 on 20002 cases."""
    m = 20_002
    X, labels = two_gaussians(400_000, 2, random_state=7)
    probability = two_gaussians_probability(X)
    wrong = (probability > 0.5) != labels
    surprise = -np.log(np.where(labels == 1, probability, 1 - probability))
    assert abs(wrong.mean() - 0.0490) < 4 * wrong.std() / np.sqrt(m)
    assert abs(surprise.mean() * m - 2532.5) < 4 * surprise.std() * np.sqrt(m)


@pytest.mark.parametrize("shape", [(3,), (3, 3), (3, 0), (2, 3, 1)])
def test_probability_refuses_shapes(shape, refuses):
    with refuses(ValueError, f"X has shape {shape} "):
        two_gaussians_probability(np.zeros(shape))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"n": 0}, ValueError, "n = 0 "),
        ({"n": "9"}, TypeError, "n = '9' "),
        ({"dim": 3}, ValueError, "dim = 3 "),
        ({"dim": True}, ValueError, "dim = True "),
        ({"random_state": -2}, ValueError, "random_state = -2 "),
    ],
)
def test_refuses(arguments, error, words, refuses):
    with refuses(error, words):
        two_gaussians(**{"n": 10, **arguments})
