"""Estimators with the epsilon-insensitive loss, and with the evidence of its margin."""

import numpy as np
import pytest

from pymc_bsvm import gao_evidence, losses
from pymc_bsvm.approximations import EP, Gao
from pymc_bsvm.estimators import BayesianSVR
from tests.estimators import cases

pytestmark = cases.ANY_END


@pytest.fixture(scope="module")
def data():
    return cases.line(40)


def test_the_evidence_is_that_of_the_margin():
    """After two steps: further up a row is about to leave the margin, where it is infinite."""
    data = cases.line(50)
    settings = {"loss": "epsilon_insensitive", "offset": 0.0, "max_iter": 2, "random_state": 0}
    model = BayesianSVR(approximation="gao", **settings).fit(data.X, data.y)
    assert model.approximation_ == Gao()
    h = model.hyperparameters_[0]
    assert type(model.loss_) is losses.EpsilonInsensitive
    K = h["eta"] ** 2 * np.exp(-0.5 * ((data.X - data.X.T) / h["ls"]) ** 2)
    expected = gao_evidence(K, data.y - data.y.mean(), model.loss_)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence, abs=1e-6)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(expected.posterior.a))
    new = np.linspace(-1.0, 5.0, 7)[:, None]
    cross = h["eta"] ** 2 * np.exp(-0.5 * ((data.X - new.T) / h["ls"]) ** 2)
    mean = data.y.mean() + expected.posterior.predict_mean(cross)
    np.testing.assert_allclose(model.predict(new), mean, atol=1e-5 * data.y.std())


def test_by_itself_it_takes_expectation_propagation(data):
    model = BayesianSVR(loss="epsilon_insensitive", tol=1.0, random_state=0).fit(data.X, data.y)
    assert isinstance(model.approximation_, EP)
    assert set(model.loss_.fields) == {"C", "epsilon"}


def test_what_does_not_go_together(data):
    with pytest.raises(ValueError, match="SILF is not the epsilon-insensitive loss"):
        BayesianSVR(approximation="gao").fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"Inducing points take Laplace's method or expectation"):
        BayesianSVR(loss="epsilon_insensitive", approximation="gao", inducing=5).fit(data.X, data.y)
