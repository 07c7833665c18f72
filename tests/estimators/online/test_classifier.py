"""`OnlineSVC`: probabilities, several classes, and labels that come one batch after the other."""

import numpy as np
import pytest

from pymc_bsvm.estimators import OnlineSVC
from tests.estimators.cases import only_one, probability, refused, three_classes
from tests.estimators.online import cases


@pytest.fixture(scope="module")
def data():
    return cases.rows(30)


def test_probabilities_are_averages_of_the_link(data):
    model = OnlineSVC(offset=0.0, novelty=1e-8, **cases.KERNEL).fit(data.X, data.labels)
    every = np.vstack([data.X, data.new])
    found = cases.dense(
        cases.covariance(every, every), data.labels, cases.LIKELIHOODS["trigonometric"]
    )
    expected = probability(found.mean[30:], found.covariance.diagonal()[30:])
    got = model.predict_proba(data.new)
    np.testing.assert_allclose(got[:, 1], expected, rtol=1e-7)
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-13)
    odds = model.decision_function(data.new)
    np.testing.assert_allclose(odds, np.log(got[:, 1] / got[:, 0]), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.predict(data.new), np.where(expected > 0.5, 1.0, -1.0))


def test_several_classes_are_told_from_the_rest():
    X, y = three_classes(60)
    new, settings = X[:7] + 0.3, {"max_basis": 25, **cases.KERNEL}
    model = OnlineSVC(**settings).fit(X, y)
    each = [OnlineSVC(**settings).fit(X, np.where(y == label, 1, 0)) for label in model.classes_]
    share = only_one(np.stack([one.predict_proba(new)[:, 1] for one in each], axis=1))
    np.testing.assert_allclose(model.predict_proba(new), share, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(new), model.classes_[share.argmax(axis=1)])
    np.testing.assert_array_equal(model.log_evidence_, [one.log_evidence_ for one in each])
    np.testing.assert_array_equal(
        model.sequential_log_evidence_, [one.sequential_log_evidence_ for one in each]
    )
    for Z, one in zip(model.basis_vectors_, each, strict=True):
        np.testing.assert_array_equal(Z, one.basis_vectors_)


def test_a_class_may_come_later(data):
    order = np.argsort(data.labels)
    X, y = data.X[order], data.labels[order]
    parts = OnlineSVC()
    for rows in (slice(0, 5), slice(5, None)):  # the first ones are of one class
        parts.partial_fit(X[rows], y[rows], classes=[-1.0, 1.0])
    whole = OnlineSVC().fit(X, y)
    np.testing.assert_array_equal(parts.predict_proba(data.new), whole.predict_proba(data.new))


def test_classes_that_are_wrong(data):
    with refused(ValueError, "two classes", "1 class", "'yes'"):
        OnlineSVC().fit(data.X, np.full(30, "yes"))
    with refused(ValueError, "two classes", "pass all classes"):
        OnlineSVC().partial_fit(data.X[:1], data.labels[:1])
    with refused(ValueError, "y holds 'c', which is not among classes = ['a', 'b'].", "Add it"):
        OnlineSVC().partial_fit(data.X[:2], ["a", "c"], classes=["a", "b"])
    model = OnlineSVC().partial_fit(data.X[:2], ["a", "b"])
    with refused(ValueError, "y must", "'c'"):
        model.partial_fit(data.X[:2], ["a", "c"])
    with refused(ValueError, "classes", "'c'"):
        model.partial_fit(data.X[:2], ["a", "b"], classes=["a", "b", "c"])
