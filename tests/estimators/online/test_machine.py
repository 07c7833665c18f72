"""One pass and several over the rows, against dense matrices and expectation propagation."""

import dataclasses

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.estimators import OnlineSVC, OnlineSVR
from tests.estimators.cases import rbf
from tests.estimators.online import cases

EVERY = {"max_basis": None, "novelty": 1e-8}  # each row is a basis vector
LOSSES = pytest.mark.parametrize("name", cases.LIKELIHOODS)


@pytest.fixture(scope="module")
def data():
    return cases.rows()


def model_of(likelihood, **settings):
    kind = OnlineSVR if likelihood.loss.task == "regression" else OnlineSVC
    return kind(loss=likelihood.loss, **cases.KERNEL, **settings)


def latent(model, X):
    """Return means and variances of the latent values."""
    (machine,) = model._machines
    return machine.moments(X)


# ---- one pass -----------------------------------------------------------------------------------


@LOSSES
@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_one_pass_is_that_of_dense_matrices(name, offset, data):
    likelihood = cases.LIKELIHOODS[name]
    y, every = data.targets(likelihood), np.vstack([data.X, data.new])
    expected = cases.dense(cases.covariance(every, every, offset), y, likelihood)
    model = model_of(likelihood, offset=offset, **EVERY).fit(data.X, y)
    assert len(model.basis_vectors_) == len(data.X)
    mean, variance = latent(model, every)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(variance, expected.covariance.diagonal(), atol=1e-10)
    assert model.sequential_log_evidence_ == pytest.approx(expected.score, abs=1e-10)
    assert model.log_evidence_ == model.sequential_log_evidence_
    cross = cases.covariance(every, model.basis_vectors_)
    np.testing.assert_allclose(
        cross @ model.dual_coef_ + model.intercept_, expected.mean, atol=1e-10
    )


def test_one_pass_with_the_squared_loss_is_exact(data):
    """Section 2.2 of [RW06]."""
    offset, noise = 3.0, 1.0 / cases.C
    K = cases.covariance(data.X, data.X, offset) + noise * np.eye(len(data.X))
    cross = cases.covariance(data.X, data.new, offset)
    prior = cases.ETA**2 + offset
    model = model_of(cases.LIKELIHOODS["squared"], offset=offset, **EVERY).fit(data.X, data.y)
    mean, std = model.predict(data.new, return_std=True)
    np.testing.assert_allclose(mean, cross.T @ np.linalg.solve(K, data.y), atol=1e-10)
    variance = prior - np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross)) + noise
    np.testing.assert_allclose(std**2, variance, atol=1e-10)
    log_det = np.linalg.slogdet(2.0 * np.pi * K)[1]
    evidence = -0.5 * (data.y @ np.linalg.solve(K, data.y) + log_det)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-10)


@pytest.mark.parametrize("name", ["silf", "trigonometric"])
def test_batches_are_one_pass(name, data):
    likelihood = cases.LIKELIHOODS[name]
    y = data.targets(likelihood)
    classes = {"classes": [-1.0, 1.0]} if likelihood.loss.task == "classification" else {}
    whole = model_of(likelihood, max_basis=8).fit(data.X, y)
    parts = model_of(likelihood, max_basis=8)
    for rows in (slice(0, 1), slice(1, 15), slice(15, None)):
        parts.partial_fit(data.X[rows], y[rows], **classes)
    np.testing.assert_array_equal(parts.basis_vectors_, whole.basis_vectors_)
    np.testing.assert_array_equal(latent(parts, data.new), latent(whole, data.new))
    assert parts.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-14)
    parts.fit(data.X, y)  # forgets
    assert parts.log_evidence_ == whole.log_evidence_


def test_later_batches_add_their_log_probability(data):
    likelihood = cases.LIKELIHOODS["silf"]
    first, then = slice(0, 15), slice(15, 16)
    model = model_of(likelihood, n_sweeps=100).fit(data.X[first], data.y[first])
    before, score = model.log_evidence_, model.sequential_log_evidence_
    gain = float(model.log_predictive_density(data.X[then], data.y[then])[0])
    model.partial_fit(data.X[then], data.y[then])
    assert model.log_evidence_ - before == pytest.approx(gain, abs=1e-10)
    assert model.sequential_log_evidence_ - score == pytest.approx(gain, abs=1e-10)
    assert np.isnan(model.residual_)
    assert (model.n_iter_, model.converged_) == (1, False)


