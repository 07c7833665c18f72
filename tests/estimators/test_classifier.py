"""`BayesianSVC` against dense matrices and integration; labels, classes and weights."""

import copy
import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import BayesianSVC, kernels
from pymc_bsvm.estimators.machine import Machine
from pymc_bsvm.losses import Trigonometric
from tests.estimators import cases

pytestmark = cases.ANY_END


@pytest.fixture(scope="module")
def data():
    return cases.plane(50)


@pytest.fixture(scope="module")
def model(data):
    return BayesianSVC(approximation="laplace").fit(data.X, data.labels)


@pytest.fixture(scope="module")
def three():
    return cases.three_classes()


@pytest.fixture(scope="module")
def model_of_three(three):
    return BayesianSVC(approximation="laplace", calibration="model").fit(*three)


def dense(X, signs, h, new, cov=cases.rbf):
    """Return log evidence, mean and variance from hyperparameters in the units of the data."""
    K = cov(X, X, h["eta"], h["ls"]) + 100.0
    loss = Trigonometric(1.0)
    cross, prior = cov(X, new, h["eta"], h["ls"]) + 100.0, cov(new, new, h["eta"], h["ls"]) + 100.0
    mean, covariance = cases.moments(K, signs, loss, cross, prior)
    return bsvm.laplace_evidence(K, signs, loss).log_evidence, mean, np.diag(covariance)


# ---- two classes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "ard", "cov"),
    [
        ("rbf", False, cases.rbf),
        ("rbf", True, cases.rbf),
        ("matern32", False, cases.matern32),
        ("matern52", True, cases.matern52),
    ],
)
def test_probabilities_are_those_of_dense_matrices(kernel, ard, cov, data):
    model = BayesianSVC(kernel, ard=ard, approximation="laplace", calibration="model")
    model.fit(data.X, data.labels)
    signs = np.where(data.labels == "yes", 1.0, -1.0)
    evidence, mean, variance = dense(data.X, signs, model.hyperparameters_[0], data.new, cov)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    expected = cases.probability(mean, variance)
    got = model.predict_proba(data.new)
    assert got.shape == (9, 2)
    np.testing.assert_allclose(got[:, 1], expected, rtol=1e-4)
    np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(model.predict_log_proba(data.new), np.log(got), rtol=1e-12)
    odds = model.decision_function(data.new)
    assert odds.shape == (9,)
    np.testing.assert_allclose(odds, np.log(got[:, 1] / got[:, 0]), rtol=1e-8, atol=1e-10)
    labels = np.where(expected > 0.5, "yes", "no")
    np.testing.assert_array_equal(model.predict(data.new), labels)


