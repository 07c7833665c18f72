"""Rows that stand several times, and weights that say the same."""

import numpy as np
import pymc as pm
import pytest

from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from pymc_bsvm.estimators.repeats import merged
from pymc_bsvm.estimators.scale import Scale

RNG = np.random.default_rng(2)
N = 110  # twice that is more than the rows on which starts are compared
X = np.column_stack([RNG.uniform(-3.0, 3.0, N), np.zeros(N)])
Y = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=N)
TARGETS = {BayesianSVR: Y, BayesianSVC: Y + 0.3 * RNG.normal(size=N) > 0.0}


def test_merged_rows_keep_their_order_and_their_weight():
    data = np.array([[3.0], [1.0], [3.0], [2.0], [1.0], [3.0]])
    found = merged(data, np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert found is not None
    assert found.rows.tolist() == [0, 1, 3]
    assert found.weight.tolist() == [10.0, 7.0, 4.0]
    assert found.pair.tolist() == [0, 2]
    assert merged(data[:2], None) is None


def test_the_scale_is_the_same_to_the_last_digit():
    whole = Scale.of(np.vstack([X, X]), None)
    weighted = Scale.of(X, np.full(N, 2.0))
    np.testing.assert_array_equal(whole.centre, weighted.centre)
    np.testing.assert_array_equal(whole.spread, weighted.spread)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("repeat", [lambda a: np.concatenate([a, a]), lambda a: np.repeat(a, 2, 0)])
def test_repeated_rows_and_equal_weights_end_at_the_same_optimum(kind, repeat):
    """The searches are the same number by number, so that nothing but rounding is left."""
    y = TARGETS[kind]
    weighted = kind(random_state=0).fit(X, y, np.full(N, 2.0))
    repeated = kind(random_state=0).fit(repeat(X), repeat(y))
    [one], [other] = weighted.hyperparameters_, repeated.hyperparameters_
    for name in one:
        np.testing.assert_allclose(other[name], one[name], rtol=1e-12)
    assert repeated.log_evidence_ == pytest.approx(weighted.log_evidence_, abs=1e-4)
    np.testing.assert_allclose(repeated.predict(X[:9]), weighted.predict(X[:9]), atol=1e-5)
    assert np.unique(repeated.support_).size == repeated.support_.size > weighted.support_.size


def test_some_rows_twice():
    """Half of the rows, twice: the same as a weight of two for them."""
    y, weight = Y, np.where(np.arange(N) < N // 2, 2.0, 1.0)
    weighted = BayesianSVR(random_state=0).fit(X, y, weight)
    rows = np.r_[np.arange(N), np.arange(N // 2)]
    repeated = BayesianSVR(random_state=0).fit(X[rows], y[rows])
    assert repeated.log_evidence_ == pytest.approx(weighted.log_evidence_, abs=1e-4)


def test_with_next_to_no_noise_rounding_is_left():
    """The searches are the same; but the noise is as narrow as it may be.

    There Laplace's curvature is that of residuals that a gap of 1e-5 nats leaves unknown by a
    hundredth of their own spread, which is some tenths of a nat over all rows.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (60, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_t(3, 60)
    weighted = BayesianSVR(random_state=0).fit(X, y, np.full(60, 2.0))
    repeated = BayesianSVR(random_state=0).fit(np.vstack([X, X]), np.r_[y, y])
    [one], [other] = weighted.hyperparameters_, repeated.hyperparameters_
    assert one["epsilon"] == other["epsilon"] == pytest.approx(3e-6 * y.std(), rel=1e-9)
    np.testing.assert_allclose(other["ls"], one["ls"], rtol=1e-9)
    assert repeated.log_evidence_ == pytest.approx(weighted.log_evidence_, abs=2.0)


def test_white_noise_tells_repetitions_apart():
    """Two rows that differ in the function itself are no row of weight two."""
    cov = pm.gp.cov.ExpQuad(2, ls=1.0) + pm.gp.cov.WhiteNoise(0.5)
    rows = np.r_[np.arange(20), np.arange(20)]
    model = BayesianSVR(cov, tol=1.0, random_state=0).fit(X[rows], Y[rows])
    assert model.choices_.rows.tolist() == [40] * len(model.choices_)
    plain = BayesianSVR(tol=1.0, random_state=0).fit(X[rows], Y[rows])
    assert plain.choices_.rows.tolist() == [20] * len(plain.choices_)
