"""Expectation propagation on inducing points, against the dense one and differences."""

import pickle

import joblib
import numpy as np
import pytest

from pymc_bsvm import ep_evidence, losses
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.ep import PropagationError, propagated_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import Look
from pymc_bsvm.streamed.rows import ArrayRows
from pymc_bsvm.streamed.sites import cavity_beside
from tests.streamed.problems import VALUES, Gaussian, problem, rows
from tests.streamed.test_evidence import SPREAD, low_rank, name

LOSSES = (
    losses.SILF(C=6.0, epsilon=0.2, beta=0.4),
    losses.EpsilonInsensitive(C=6.0, epsilon=0.2),
    losses.Laplace(C=4.0),
    losses.Trigonometric(delta=1.3),
    losses.Logistic(),
    losses.Probit(),
)
ALL = pytest.mark.parametrize("loss", LOSSES, ids=name)
STEP = 1e-4  # of logarithms: its square is far below the tolerances
TIGHT = 1e-9  # of the residual: rounding in the moments of a row is some hundred times less


def whole(loss, n=30):
    """Return a problem with inducing points at all rows, and its covariance."""
    X, y, weight = rows(loss, n=n)
    features = Features.at(Gaussian(), SPREAD, X, 0.7, jitter=0.0)
    passes = Passes(ArrayRows(X, y, np.maximum(weight, 1.0), size=13))
    return passes, features, Gaussian().matrix(SPREAD, X) + 0.7


@ALL
def test_all_rows_as_inducing_points_are_the_dense_evidence(loss):
    passes, features, K = whole(loss)
    found = propagated_evidence(passes, features, loss, tol=TIGHT)
    data = passes.rows
    dense = ep_evidence(K, data.y, loss, sample_weight=data.weight, tol=TIGHT)
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-7)
    np.testing.assert_allclose(found.log_predictive, dense.log_predictive, atol=1e-7)
    of_K = Gaussian().slopes(SPREAD, data.X, dense.gradient.K)
    np.testing.assert_allclose(found.gradient.kernel, of_K, atol=1e-6)
    np.testing.assert_allclose(found.gradient.parameters, dense.gradient.parameters, atol=1e-6)
    mean, variance = found.posterior.moments(data.X)
    np.testing.assert_allclose(mean, dense.mean, atol=1e-6)
    np.testing.assert_allclose(variance, dense.variance, atol=1e-6)


def left_out(features, X, Q):
    return Gaussian().diagonal(features.values, X) + features.offset - Q.diagonal()


@ALL
def test_few_points_are_the_dense_evidence_of_a_covariance_with_the_whole_variances(loss):
    passes, features = problem(loss, n=40, weighted=False, size=17)
    X, y = passes.rows.X, passes.rows.y
    Q = low_rank(features, X)
    K = Q + np.diag(left_out(features, X, Q))  # (24) of [QR05]
    dense = ep_evidence(K, y, loss, tol=TIGHT)
    found = propagated_evidence(passes, features, loss, tol=TIGHT)
    assert found.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    np.testing.assert_allclose(found.log_predictive, dense.log_predictive, atol=1e-6)


@pytest.mark.parametrize("offset", [0.0, 0.7])
@ALL
def test_gradient_is_that_of_differences(loss, offset):
    passes, features = problem(loss, n=40, weighted=False, offset=offset)
    logs, count = np.log([*VALUES, *loss.fields.values()]), VALUES.size

    def evidence(x, start=None):
        here = Features.at(Gaussian(), np.exp(x[:count]), features.Z, offset, 1e-6)
        changed = type(loss)(*np.exp(x[count:]))
        return propagated_evidence(passes, here, changed, start=start, tol=TIGHT)

    here = evidence(logs)
    own = np.array(here.gradient.parameters) * list(loss.fields.values())
    expected = []
    for e in STEP * np.eye(logs.size):
        high, low = (evidence(logs + s * e, here.start).log_evidence for s in (1.0, -1.0))
        expected.append((high - low) / (2.0 * STEP))
    np.testing.assert_allclose(np.append(here.gradient.kernel, own), expected, rtol=1e-5, atol=1e-5)


