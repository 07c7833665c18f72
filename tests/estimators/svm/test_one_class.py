"""The one-class machine against libsvm."""

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from pymc_bsvm.estimators import SVMOneClass
from tests.estimators.svm import problems

X, _, _, WEIGHT = problems.rows(80)
NEW = problems.rows(30, seed=1)[0]


@pytest.mark.parametrize("nu", [0.07, 0.5, 1.0])
def test_against_libsvm(nu):
    K = problems.rbf(X, X, 0.3)
    ours = SVMOneClass(gamma=0.3, nu=nu).fit(X, sample_weight=WEIGHT)
    a, mass = problems.dual_of(ours, WEIGHT.size), nu * WEIGHT.sum()
    f, rho = K @ a, ours.offset_
    primal = WEIGHT @ np.maximum(rho - f, 0.0) + 0.5 * a @ K @ a - rho * mass
    assert ours.objective_ == pytest.approx(primal, rel=1e-8)
    assert np.all((a >= 0.0) & (a <= WEIGHT * (1.0 + 1e-12)))
    assert a.sum() == pytest.approx(mass, rel=1e-12)
    assert primal + 0.5 * a @ K @ a == pytest.approx(0.0, abs=2e-8 * abs(primal))
    assert WEIGHT[ours.decision_function(X) < -1e-6].sum() <= mass
    if nu < 1.0:  # libsvm finds no level for nu = 1
        theirs = OneClassSVM(gamma=0.3, nu=nu, tol=1e-8).fit(X, sample_weight=WEIGHT)
        b = problems.dual_of(theirs, WEIGHT.size, 0)
        assert 0.5 * a @ K @ a <= 0.5 * b @ K @ b * (1.0 + 1e-8)  # what the dual minimises
        np.testing.assert_allclose(
            ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-4
        )
        np.testing.assert_allclose(ours.score_samples(NEW), theirs.score_samples(NEW), atol=1e-4)