# ---- sweeps -------------------------------------------------------------------------------------


@LOSSES
def test_sweeps_end_at_expectation_propagation(name, data):
    likelihood = cases.LIKELIHOODS[name]
    y, offset = data.targets(likelihood), 2.0
    settings = {"offset": offset, "n_sweeps": 200, "tol": 1e-9, **EVERY}
    model = model_of(likelihood, **settings).fit(data.X, y)
    K = cases.covariance(data.X, data.X, offset)
    expected = bsvm.ep_evidence(K, y, likelihood.loss, tol=1e-9)
    mean, variance = latent(model, data.X)
    assert model.log_evidence_ == pytest.approx(expected.log_evidence, abs=1e-6)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-6)
    np.testing.assert_allclose(variance, expected.variance, atol=1e-6)
    assert model.converged_
    assert model.residual_ <= 1e-9
    assert 1 < model.n_iter_ < 100 or name == "squared"


@pytest.mark.parametrize("name", ["silf", "probit"])
def test_few_basis_vectors_end_at_that_of_their_covariance(name, data):
    """The covariance that they carry, and on the diagonal what they leave out: (24) of [QR05]."""
    likelihood = cases.LIKELIHOODS[name]
    y, offset = data.targets(likelihood), 2.0
    settings = {"offset": offset, "n_sweeps": 200, "tol": 1e-9, "max_basis": 6}
    model = model_of(likelihood, **settings).fit(data.X, y)
    Z = model.basis_vectors_
    cross = cases.covariance(Z, data.X)
    carried = cross.T @ np.linalg.solve(cases.covariance(Z, Z), cross)
    K = carried + offset
    K[np.diag_indices_from(K)] = cases.ETA**2 + offset
    expected = bsvm.ep_evidence(K, y, likelihood.loss, tol=1e-9)
    assert len(Z) == 6
    assert model.log_evidence_ == pytest.approx(expected.log_evidence, abs=1e-6)
    full = bsvm.ep_evidence(cases.covariance(data.X, data.X, offset), y, likelihood.loss)
    assert abs(full.log_evidence - model.log_evidence_) > 0.01


def test_the_order_does_not_matter_after_sweeps(data):
    likelihood = cases.LIKELIHOODS["trigonometric"]
    order = np.random.default_rng(0).permutation(len(data.X))
    found = []
    for n_sweeps in (1, 200):
        models = [
            model_of(likelihood, n_sweeps=n_sweeps, tol=1e-9, **EVERY).fit(
                data.X[rows], data.labels[rows]
            )
            for rows in (slice(None), order)
        ]
        found.append(np.ptp([latent(model, data.new)[0] for model in models], axis=0).max())
    assert found[0] > 1e-3
    assert found[1] < 1e-7


# ---- the basis ----------------------------------------------------------------------------------


def test_a_row_that_is_known_is_no_basis_vector(data):
    likelihood = cases.LIKELIHOODS["silf"]
    twice = np.repeat(data.X, 2, axis=0)
    model = model_of(likelihood).fit(twice, np.repeat(data.y, 2))
    np.testing.assert_array_equal(model.basis_vectors_, data.X)


@pytest.mark.parametrize("name", ["silf", "trigonometric", "squared"])
@pytest.mark.parametrize("most", [1, 7])
def test_a_bounded_basis_is_that_of_dense_matrices(name, most, data):
    likelihood = cases.LIKELIHOODS[name]
    y, every = data.targets(likelihood), np.vstack([data.X, data.new])
    expected, basis = cases.bounded(cases.covariance(every, every), y, likelihood, most)
    model = model_of(likelihood, offset=0.0, novelty=1e-8, max_basis=most).fit(data.X, y)
    np.testing.assert_array_equal(model.basis_vectors_, data.X[basis])
    mean, variance = latent(model, every)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-9)
    np.testing.assert_allclose(variance, expected.covariance.diagonal(), atol=1e-9)
    assert model.log_evidence_ == pytest.approx(expected.score, abs=1e-9)


