"""`RelevanceVectorClassifier` against dense matrices and integration."""

import numpy as np
import pytest
from scipy.special import expit

from pymc_bsvm.estimators import RelevanceVectorClassifier
from pymc_bsvm.estimators.kernels.precomputed import UnknownVariance
from tests.estimators import cases as rows
from tests.estimators.relevance import cases


@pytest.fixture(scope="module")
def data():
    return rows.plane(80)


@pytest.fixture(scope="module")
def model(data):
    return RelevanceVectorClassifier(hyperparameters={"ls": 1.0}).fit(data.X, data.labels)


def latent(machine, X, Z, new, signs):
    """Return mean and variance of new latent values, and the evidence."""
    own, cross = (rows.rbf(each, Z, 1.0, X.std(axis=0)) for each in (X, new))
    if machine.alpha.size > len(Z):
        own, cross = (np.column_stack([each, np.ones(len(each))]) for each in (own, cross))
    found = cases.laplace(own, machine.alpha, signs)
    variance = np.einsum("ij,jk,ik->i", cross, found.covariance, cross)
    return cross @ found.weights, variance, found.log_evidence


def average(mean, variance):
    """Integrate the logistic link over Gaussian latent values."""
    t = np.linspace(-9.0, 9.0, 20_001)
    link = expit(mean[:, None] + np.sqrt(variance)[:, None] * t)
    return np.trapezoid(np.exp(-0.5 * t**2) / np.sqrt(2.0 * np.pi) * link, t, axis=1)


def test_probabilities_are_those_of_dense_matrices(data, model):
    signs = np.where(data.labels == "yes", 1.0, -1.0)
    mean, variance, evidence = latent(
        model._machines[0], data.X, model.relevance_vectors_, data.new, signs
    )
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-8)
    expected = average(mean, variance)
    got = model.predict_proba(data.new)
    np.testing.assert_allclose(got[:, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-13)
    odds = model.decision_function(data.new)
    np.testing.assert_allclose(odds, np.log(got[:, 1] / got[:, 0]), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(model.predict(data.new), np.where(mean > 0.0, "yes", "no"))
    K = rows.rbf(data.new, model.relevance_vectors_, 1.0, data.X.std(axis=0))
    np.testing.assert_allclose(K @ model.dual_coef_[0] + model.intercept_[0], mean, rtol=1e-5)


def test_several_classes_share_the_probability():
    X, y = rows.three_classes(90)
    model = RelevanceVectorClassifier().fit(X, y)
    new = X[:7] + 0.3
    each = []
    for k, machine in enumerate(model._machines):
        Z = X[machine.rows]
        ls = np.sqrt(2.0) * X.std(axis=0)
        own, cross = (
            np.column_stack([rows.rbf(a, Z, 1.0, ls), np.ones((len(a), int(machine.biased)))])
            for a in (X, new)
        )
        found = cases.laplace(own, machine.alpha, np.where(y == model.classes_[k], 1.0, -1.0))
        variance = np.einsum("ij,jk,ik->i", cross, found.covariance, cross)
        each.append(average(cross @ found.weights, variance))
        assert model.log_evidence_[k] == pytest.approx(found.log_evidence, abs=1e-7)
    expected = rows.only_one(np.stack(each, axis=1))
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-4)
    np.testing.assert_array_equal(model.predict(new), model.classes_[expected.argmax(axis=1)])
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.dual_coef_.shape == (3, model.relevance_.size)
    own = [np.flatnonzero(row) for row in model.dual_coef_]
    for machine, places in zip(model._machines, own, strict=True):
        np.testing.assert_array_equal(model.relevance_[places], machine.rows)


def test_several_classes_of_a_matrix_that_holds_no_variances():
    X, y = rows.three_classes(60)
    K, new = 1.0 + X @ X.T + (X @ X.T) ** 2, X[:9] + 0.1
    model = RelevanceVectorClassifier("precomputed", variance="full").fit(K, y)
    cross = 1.0 + new @ X.T + (new @ X.T) ** 2
    latent = cross[:, model.relevance_] @ model.dual_coef_.T + model.intercept_
    np.testing.assert_array_equal(model.predict(cross), model.classes_[latent.argmax(axis=1)])
    with rows.refused(UnknownVariance, "9 new rows"):
        model.predict_proba(cross)


def test_probabilities_far_away(data, model):
    """Those of the weights know no doubt that the full variance has."""
    full = RelevanceVectorClassifier(hyperparameters={"ls": 1.0}, variance="full")
    full.fit(data.X, data.labels)
    doubt = np.abs(full.predict_proba(data.new) - 0.5)
    assert (doubt <= np.abs(model.predict_proba(data.new) - 0.5) + 1e-9).all()
    np.testing.assert_array_equal(full.predict(data.new), model.predict(data.new))


def test_one_class_is_refused(data):
    with rows.refused(ValueError, "two classes", "'yes'"):
        RelevanceVectorClassifier().fit(data.X, np.full(80, "yes"))