def test_support_vectors_carry_the_function(data, model):
    h = model.hyperparameters_[0]
    K = cases.rbf(data.new, model.support_vectors_, h["eta"], h["ls"]) + 100.0
    signs = np.where(data.labels == "yes", 1.0, -1.0)
    _, mean, _ = dense(data.X, signs, h, data.new)
    assert model.dual_coef_.shape == (1, model.support_.size)
    np.testing.assert_allclose(K @ model.dual_coef_[0], mean, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(model.support_vectors_, data.X[model.support_])
    assert (model.dual_coef_[0] * signs[model.support_] > 0.0).all()


@pytest.mark.parametrize(
    "pair",
    [(0, 1), (-1, 1), (True, False), ("b", "a"), (2.0, 7.0)],
    ids=str,
)
def test_labels_of_any_kind(pair, data, model):
    """The second in sorted order is the positive class."""
    first, second = sorted(pair)
    labels = np.where(data.labels == "yes", second, first)
    other = BayesianSVC(approximation="laplace").fit(data.X, labels)
    np.testing.assert_array_equal(other.classes_, np.array([first, second]))
    np.testing.assert_allclose(other.predict_proba(data.new), model.predict_proba(data.new))
    expected = np.where(model.predict(data.new) == "yes", second, first)
    np.testing.assert_array_equal(other.predict(data.new), expected)
    assert other.score(data.X, labels) == model.score(data.X, data.labels)


def test_swapped_labels_mirror_the_fit(data, model):
    swapped = np.where(data.labels == "yes", "no", "yes")
    other = BayesianSVC(approximation="laplace").fit(data.X, swapped)
    assert other.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(
        other.predict_proba(data.new), model.predict_proba(data.new)[:, ::-1], rtol=1e-4
    )


def test_units_of_the_inputs_do_not_matter(data, model):
    factor, shift = np.array([1e4, 1e-3]), np.array([-3.0, 5.0])
    other = BayesianSVC(approximation="laplace").fit(factor * data.X + shift, data.labels)
    assert other.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(
        other.predict_proba(factor * data.new + shift), model.predict_proba(data.new), rtol=1e-4
    )


def test_probabilities_are_calibrated():
    """On new rows, better than the share of the classes, and about as good as the truth."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1150, 2))
    p = 1.0 / (1.0 + np.exp(-3.0 * X[:, 0]))
    labels = (rng.random(1150) < p).astype(int)
    model = BayesianSVC().fit(X[:150], labels[:150])
    loss = log_loss(labels[150:], model.predict_proba(X[150:]))
    assert loss < 1.15 * log_loss(labels[150:], p[150:])
    assert loss < 0.7 * np.log(2.0)


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "linear", "poly", "bspline", "dirichlet"])
def test_kernels_by_name(kernel, data):
    model = BayesianSVC(kernel).fit(data.X, data.labels)
    assert model.score(data.X, data.labels) > 0.75


def test_a_periodic_kernel_finds_the_period():
    """A search that ends on white noise, with a period of almost nothing, has learned nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    labels = X[:, 0] + 0.3 * rng.normal(size=40) > 0.0
    model = BayesianSVC("periodic").fit(X, labels)
    new = rng.normal(size=(200, 2))
    assert model.score(new, new[:, 0] > 0.0) > 0.7


# ---- more classes -------------------------------------------------------------------------------


def test_one_against_the_rest(three, model_of_three):
    X, labels = three
    model, new = model_of_three, X[:9] + 0.4
    p = model.predict_proba(new)
    assert p.shape == (9, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    each = []
    for label in ("ash", "elm", "oak"):
        alone = BayesianSVC(approximation="laplace", calibration="model")
        alone.fit(X, labels == label)
        assert model.log_evidence_[len(each)] == pytest.approx(alone.log_evidence_, abs=1e-9)
        each.append(alone.predict_proba(new)[:, 1])
    each = np.stack(each, axis=1)
    np.testing.assert_allclose(p, cases.only_one(each), rtol=1e-9)
    odds = np.log(each / (1.0 - each))
    np.testing.assert_allclose(model.decision_function(new), odds, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(new), model.classes_[p.argmax(axis=1)])
    np.testing.assert_array_equal(model.classes_, ["ash", "elm", "oak"])
    assert model.score(X, labels) > 0.85


def test_draws_of_different_machines_are_independent(three, model_of_three):
    """The average over all combinations of draws is the formula at the averages."""
    X, labels = three
    new, model = X[:6] + 0.4, copy.copy(model_of_three)
    values = [np.array([0.5, 1.0]), np.array([1.5, 0.7])]
    model._trained = [
        replace(each, draws=[Machine.at(each.objective, v) for v in values])
        for each in model_of_three._trained
    ]
    p = np.empty((2, 3, 6))
    for k, label in enumerate(model.classes_):
        signs, unit = np.where(labels == label, 1.0, -1.0), X.std(axis=0)
        for draw, (eta, ls) in enumerate(values):
            h = {"eta": eta, "ls": ls * unit}
            _, mean, variance = dense(X, signs, h, new)
            p[draw, k] = cases.probability(mean, variance)
    alone = sum(cases.alone(p[k, range(3)].T) for k in itertools.product((0, 1), repeat=3))
    expected = alone / alone.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-4)


def test_attributes_of_three_classes(three, model_of_three):
    X, labels = three
    model = model_of_three
    assert model.dual_coef_.shape == (3, model.support_.size)
    gaps = [tree["sample_stats"]["gap"].item() for tree in model.datatree_]
    assert min(gaps) < max(gaps) == model.gap_
    assert (model.dual_coef_ != 0.0).any(axis=0).all()
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    for name in ("hyperparameters_", "log_evidence_", "at_bound_", "restarts_", "datatree_"):
        assert len(getattr(model, name)) == 3, name
    for k, label in enumerate(model.classes_):
        signs = np.where(labels == label, 1.0, -1.0)
        assert (model.dual_coef_[k] * signs[model.support_] >= 0.0).all()
        evidence, mean, _ = dense(X, signs, model.hyperparameters_[k], X[:5])
        assert model.log_evidence_[k] == pytest.approx(evidence, abs=1e-6)
        h = model.hyperparameters_[k]
        cross = cases.rbf(X[:5], model.support_vectors_, h["eta"], h["ls"]) + 100.0
        np.testing.assert_allclose(cross @ model.dual_coef_[k], mean, rtol=1e-4, atol=1e-6)


def test_classes_in_parallel(three, model_of_three):
    two = BayesianSVC(approximation="laplace", n_jobs=2).fit(*three)
    np.testing.assert_allclose(two.log_evidence_, model_of_three.log_evidence_, rtol=1e-12)
    np.testing.assert_allclose(
        two.predict_proba(three[0]), model_of_three.predict_proba(three[0]), rtol=1e-10
    )


def test_relevance_is_the_largest_over_the_classes(three):
    X, labels = three
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    model = BayesianSVC(ard=True).fit(X, labels)
    scaled = np.array([X.std(axis=0) / h["ls"] for h in model.hyperparameters_])
    np.testing.assert_allclose(model.relevance_, scaled.max(axis=0), rtol=1e-9)
    assert model.feature_importances_.argmin() == 2
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_the_model_of_a_class(model_of_three):
    with cases.refused(ValueError, "label", "'fir'"):
        model_of_three.to_pymc("fir")


# ---- weights ------------------------------------------------------------------------------------


def test_whole_weights_are_repeated_rows(data):
    counts = np.random.default_rng(0).integers(0, 4, size=50)
    repeated = np.repeat(np.arange(50), counts)
    one = BayesianSVC().fit(data.X, data.labels, sample_weight=counts)
    many = BayesianSVC().fit(data.X[repeated], data.labels[repeated])
    assert one.log_evidence_ == pytest.approx(many.log_evidence_, abs=1e-3)
    np.testing.assert_allclose(
        one.predict_proba(data.new), many.predict_proba(data.new), rtol=1e-2, atol=1e-4
    )


def unequal(data):
    """Return rows of which one in four is a 'yes'."""
    kept = np.flatnonzero(data.labels == "no")
    kept = np.sort(np.r_[kept, np.flatnonzero(data.labels == "yes")[: kept.size // 3]])
    return data.X[kept], data.labels[kept]


@pytest.mark.parametrize("class_weight", ["balanced", {"no": 1.0, "yes": 3.0}, {"yes": 2.0}])
def test_class_weights_are_weights_of_rows(class_weight, data):
    X, labels = unequal(data)
    n, share = labels.size, np.mean(labels == "yes")
    factors = {"no": 0.5 / (1.0 - share), "yes": 0.5 / share}
    if class_weight != "balanced":
        factors = {"no": 1.0, "yes": 1.0} | class_weight
    weight = np.array([factors[label] for label in labels])
    if class_weight == "balanced":
        assert weight.sum() == pytest.approx(n)
    one = BayesianSVC(class_weight=class_weight).fit(X, labels)
    other = BayesianSVC().fit(X, labels, sample_weight=weight)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)


def test_class_weights_and_weights_of_rows_multiply(data):
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=50)
    one = BayesianSVC(class_weight={"yes": 2.0}).fit(data.X, data.labels, sample_weight=weight)
    product = weight * np.where(data.labels == "yes", 2.0, 1.0)
    other = BayesianSVC().fit(data.X, data.labels, sample_weight=product)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)


def test_balance_counts_the_weights_of_rows(data):
    counts = np.random.default_rng(0).integers(0, 4, size=50)
    repeated = np.repeat(np.arange(50), counts)
    one = BayesianSVC(class_weight="balanced").fit(data.X, data.labels, sample_weight=counts)
    many = BayesianSVC(class_weight="balanced").fit(data.X[repeated], data.labels[repeated])
    assert one.log_evidence_ == pytest.approx(many.log_evidence_, abs=1e-3)


def test_balance_does_not_count_a_class_without_weight(data):
    labels = np.where(np.arange(50) % 5 == 0, "maybe", data.labels)
    kept = labels != "maybe"
    one = BayesianSVC(class_weight="balanced").fit(data.X, labels, sample_weight=kept.astype(float))
    other = BayesianSVC(class_weight="balanced").fit(data.X[kept], labels[kept])
    np.testing.assert_array_equal(one.classes_, ["no", "yes"])
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)


