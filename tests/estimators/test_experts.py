"""How rows are dealt out and predictions put together, against the papers' formulas by hand."""

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.estimators.experts import Part, SumOfEvidences, calibration, combine, partition
from pymc_bsvm.estimators.kernels import RBF
from pymc_bsvm.estimators.likelihood import silf_likelihood
from pymc_bsvm.estimators.machine import Blueprint
from tests.solvers.problems import rbf

VALUES = np.array([8.0, 0.1, 1.2, 0.7])
BLUEPRINT = Blueprint(RBF(), silf_likelihood(0.3), 5.0, 1)


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)


def sum_of(parts=3):
    X, y = data()
    return SumOfEvidences(
        BLUEPRINT, [Part(X[k::parts], y[k::parts], None) for k in range(parts)], None
    )


# ---- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["random", "clustered"])
def test_parts_are_all_rows_once_and_of_one_size(how):
    X = np.random.default_rng(0).normal(size=(500, 2))
    parts = partition(X, 80, how, np.random.default_rng(1))
    assert len(parts) == 6
    assert {part.size for part in parts} <= {83, 84}
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(500))


def test_clusters_are_compact():
    X = np.random.default_rng(0).uniform(size=(2000, 2))
    spread = {
        how: np.mean(
            [X[p].var(axis=0).sum() for p in partition(X, 200, how, np.random.default_rng(0))]
        )
        for how in ("random", "clustered")
    }
    assert spread["clustered"] < 0.3 * spread["random"]


# ---- the sum ------------------------------------------------------------------------------------


def test_value_is_the_sum_of_the_experts_evidences():
    X, y = data()
    together, total = sum_of(), 0.0
    loss = losses.SILF(8.0, 0.1, 0.3)
    for k in range(3):
        K = rbf(X[k::3], 1.2**2, 1.0 / 0.7**2) + 5.0
        total += laplace_evidence(K, y[k::3], loss, ramp_width=1.0).log_evidence
    value, _ = together(np.log(VALUES))
    assert value == pytest.approx(total, abs=1e-8)
    assert together.evaluations == 1
    assert together.log_evidence == value


def test_gradient_of_the_sum():
    together, x = sum_of(), np.log(VALUES)
    _, gradient = together(x)
    for k in range(4):
        step = 1e-6 * np.eye(4)[k]
        slope = (together(x + step)[0] - together(x - step)[0]) / 2e-6
        assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=1e-3)


# ---- products -----------------------------------------------------------------------------------


def test_products_by_hand():
    """(12)-(14) of Deisenroth and Ng, row by row."""
    experts = sum_of().machines(VALUES)
    X = np.array([[-1.5], [0.1], [30.0]])
    moments = [expert.moments(X) for expert in experts]
    prior = 1.2**2 + 5.0
    got = {how: combine(experts, X, how, 2.0) for how in ("rbcm", "gpoe")}
    for i in range(2):
        m = np.array([mean[i] for mean, _ in moments])
        v = np.array([variance[i] for _, variance in moments])
        b = 0.5 * (np.log(prior) - np.log(v))
        precision = (b / v).sum() + (1.0 - b.sum()) / prior
        assert got["rbcm"][0][i] == pytest.approx((b * m / v).sum() / precision)
        assert got["rbcm"][1][i] == pytest.approx(2.0 / precision)
        precision = (b / v).sum() / b.sum()
        assert got["gpoe"][0][i] == pytest.approx((b * m / v).sum() / b.sum() / precision)
        assert got["gpoe"][1][i] == pytest.approx(2.0 / precision)


def test_far_from_the_data_the_prior_comes_back():
    """Without an offset nothing is known there, and no product may be narrower than the prior."""
    X, y = data()
    bare = Blueprint(RBF(), silf_likelihood(0.3), 0.0, 1)
    experts = SumOfEvidences(bare, [Part(X[k::3], y[k::3], None) for k in range(3)], None)
    for how in ("rbcm", "gpoe"):
        mean, variance = combine(experts.machines(VALUES), np.array([[50.0]]), how)
        assert mean[0] == pytest.approx(0.0, abs=1e-12)
        assert variance[0] == pytest.approx(1.2**2, rel=1e-9)


def test_one_expert_is_itself():
    [expert] = sum_of(1).machines(VALUES)
    X = np.linspace(-2.0, 2.0, 5)[:, None]
    for how in ("rbcm", "gpoe"):
        np.testing.assert_array_equal(combine([expert], X, how), expert.moments(X))
        mean, variance = combine([expert], X, how, 3.0)
        np.testing.assert_array_equal(mean, expert.moments(X)[0])
        np.testing.assert_allclose(variance, 3.0 * expert.moments(X)[1], rtol=1e-15)


# ---- calibration --------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.2, 1.0, 6.0])
def test_calibration_finds_the_scale(factor):
    """Latent values spread by a known multiple of what is claimed, under little noise."""
    rng = np.random.default_rng(0)
    variance = rng.uniform(0.5, 2.0, 4000)
    loss = losses.SILF(100.0, 0.01, 0.3)
    y = np.sqrt(factor * variance) * rng.normal(size=4000) + loss.quantile(rng.random(4000))
    got = calibration(loss, np.zeros(4000), variance, y)
    assert got == pytest.approx(factor, rel=0.06)
    assert stats.chi2(4000).sf((y**2 / (got * variance + loss.variance())).sum()) > 1e-3


def test_a_product_of_precisions_is_never_made_narrower():
    """Where targets are nearer than claimed, only the generalised product says so."""
    rng = np.random.default_rng(0)
    loss = losses.SILF(100.0, 0.01, 0.3)
    y = 0.3 * rng.normal(size=500) + loss.quantile(rng.random(500))
    claimed = np.zeros(500), np.ones(500), y
    assert calibration(loss, *claimed, "rbcm") == pytest.approx(1.0, abs=1e-4)
    assert calibration(loss, *claimed, "gpoe") == pytest.approx(0.09, rel=0.2)
