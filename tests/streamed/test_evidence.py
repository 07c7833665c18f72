"""The evidence on inducing points, against the dense evidence and formulas of papers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pymc_bsvm import laplace_evidence, losses
from pymc_bsvm.streamed.evidence import inducing_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows
from tests.streamed.problems import LOSSES, VALUES, Gaussian, problem, rows

SPREAD = np.array([1.3, 0.25, 0.25])  # length-scales at which the covariance is well conditioned


def name(loss):
    return type(loss).__name__


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("offset", [0.0, 0.7])
@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_all_rows_as_inducing_points_are_the_dense_evidence(loss, offset, tau):
    X, y, weight = rows(loss, n=40)
    features = Features.at(Gaussian(), SPREAD, X, offset, jitter=0.0)
    passes = Passes(ArrayRows(X, y, weight, size=16))
    found = inducing_evidence(passes, features, loss, tau=tau, tol=1e-18)
    K = Gaussian().matrix(SPREAD, X) + offset
    dense = laplace_evidence(K, y, loss, sample_weight=weight)
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)
    for term in ("fit", "penalty", "log_det", "log_normalizer"):
        assert found.terms[term] == pytest.approx(dense.terms[term], abs=1e-7)
    assert found.left_out == pytest.approx(0.0, abs=1e-10)


def low_rank(features, X):
    """Return the covariance that inducing points carry, with that of the offset."""
    Z, values = features.Z, features.values
    K_ZZ = Gaussian().matrix(values, Z) + features.jitter * values[0] ** 2 * np.eye(Z.shape[0])
    cross = Gaussian().matrix(values, X, Z)
    return cross @ np.linalg.solve(K_ZZ, cross.T) + features.offset


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_gaussian_noise_gives_the_bound_of_titsias_and_dtc(tau):
    loss = losses.Gaussian(sigma=0.4)
    passes, features = problem(loss, weighted=False)
    X, y = passes.rows.X, passes.rows.y
    Q = low_rank(features, X)
    exact = Gaussian().diagonal(VALUES, X) + features.offset
    log_density = multivariate_normal(np.zeros(y.size), Q + 0.4**2 * np.eye(y.size)).logpdf(y)
    bound = log_density - 0.5 * tau * (exact - Q.diagonal()).sum() / 0.4**2  # (9) of [Tit09]
    found = inducing_evidence(passes, features, loss, tau=tau, tol=1e-14)
    assert found.log_evidence == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_few_points_are_the_dense_evidence_of_their_covariance(loss):
    passes, features = problem(loss)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    dense = laplace_evidence(low_rank(features, X), y, loss, sample_weight=weight)
    found = inducing_evidence(passes, features, loss, tau=0.0, tol=1e-15)
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    left = Gaussian().diagonal(VALUES, X) + features.offset - low_rank(features, X).diagonal()
    W = weight * loss.smooth_curvature(y, dense.solution.f)
    found = inducing_evidence(passes, features, loss, tau=1.0, tol=1e-15)
    assert found.log_evidence == pytest.approx(dense.log_evidence - 0.5 * W @ left, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_a_weight_stands_for_repeated_rows_and_blocks_do_not_matter(loss):
    X, y, _ = rows(loss)
    count = np.random.default_rng(1).integers(0, 4, size=y.size)
    features = problem(loss)[1]
    weighted = Passes(ArrayRows(X, y, count.astype(float), size=7))
    repeated = Passes(ArrayRows(np.repeat(X, count, axis=0), np.repeat(y, count)))
    one, two = (inducing_evidence(p, features, loss, tol=1e-14) for p in (weighted, repeated))
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-7)
    np.testing.assert_allclose(one.posterior.w, two.posterior.w, atol=1e-6)


def test_steps_instead_of_ramps_are_the_exact_curvature():
    loss = LOSSES[0]
    passes, features = problem(loss)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    dense = laplace_evidence(low_rank(features, X), y, loss, "exact", sample_weight=weight)
    found = inducing_evidence(passes, features, loss, tau=0.0, ramp_width=0.0, tol=1e-15)
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)


def test_a_loss_that_is_no_likelihood_is_refused():
    passes, features = problem(losses.Logistic())
    with pytest.raises(ValueError, match="not a negative log likelihood"):
        inducing_evidence(passes, features, losses.SoftMarginL2(C=1.0))
