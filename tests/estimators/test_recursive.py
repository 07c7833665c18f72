"""Batches of rows one after the other."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR

RNG = np.random.default_rng(0)
N, FIRST = 1800, 600
X = RNG.uniform(-2.0, 2.0, (N, 2))
F = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1])
Y = 5.0 + 3.0 * (F + 0.2 * RNG.standard_t(3, N))
LABELS = np.where(F + 0.2 * RNG.logistic(size=N) > 0.0, "up", np.where(X[:, 1] > 0, "in", "out"))
NEW = RNG.uniform(-2.0, 2.0, (1000, 2))
TRUE = 5.0 + 3.0 * np.sin(2.0 * NEW[:, 0]) * np.cos(NEW[:, 1])


def in_batches(model, y, size=600, **settings):
    for start in range(0, N, size):
        rows = slice(start, start + size)
        model.partial_fit(X[rows], y[rows], **settings)
    return model


def error(model):
    return np.sqrt(np.mean((model.predict(NEW) - TRUE) ** 2))


def test_a_regressor_learns_from_each_batch():
    model = BayesianSVR(inducing=40, random_state=0)
    first = BayesianSVR(inducing=40, random_state=0).fit(X[:FIRST], Y[:FIRST])
    in_batches(model, Y)
    whole = BayesianSVR(inducing=40, random_state=0).fit(X, Y)
    assert error(model) < 0.8 * error(first)
    assert error(model) < 1.3 * error(whole)
    np.testing.assert_equal(model.hyperparameters_, first.hyperparameters_)
    np.testing.assert_array_equal(model.inducing_points_, first.inducing_points_)
    std = [each.predict(NEW, return_std=True)[1].mean() for each in (model, first)]
    assert std[0] < std[1]


def test_weights_of_a_batch():
    """Rows of weight zero are none; rows that count twice are two."""
    models = [BayesianSVR(inducing=20, random_state=0).fit(X[:FIRST], Y[:FIRST]) for _ in "ab"]
    rows = np.arange(FIRST, FIRST + 90)
    weight = np.repeat([0.0, 1.0, 2.0], 30)
    models[0].partial_fit(X[rows], Y[rows], weight)
    rows = np.concatenate([rows[30:], rows[60:]])
    models[1].partial_fit(X[rows], Y[rows])
    a, b = (model.predict(NEW[:50]) for model in models)
    np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_a_classifier_learns_from_each_batch(count):
    y = LABELS if count == 3 else np.where(LABELS == "up", "up", "down")
    first = BayesianSVC(inducing=30, random_state=0).fit(X[:FIRST], y[:FIRST])
    model = in_batches(BayesianSVC(inducing=30, random_state=0), y, classes=np.unique(y))
    whole = BayesianSVC(inducing=30, random_state=0).fit(X, y)
    loss = [log_loss(y, each.predict_proba(X)) for each in (first, model, whole)]
    assert loss[1] < loss[0]
    assert loss[1] < loss[2] + 0.02


def test_errors_say_what_to_do():
    y = np.where(F > 0.0, "up", "down")
    with pytest.raises(ValueError, match=r"'other' is not among the first batch\. Let"):
        BayesianSVC(inducing=9).partial_fit(X[:99], y[:99], classes=["up", "down", "other"])
    balanced = BayesianSVC(inducing=9, class_weight="balanced").partial_fit(X[:99], y[:99])
    with pytest.raises(ValueError, match=r"class_weight is 'balanced'.*\. Pass a dict"):
        balanced.partial_fit(X[:99], y[:99])
    classifier = BayesianSVC(inducing=9).partial_fit(X[:99], y[:99])
    with pytest.raises(ValueError, match=r"'new' is not among the classes.*\. Let"):
        classifier.partial_fit(X[:2], ["up", "new"])
    regressor = BayesianSVR(inducing="auto").partial_fit(X[:40], Y[:40])
    with pytest.raises(ValueError, match=r"fitted without\. Set inducing"):
        regressor.partial_fit(X[:2], Y[:2])
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as caught:
        BayesianSVR().partial_fit(X[:40], Y[:40])
    assert "inducing is None. Set" in str(caught.value.__cause__)
    regressor = BayesianSVR(inducing=9).partial_fit(X[:99], Y[:99])
    with pytest.raises(ValueError, match=r"not be negative, but it holds -1\. Pass"):
        regressor.partial_fit(X[:2], Y[:2], [1.0, -1.0])
    with pytest.raises(ValueError, match="X has 1 features"):
        regressor.partial_fit(X[:2, :1], Y[:2])