# ---- precomputed --------------------------------------------------------------------------------


def gram(X, Z):
    return cases.rbf(X, Z, 1.0, 1.5)


@pytest.mark.parametrize("kernel", ["precomputed", kernels.Precomputed()])
def test_precomputed_is_the_kernel_inside(kernel, three):
    X, labels = three
    inside = BayesianSVC(gram, standardize=False).fit(X, labels)
    outside = BayesianSVC(kernel).fit(gram(X, X), labels)
    np.testing.assert_allclose(outside.log_evidence_, inside.log_evidence_, atol=1e-6)
    new = X[:7] + 0.3
    np.testing.assert_allclose(
        outside.predict_proba(gram(new, X)), inside.predict_proba(new), rtol=1e-4
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_from_a_gram_matrix_without_variances(classes, three):
    """Labels need the function alone, for any number of classes."""
    X, labels = three
    X, labels = X - X.mean(axis=0), labels if classes == 3 else labels == "ash"
    model = BayesianSVC("precomputed").fit(X @ X.T, labels)
    assert np.mean(model.predict(X @ X.T) == labels) > 0.8
    with cases.refused(ValueError, "variances"):
        model.predict_proba(X @ X.T)


# ---- few rows and errors ------------------------------------------------------------------------


def test_two_rows(data):
    model = BayesianSVC().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    np.testing.assert_array_equal(model.predict([[0.0, 1.0], [1.0, 0.0]]), [0, 1])


def test_the_same_row_in_both_classes():
    model = BayesianSVC().fit(np.ones((6, 2)), [0, 1] * 3)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 0.5, atol=1e-6)