@ALL
def test_a_weight_stands_for_repeated_rows_and_blocks_do_not_matter(loss):
    X, y, _ = rows(loss, n=30)
    count = np.random.default_rng(1).integers(0, 4, size=y.size)
    features = problem(loss)[1]
    weighted = Passes(ArrayRows(X, y, count.astype(float), size=7))
    repeated = Passes(ArrayRows(np.repeat(X, count, axis=0), np.repeat(y, count)))
    one, two = (propagated_evidence(p, features, loss, tol=TIGHT) for p in (weighted, repeated))
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-7)
    np.testing.assert_allclose(one.posterior.w, two.posterior.w, atol=1e-6)
    np.testing.assert_allclose(one.gradient.kernel, two.gradient.kernel, atol=1e-6)
    np.testing.assert_allclose(one.gradient.parameters, two.gradient.parameters, atol=1e-6)
    (dual, _), (each, _) = one.duals(), two.duals()
    ends = np.cumsum(count)
    summed = [each[end - k : end].sum() for end, k in zip(ends, count, strict=True)]
    np.testing.assert_allclose(dual, summed, atol=1e-6)


def test_one_process_and_two_return_the_same_bits():
    loss = LOSSES[3]
    passes, features = problem(loss, n=60, size=11)
    found = []
    for jobs in (1, 2):
        again = Passes(passes.rows, jobs)
        with joblib.parallel_config(backend="threading"):
            evidence = propagated_evidence(again, features, loss)
            found.append([evidence.log_evidence, *evidence.gradient.kernel, *evidence.posterior.w])
    assert found[0] == found[1]


def test_neighbours_and_fewer_rows_are_starts_that_save_sweeps():
    loss = LOSSES[3]
    passes, features = problem(loss, n=60)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    nearby = Features.at(Gaussian(), 1.02 * VALUES, features.Z + 0.01, features.offset)
    near = propagated_evidence(passes, nearby, loss)
    fewer = propagated_evidence(Passes(ArrayRows(X[:50], y[:50], weight[:50])), nearby, loss)
    cold = propagated_evidence(passes, features, loss)
    warm = propagated_evidence(passes, features, loss, start=near.start)
    begun = propagated_evidence(passes, features, loss, begin=fewer.posterior)
    assert warm.n_iter < cold.n_iter
    for other in (warm, begun):
        assert other.log_evidence == pytest.approx(cold.log_evidence, abs=1e-8)


def test_too_few_sweeps_are_an_error_that_holds_what_was_found():
    loss = LOSSES[0]
    passes, features = problem(loss)
    with pytest.raises(PropagationError, match=r"The residual is .* Raise max_iter") as caught:
        propagated_evidence(passes, features, loss, max_iter=5)
    found = pickle.loads(pickle.dumps(caught.value)).evidence
    assert found.n_iter == 5
    assert 1e-6 < found.residual < 0.1
    full = propagated_evidence(passes, features, loss)
    assert found.log_evidence == pytest.approx(full.log_evidence, abs=0.1)


def test_a_row_that_counts_less_than_once_may_leave_no_cavity():
    loss = losses.Gaussian(sigma=0.01)
    X, y, _ = rows(loss, n=5)
    features = Features.at(Gaussian(), VALUES, X)
    with pytest.raises(PropagationError, match="no proper Gaussian"):
        propagated_evidence(Passes(ArrayRows(X, y, np.full(5, 0.1))), features, loss)


