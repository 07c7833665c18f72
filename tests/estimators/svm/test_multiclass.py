"""Several classes: each against the rest, and a decision DAG."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from pymc_bsvm.estimators import SVMClassifier
from pymc_bsvm.estimators.svm.multiclass import DecisionDAG
from tests.estimators.cases import three_classes

X, LABELS = three_classes(60)


def test_one_against_the_rest_is_one_machine_for_each():
    model = SVMClassifier(C=2.0).fit(X, LABELS)
    for k, label in enumerate(model.classes_):
        alone = SVMClassifier(C=2.0).fit(X, LABELS == label)
        np.testing.assert_allclose(
            model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-9
        )


def test_pairs_are_the_machines_of_libsvm():
    model = SVMClassifier(gamma=0.3, C=2.0, multiclass="dag").fit(X, LABELS)
    theirs = SVC(gamma=0.3, C=2.0, tol=1e-7, decision_function_shape="ovo").fit(X, LABELS)
    assert model.dual_coef_.shape[0] == 3
    pairs = -theirs.decision_function(X)  # the first class is positive there
    np.testing.assert_allclose(model._decisions(X), pairs, atol=1e-3)


@pytest.mark.parametrize("count", [3, 5])
def test_the_dag_asks_first_against_last(count):
    """Walked row by row, as in section 7.1.3 of [PRML]."""
    pairs = list(itertools.combinations(range(count), 2))
    decisions = np.random.default_rng(0).normal(size=(40, len(pairs)))
    scores = DecisionDAG(count).scores(decisions)
    for decision, score in zip(decisions, scores, strict=True):
        left, margins = list(range(count)), []
        while len(left) > 1:
            d = decision[pairs.index((left[0], left[-1]))]
            loser = left.pop(0 if d > 0.0 else -1)
            assert score[loser] == -abs(d)
            margins.append((left[0] if d < 0.0 else left[-1], abs(d)))
        assert score.argmax() == left[0]
        assert score[left[0]] == min(m for winner, m in margins if winner == left[0])


def test_a_path_of_several_machines():
    for scheme in ("ovr", "dag"):
        path = SVMClassifier(loss="squared_hinge", multiclass=scheme).path(X, LABELS, [0.5, 5.0])
        alone = SVMClassifier(loss="squared_hinge", multiclass=scheme, C=5.0).fit(X, LABELS)
        np.testing.assert_allclose(path[1].objective_, alone.objective_, rtol=1e-7)


@pytest.mark.parametrize(("scheme", "nu"), [("ovr", 0.3), ("dag", 0.5)])
def test_several_classes_with_nu(scheme, nu):
    model = SVMClassifier(gamma=0.3, nu=nu, multiclass=scheme).fit(X, LABELS)
    own = LABELS != "oak" if scheme == "dag" else np.full(LABELS.size, True)
    labels = LABELS[own] == ("elm" if scheme == "dag" else "ash")
    alone = SVMClassifier(gamma=0.3, nu=nu).fit(X[own], labels)
    assert model.converged_
    assert model.score(X, LABELS) > 0.8
    assert model.dual_coef_.shape[0] == 3
    np.testing.assert_allclose(model._decisions(X)[:, 0], alone.decision_function(X), atol=1e-6)


def test_ten_digits():
    """The ten-class task of appendix H with its C, the papers' kappa_0, on smaller digits."""
    digits, labels = load_digits(return_X_y=True)
    digits, labels = digits[:600] / 8.0 - 1.0, labels[:600]
    train, test = slice(0, 300), slice(300, 600)
    settings = {"loss": "trigonometric", "C": 15.0, "gamma": 0.04}
    ours = SVMClassifier(**settings).fit(digits[train], labels[train])
    theirs = SVC(C=15.0, gamma=0.04).fit(digits[train], labels[train])
    assert ours.dual_coef_.shape[0] == 10
    assert ours.converged_
    assert ours.score(digits[train], labels[train]) == 1.0
    error, reference = (1.0 - m.score(digits[test], labels[test]) for m in (ours, theirs))
    assert error < reference + 0.03  # two standard errors