def test_separable_classes(data):
    labels = data.X[:, 0] > np.median(data.X[:, 0])
    model = BayesianSVC("linear").fit(data.X, labels)
    assert model.score(data.X, labels) > 0.95
    assert (model.predict_proba(data.X).max(axis=1) > 0.5).all()


def test_one_class_is_not_enough(data):
    with cases.refused(ValueError, "class", "'yes'"):
        BayesianSVC().fit(data.X, np.full(50, "yes"))
    with pytest.raises(ValueError, match="class") as caught:
        BayesianSVC().fit(data.X, np.full(50, 7))
    assert "np.int64" not in str(caught.value)
    with cases.refused(ValueError, "class"):
        weight = (data.labels == "yes").astype(float)
        BayesianSVC().fit(data.X, data.labels, sample_weight=weight)


def test_numbers_are_no_labels(data):
    with pytest.raises(ValueError, match="continuous"):
        BayesianSVC().fit(data.X, data.y)


@pytest.mark.parametrize("class_weight", ["equal", 3.0])
def test_class_weights_are_checked(class_weight, data):
    with cases.refused((TypeError, ValueError), "class_weight", repr(class_weight)):
        BayesianSVC(class_weight=class_weight).fit(data.X, data.labels)


def test_class_weights_are_checked_by_name(data):
    with cases.refused(ValueError, "class_weight", "-1"):
        BayesianSVC(class_weight={"yes": -1.0}).fit(data.X, data.labels)
    with cases.refused(ValueError, "class_weight", "full_bayes"):
        BayesianSVC(class_weight="balanced", full_bayes=True).fit(data.X, data.labels)


@pytest.mark.parametrize("class_weight", [None, "balanced", {"yes": 2.0}])
def test_weights_of_a_wrong_shape(class_weight, data):
    with pytest.raises(ValueError, match="sample_weight"):
        BayesianSVC(class_weight=class_weight).fit(data.X, data.labels, sample_weight=np.ones(7))


@pytest.mark.parametrize("class_weight", [None, "balanced", {"yes": 2.0}])
def test_one_weight_for_all_rows(class_weight, data):
    model = BayesianSVC(class_weight=class_weight)
    one = model.fit(data.X, data.labels, sample_weight=2.0).log_evidence_
    all_rows = model.fit(data.X, data.labels, sample_weight=np.full(50, 2.0)).log_evidence_
    assert one == pytest.approx(all_rows, rel=1e-12)