def test_a_row_that_is_known_is_projected(data):
    """A row between basis vectors changes their values and nothing else."""
    likelihood = cases.LIKELIHOODS["silf"]
    every = np.vstack([data.X, data.new])
    K = cases.covariance(every, every)
    first = cases.dense(K, data.y[:10], likelihood)
    log_z, w, r = cases.average(
        likelihood, data.y[10], *(x[10] for x in (first.mean, first.covariance.diagonal()))
    )
    along = first.covariance[:, 10]
    after = cases.Dense(first.mean + w * along, first.covariance + r * np.outer(along, along), 0.0)
    expected = cases.projected(K, after, list(range(10)))
    model = model_of(likelihood, offset=0.0).fit(data.X[:10], data.y[:10])
    (machine,) = model._machines
    model._machines = [dataclasses.replace(machine, novelty=1.0)]
    before = model.log_evidence_
    model.partial_fit(data.X[10:11], data.y[10:11])
    mean, variance = latent(model, every)
    np.testing.assert_allclose(mean, expected.mean, atol=1e-10)
    np.testing.assert_allclose(variance, expected.covariance.diagonal(), atol=1e-10)
    assert model.log_evidence_ - before == pytest.approx(log_z, abs=1e-10)


def shares(Z):
    """Return the shares of the variances of rows that all others leave."""
    return 1.0 / np.linalg.inv(cases.covariance(Z, Z)).diagonal() / cases.ETA**2


@pytest.mark.parametrize(("novelty", "some_go"), [(1e-3, False), (0.5, True)])
def test_novelty_is_the_share_of_the_variance_that_others_leave(novelty, some_go, data):
    """A row has it to become a basis vector, and a basis vector to stay one."""
    kept, gone = [0], 0
    for i in range(1, len(data.X)):
        if shares(data.X[[*kept, i]])[-1] > novelty:
            kept.append(i)
        while shares(data.X[kept]).min() < novelty:
            kept.pop(int(np.argmin(shares(data.X[kept]))))
            gone += 1
    assert (gone > 0) == some_go
    model = model_of(cases.LIKELIHOODS["silf"], novelty=novelty).fit(data.X, data.y)
    np.testing.assert_array_equal(model.basis_vectors_, data.X[kept])


def test_a_bounded_basis_keeps_its_bound_and_most_of_the_function(data):
    likelihood = cases.LIKELIHOODS["silf"]
    whole = model_of(likelihood, **EVERY).fit(data.X, data.y)
    few = model_of(likelihood, max_basis=16).fit(data.X, data.y)
    assert few.basis_vectors_.shape == (16, 2)
    given = {tuple(x) for x in data.X}
    assert {tuple(z) for z in few.basis_vectors_} < given
    off = few.predict(data.X) - whole.predict(data.X)
    assert np.sqrt(np.mean(off**2)) < 0.2 * np.std(whole.predict(data.X))


@pytest.mark.parametrize("novelty", [1e-4, 1e-8])
def test_rows_in_line_keep_their_digits(novelty):
    """Each basis vector is nearly known by those beside it, also by those that come later."""
    X = np.linspace(-10.0, 10.0, 120)[:, None]
    y, likelihood = np.sinc(X[:, 0] / np.pi), cases.LIKELIHOODS["silf"]
    K = rbf(X, X, 0.5, 1.5)
    expected = cases.dense(K, y, likelihood)
    settings = {"hyperparameters": {"eta": 0.5, "ls": 1.5}, "offset": 0.0, "max_basis": None}
    model = OnlineSVR(loss=likelihood.loss, novelty=novelty, **settings).fit(X, y)
    (machine,) = model._machines
    phi, left = machine.basis.features(X)
    np.testing.assert_allclose(phi @ phi.T, K, atol=novelty**0.5)
    assert (left <= 0.25 * novelty).all()
    assert (machine.basis.shares() >= novelty).all()
    mean, variance = machine.moments(X)
    np.testing.assert_allclose(mean, expected.mean, atol=3.0 * novelty**0.5)
    np.testing.assert_allclose(variance, expected.covariance.diagonal(), atol=novelty**0.5)
