"""Classification against scikit-learn and against (B.1), (B.16) and (H.4)."""

import numpy as np
import pytest
from sklearn.svm import SVC

from pymc_bsvm.estimators import SVMClassifier
from tests.estimators.svm import problems
from tests.refusal import refused

X, _, LABELS, WEIGHT = problems.rows()
SIGNS = np.where(LABELS == "yes", 1.0, -1.0)


def objective(loss, C, K, a, b, weight):
    return C * weight @ problems.CLASSIFICATION[loss](SIGNS * (K @ a + b)) + 0.5 * a @ K @ a


@pytest.mark.parametrize("loss", problems.CLASSIFICATION)
def test_the_gap_is_that_of_the_papers(loss):
    C, K = 5.0, problems.rbf(X, X, 0.4)
    model = SVMClassifier(gamma=0.4, loss=loss, C=C).fit(X, LABELS, WEIGHT)
    a = problems.dual_of(model, SIGNS.size, 0)
    primal = objective(loss, C, K, a, model.intercept_[0], WEIGHT)
    dual = problems.dual_of_classification(loss, K, a, C * WEIGHT)
    assert np.all(SIGNS * a >= 0.0)
    assert a.sum() == pytest.approx(0.0, abs=1e-9)
    assert model.converged_
    assert model.objective_[0] == pytest.approx(primal, rel=1e-10)
    assert primal + dual == pytest.approx(model.duality_gap_, abs=1e-10 * primal)
    assert model.score(X, LABELS) > 0.8


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_objective_of_libsvm(kernel, C):
    theirs = SVC(kernel=kernel, gamma=0.4, C=C, tol=1e-7).fit(X, LABELS, WEIGHT)
    ours = SVMClassifier(kernel, gamma=0.4, C=C).fit(X, LABELS, WEIGHT)
    K = problems.rbf(X, X, 0.4) if kernel == "rbf" else X @ X.T
    a = np.zeros(SIGNS.size)
    a[theirs.support_] = theirs.dual_coef_[0]
    reached = objective("hinge", C, K, a, theirs.intercept_[0], WEIGHT)
    assert ours.objective_[0] <= reached * (1.0 + 1e-12)
    assert ours.objective_[0] == pytest.approx(reached, rel=2e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_class_weights_are_weights_of_rows():
    weight = np.where(LABELS == "yes", 3.0, 1.0)
    by_class = SVMClassifier(class_weight={"yes": 3.0}).fit(X, LABELS)
    by_row = SVMClassifier().fit(X, LABELS, weight)
    np.testing.assert_array_equal(by_class.dual_coef_, by_row.dual_coef_)
    balanced = SVMClassifier(class_weight="balanced").fit(X, LABELS)
    n, positive = LABELS.size, (LABELS == "yes").sum()
    ratio = np.where(LABELS == "yes", n / (2.0 * positive), n / (2.0 * (n - positive)))
    by_row = SVMClassifier().fit(X, LABELS, ratio)
    np.testing.assert_allclose(balanced.objective_, by_row.objective_, rtol=1e-7)


def test_weights_of_very_different_size():
    weight = np.where(np.arange(LABELS.size) % 3 == 0, 1e3, 1e-4)
    model = SVMClassifier().fit(X, LABELS, weight)
    assert model.duality_gap_ <= 1e-8 * model.objective_[0]


def test_what_is_refused():
    with refused(ValueError, "loss", "'silf'"):
        SVMClassifier(loss="silf").fit(X, LABELS)
    with refused(ValueError, "multiclass", "'ovo'"):
        SVMClassifier(multiclass="ovo").fit(X, LABELS)
    with refused(ValueError, "1 class", "'yes'"):
        SVMClassifier().fit(X, np.full(LABELS.size, "yes"))
    with refused(ValueError, "class_weight", "-1"):
        SVMClassifier(class_weight={"yes": -1.0}).fit(X, LABELS)
    with refused(ValueError, "nu", "'logistic'"):
        SVMClassifier(loss="logistic", nu=0.5).fit(X, LABELS)
