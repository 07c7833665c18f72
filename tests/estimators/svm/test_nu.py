"""The nu forms against libsvm, and what nu means."""

import numpy as np
import pytest
from sklearn.svm import SVC, NuSVC, NuSVR

from pymc_bsvm.estimators import SVMClassifier, SVMOneClass, SVMRegressor
from tests.estimators.svm import problems
from tests.refusal import refused

X, Y, LABELS, WEIGHT = problems.rows(50)
SIGNS = np.where(LABELS == "yes", 1.0, -1.0)
K = problems.rbf(X, X, 0.3)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_regression(nu):
    C, mass = 3.0, nu * 3.0 * WEIGHT.sum()
    ours = SVMRegressor(gamma=0.3, C=C, nu=nu).fit(X, Y, WEIGHT)
    theirs = NuSVR(gamma=0.3, C=C, nu=nu, tol=1e-7).fit(X, Y, WEIGHT)
    reached = []
    for model, shape in ((ours, None), (theirs, 0)):
        a = problems.dual_of(model, Y.size, shape)
        residual = np.abs(Y - K @ a - model.intercept_)
        levels = np.append(residual, 0.0)  # where the objective bends in the level
        excess = np.maximum(residual - levels[:, None], 0.0)
        reached.append((mass * levels + C * excess @ WEIGHT).min() + 0.5 * a @ K @ a)
    assert ours.objective_ == pytest.approx(reached[0], rel=1e-8)
    assert ours.objective_ <= reached[1] * (1.0 + 1e-9)
    assert ours.converged_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    a = problems.dual_of(ours, Y.size)
    assert np.abs(a).sum() == pytest.approx(mass, rel=1e-12)
    outside = np.abs(Y - ours.predict(X)) > ours.epsilon_ * (1.0 + 1e-6)
    assert WEIGHT[outside].sum() <= nu * WEIGHT.sum() <= WEIGHT[ours.support_].sum()
    given = SVMRegressor(gamma=0.3, C=C, epsilon=ours.epsilon_).fit(X, Y, WEIGHT)
    assert given.objective_ + mass * ours.epsilon_ == pytest.approx(ours.objective_, rel=1e-7)


def test_with_nu_one_there_is_no_tube():
    model = SVMRegressor(gamma=0.3, C=3.0, nu=1.0).fit(X, Y)
    alone = SVMRegressor(gamma=0.3, C=3.0, loss="laplace").fit(X, Y)
    assert model.epsilon_ == 0.0
    assert model.objective_ == pytest.approx(alone.objective_, rel=1e-7)


@pytest.mark.parametrize("nu", [0.2, 0.6])
def test_classification(nu):
    ours = SVMClassifier(gamma=0.3, nu=nu).fit(X, LABELS, WEIGHT)
    theirs = NuSVC(gamma=0.3, nu=nu, tol=1e-8).fit(X, LABELS, WEIGHT)
    assert ours.converged_
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    form = []
    for model in (theirs, ours):
        a = problems.dual_of(model, Y.size, 0)
        C = np.abs(a / WEIGHT).max()  # that of bound support vectors, one divided by the margin
        form.append(0.5 * a @ K @ a / C**2)
    assert form[1] <= form[0] * (1.0 + 1e-8)  # what the dual minimises
    assert form[1] == pytest.approx(form[0], rel=1e-6)
    assert np.abs(a).sum() == pytest.approx(nu * C * WEIGHT.sum(), rel=1e-9)
    given = SVC(gamma=0.3, C=C, tol=1e-7).fit(X, LABELS, WEIGHT)
    np.testing.assert_allclose(ours.decision_function(X), given.decision_function(X), atol=1e-3)


def test_what_no_function_can_reach_is_refused():
    few = np.where(np.arange(Y.size) < 5, 1, 0)
    with refused(ValueError, "nu must be at most 0.2", "0.5"):
        SVMClassifier(nu=0.5).fit(X, few)
    noise = np.random.default_rng(1).integers(2, size=Y.size)
    with refused(ValueError, "nu = 0.05"):
        SVMClassifier("linear", nu=0.05).fit(X, noise)
    with refused(ValueError, "no function but a constant", "same mean"):
        SVMClassifier("linear", nu=0.5).fit(np.ones((4, 1)), [0, 1, 0, 1])
    with refused(ValueError, "no function but zero", "the mean zero"):
        SVMOneClass("linear").fit((X - X.mean(axis=0)) / X.std(axis=0))
    with refused(ValueError, "nu", "1.5"):
        SVMRegressor(nu=1.5).fit(X, Y)


def test_a_path_has_no_nu_that_sets_c():
    with refused(ValueError, "values of C", "nu = 0.5"):
        SVMClassifier(nu=0.5).path(X, LABELS, [1.0, 2.0])
    one, two = SVMRegressor(gamma=0.3, nu=0.5).path(X, Y, [0.1, 3.0], WEIGHT)
    alone = SVMRegressor(gamma=0.3, nu=0.5, C=3.0).fit(X, Y, WEIGHT)
    assert two.objective_ == pytest.approx(alone.objective_, rel=1e-7)
    assert one.objective_ < two.objective_