def test_a_row_of_no_weight_changes_nothing_wherever_its_target_is():
    loss = losses.Gaussian(sigma=0.4)
    X, y, weight = rows(loss, n=20)
    features = problem(loss)[1]
    weight = np.maximum(weight, 1.0)
    found = propagated_evidence(Passes(ArrayRows(X, y, weight)), features, loss, tol=TIGHT)
    more = ArrayRows(np.vstack([X, X[:1]]), np.append(y, 1e200), np.append(weight, 0.0))
    other = propagated_evidence(Passes(more), features, loss, tol=TIGHT)
    assert other.log_evidence == pytest.approx(found.log_evidence, abs=1e-9)
    np.testing.assert_allclose(other.gradient.kernel, found.gradient.kernel, atol=1e-7)
    np.testing.assert_allclose(other.gradient.parameters, found.gradient.parameters, atol=1e-7)


def test_parameters_by_row_are_refused_from_any_start():
    X, y, _ = rows(losses.Gaussian(sigma=0.4), n=5)
    features = Features.at(Gaussian(), VALUES, X)
    passes = Passes(ArrayRows(X, y))
    start = propagated_evidence(passes, features, losses.Gaussian(sigma=0.4)).start
    for loss in (losses.Gaussian(sigma=np.full(5, 0.4)), losses.Laplace(C=np.full(5, 4.0))):
        for begun in (None, start):
            with pytest.raises(ValueError, match=r"has parameters by row.*\. Pass one"):
                propagated_evidence(passes, features, loss, start=begun)


def test_a_loss_that_is_no_likelihood_is_refused():
    passes, features = problem(losses.Logistic())
    with pytest.raises(ValueError, match="not a negative log likelihood"):
        propagated_evidence(passes, features, losses.SoftMarginL2(C=1.0))


@ALL
def test_rows_without_their_own_observation_are_known_from_the_posterior_alone(loss):
    passes, features = problem(loss)
    X, y, weight = passes.rows.X, passes.rows.y, passes.rows.weight
    weight = passes.rows.weight = np.maximum(weight, 1.0)
    found = propagated_evidence(passes, features, loss, tol=TIGHT)
    look = found.posterior.look(X)
    cavity, settled = cavity_beside(loss, Block(X, y, weight), look)
    assert settled.all()
    log_z = loss.tilted(y, cavity.mean, cavity.variance).log_z
    np.testing.assert_allclose(log_z, found.log_predictive, atol=1e-5)


def seen(mean, known, left=0.01):
    """Return what a posterior says of rows."""
    mean, known = np.asarray(mean), np.asarray(known)
    nothing = np.zeros((mean.size, 0))
    return Look(mean, known, np.full(mean.shape, left), nothing, nothing.T)


def test_rows_that_say_most_of_what_is_known_of_them_settle():
    """With Gaussian noise s² and a cavity N(c, v + d), the moments are those of regression."""
    sigma, left, v, c, y = 0.3, 0.01, np.array([0.1, 0.5, 2.0]), np.array([0.0, 1.0, -1.0]), 0.5
    total = v + left + sigma**2
    look = seen(c + v * (y - c) / total, v - v**2 / total)
    block = Block(np.zeros((3, 1)), np.full(3, y), np.ones(3))
    cavity, settled = cavity_beside(losses.Gaussian(sigma=sigma), block, look)
    assert settled.all()
    np.testing.assert_allclose(cavity.known, v, rtol=1e-5)
    np.testing.assert_allclose(cavity.mean, c, atol=1e-5)


def test_a_row_without_a_cavity_is_told_and_one_of_no_weight_has_that_of_all():
    """Half a row made the first variance, so that a whole one is more than is known of it."""
    loss = losses.Gaussian(sigma=0.1)
    block = Block(np.zeros((3, 1)), np.array([0.0, 0.2, 1e200]), np.array([0.5, 1.0, 0.0]))
    look = seen([0.1, 0.1, 0.1], [0.03, 0.001, 0.001], left=0.0)
    cavity, settled = cavity_beside(loss, block, look)
    assert settled.tolist() == [False, True, True]
    assert np.isfinite(cavity.mean).all()
    assert np.isfinite(cavity.variance).all()
    assert cavity.known[1] == pytest.approx(1.0 / (1.0 / 0.001 - 1.0 / 0.01), rel=1e-5)
    assert (cavity.mean[2], cavity.known[2]) == (0.1, 0.001)
