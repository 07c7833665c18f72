"""What a model predicts at a point of its hyperparameters, and its conditional variable."""

import tracemalloc

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases
from tests.gp.cases import POINT, UNFUSED, ard
from tests.oracle import evidence as oracle

every_loss = pytest.mark.parametrize("loss", cases.LOSSES, ids=repr)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
LABEL_POINT = {"ls": POINT["ls"]}


def dense(loss, data, jitter=0.0):
    """Return mean and covariance of the latent values at the new rows with n x n matrices."""
    K = ard(data.X, data.X, POINT["ls"]) + jitter * np.eye(len(data.X))
    y = cases.signed(data, loss)
    s = bsvm.laplace_evidence(K, y, loss).solution
    cross, prior = ard(data.X, data.new, POINT["ls"]), ard(data.new, data.new, POINT["ls"])
    return oracle.predict(K, y, loss, s.a, s.f, cross, prior)


# ---- moments ------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("curvature", ["smooth", "exact"])
@pytest.mark.parametrize("jitter", [0.0, 0.2])
def test_moments(loss, curvature, jitter, data):
    """They are those of the exact curvature, whichever is in the evidence."""
    model, gp = cases.of_loss(loss, data, curvature=curvature, jitter=jitter)
    point = cases.point_of(loss)
    mean, covariance = dense(loss, data, jitter)
    full = gp.predict(data.new, point, model=model)
    np.testing.assert_allclose(full[0], mean, **CLOSE)
    np.testing.assert_allclose(full[1], covariance, **CLOSE)
    np.testing.assert_allclose(full[1], full[1].T, rtol=0, atol=1e-14)
    diagonal = gp.predict(data.new, point, diag=True, model=model)
    np.testing.assert_allclose(diagonal[0], mean, **CLOSE)
    np.testing.assert_allclose(diagonal[1], np.diag(covariance), **CLOSE)
    with model:
        shifted = gp.predict(data.new, point, jitter=0.1)[1]
    np.testing.assert_allclose(shifted, covariance + 0.1 * np.eye(9), **CLOSE)


def test_mean_function(data):
    loss = losses.SILF(4.0, 0.25, 0.3)
    with pm.Model() as model:
        c = pm.Flat("c")
        gp = bsvm.gp.BSVR(
            mean_func=pm.gp.mean.Linear(coeffs=np.array([0.5, -0.2]), intercept=c),
            cov_func=cases.ard_cov(POINT["ls"]),
        )
        gp.marginal_likelihood("y", data.X, data.y, C=4.0, epsilon=0.25)
    K, slope = ard(data.X, data.X, POINT["ls"]), np.array([0.5, -0.2])
    m = data.X @ slope + 0.7
    a = bsvm.laplace_evidence(K, data.y, loss, m=m).solution.a
    mean, _ = gp.predict(data.new, {"c": 0.7}, diag=True, model=model)
    expected = data.new @ slope + 0.7 + ard(data.new, data.X, POINT["ls"]) @ a
    np.testing.assert_allclose(mean, expected, **CLOSE)
    far, variance = gp.predict(data.new + 100.0, {"c": 0.7}, diag=True, model=model)
    # far from the data, what is left of the covariance is the constant
    np.testing.assert_allclose(far, (data.new + 100.0) @ slope + 0.7 + 0.5 * a.sum(), **CLOSE)
    assert np.all((variance > 1.4) & (variance < 1.9))


def test_noise_is_added(data):
    model, gp = cases.regression(data.X, data.y, beta=0.5)
    noise = losses.SILF(4.0, 0.25, 0.5).variance()
    for diag in (False, True):
        _, without = gp.predict(data.new, POINT, diag=diag, model=model)
        _, with_noise = gp.predict(data.new, POINT, diag=diag, pred_noise=True, model=model)
        expected = without + (noise if diag else noise * np.eye(9))
        np.testing.assert_allclose(with_noise, expected, rtol=1e-14)


def test_no_support_vectors(data):
    """All rows in the flat zone: the prior is what is predicted."""
    model, gp = cases.regression(data.X, 0.001 * data.y)
    point = {**POINT, "epsilon": 10.0}
    mean, covariance = gp.predict(data.new, point, model=model)
    np.testing.assert_array_equal(mean, np.zeros(9))
    np.testing.assert_allclose(covariance, ard(data.new, data.new, POINT["ls"]), rtol=1e-12)
    assert gp.support_vectors(point, model=model).index.size == 0


def test_many_new_rows_in_little_memory():
    """A hundred thousand new rows, of which a matrix would take 80 GB and one block 8 MB."""
    data = cases.plane(60)
    model, gp = cases.regression(data.X, data.y)
    rng = np.random.default_rng(0)
    new = rng.uniform(-2.5, 2.5, (100_000, 2))
    new[:9] = data.new
    tracemalloc.start()
    try:
        mean, variance = gp.predict(new, POINT, diag=True, model=model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400e6
    expected = dense(losses.SILF(4.0, 0.25, 0.3), data)
    np.testing.assert_allclose(mean[:9], expected[0], **CLOSE)
    np.testing.assert_allclose(variance[:9], np.diag(expected[1]), **CLOSE)
    picked = np.array([0, 49_999, 69_903, 69_904, 69_905, 99_999])  # on both sides of blocks
    some = gp.predict(new[picked], POINT, model=model)
    np.testing.assert_allclose(mean[picked], some[0], **CLOSE)
    np.testing.assert_allclose(variance[picked], np.diag(some[1]), **CLOSE)
    assert (variance >= 0.0).all()
    assert mean.shape == variance.shape == (100_000,)


# ---- targets and labels -------------------------------------------------------------------------


def test_predictive_distribution_of_targets(data):
    model, gp = cases.regression(data.X, data.y)
    mean, covariance = dense(losses.SILF(4.0, 0.25, 0.3), data)
    loss = losses.SILF(4.0, 0.25, 0.3)
    expected = bsvm.evidence.predictive(loss, mean, np.diag(covariance))
    got = gp.predictive(data.new, POINT, model=model)
    t = np.linspace(-2.0, 2.0, 9)
    np.testing.assert_allclose(got.logpdf(t), expected.logpdf(t), rtol=1e-8)
    np.testing.assert_allclose(got.quantile(0.1), expected.quantile(0.1), rtol=1e-8, atol=1e-9)
    # by integration over the latent value
    f = mean[0] + np.sqrt(covariance[0, 0]) * np.linspace(-9.0, 9.0, 20_001)
    density = np.exp(oracle.log_normal(f, mean[0], covariance[0, 0]))
    likelihood = np.exp(-loss.value(0.3, f) - loss.log_normalizer())
    integral = np.trapezoid(density * likelihood, f)
    assert got.pdf(0.3)[0] == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize(
    "loss", [losses.Trigonometric(1.2), losses.Logistic(), losses.Probit()], ids=repr
)
def test_probabilities_of_labels(loss, data):
    model, gp = cases.of_loss(loss, data)
    point = cases.point_of(loss)
    mean, covariance = dense(loss, data)
    probability = gp.predict_proba(data.new, point, model=model)
    variance = np.diag(covariance)
    expected = bsvm.evidence.predictive(loss, mean, variance).probability(1)
    np.testing.assert_allclose(probability, expected, rtol=1e-8)
    for k in range(9):
        f = mean[k] + np.sqrt(variance[k]) * np.linspace(-9.0, 9.0, 20_001)
        density = np.exp(oracle.log_normal(f, mean[k], variance[k]))
        integral = np.trapezoid(density * np.exp(-loss.value(1.0, f)), f)
        assert probability[k] == pytest.approx(integral, rel=1e-6)
    other = gp.predictive(data.new, point, model=model).probability(-1)
    np.testing.assert_allclose(probability + other, 1.0, rtol=1e-14)
    mirrored = data._replace(labels=1 - data.labels)
    model, gp = cases.of_loss(loss, mirrored)
    swapped = gp.predict_proba(data.new, point, model=model)
    np.testing.assert_allclose(swapped, 1.0 - probability, rtol=1e-8)


# ---- other data and components ----------------------------------------------------------------


def test_given_data(data):
    """Predictions from other data with other parameters, without a change of the process."""
    model, gp = cases.regression(data.X, data.y)
    other = cases.plane(14, seed=5)
    loss = losses.SILF(6.0, 0.1, 0.5)
    given = {"X": other.X, "y": other.y, "C": 6.0, "epsilon": 0.1, "beta": 0.5}
    expected = dense(loss, other._replace(new=data.new))
    before = gp.predict(data.new, POINT, model=model)
    for way in (given, {"X": other.X, "y": other.y, "loss": loss}):
        got = gp.predict(data.new, POINT, given=way, model=model)
        np.testing.assert_allclose(got[0], expected[0], **CLOSE)
        np.testing.assert_allclose(got[1], expected[1], **CLOSE)
    evidence = gp.evidence(POINT, given=given, model=model)
    K = ard(other.X, other.X, POINT["ls"])
    numeric = bsvm.laplace_evidence(K, other.y, loss)
    assert evidence.log_evidence == pytest.approx(numeric.log_evidence, rel=1e-12)
    after = gp.predict(data.new, POINT, model=model)
    np.testing.assert_array_equal(after[0], before[0])


def test_given_labels(data):
    model, gp = cases.classification(data.X, data.labels)
    other = cases.plane(14, seed=5)
    given = {"X": other.X, "y": other.labels, "delta": 0.7}
    mean, _ = dense(losses.Trigonometric(0.7), other._replace(new=data.new))
    got = gp.predict(data.new, LABEL_POINT, diag=True, given=given, model=model)[0]
    np.testing.assert_allclose(got, mean, **CLOSE)


@pytest.mark.parametrize("keys", [("X", "y"), ("C", "epsilon")])
def test_a_part_of_given_is_not_ignored(keys, data):
    model, gp = cases.regression(data.X, data.y)
    other = cases.plane(14, seed=5)
    given = {"X": other.X, "y": other.y, "C": 40.0, "epsilon": 0.01}
    part = {key: given[key] for key in keys}
    own = gp.predict(data.new, POINT, diag=True, model=model)[0]
    try:
        got = gp.predict(data.new, POINT, diag=True, given=part, model=model)[0]
    except ValueError as error:
        got = str(error)
    assert isinstance(got, str) or np.abs(got - own).max() > 1e-3


def additive(data, **kwargs):
    """Return the sum of two processes, and its components."""
    with pm.Model() as model:
        ls = pm.Flat("ls")
        short = bsvm.gp.BSVR(
            mean_func=pm.gp.mean.Constant(0.3), cov_func=1.4 * pm.gp.cov.ExpQuad(2, ls=ls)
        )
        trend = bsvm.gp.BSVR(
            mean_func=pm.gp.mean.Constant(-0.1), cov_func=0.5 * pm.gp.cov.Linear(2, c=0.0)
        )
        total = short + trend
        total.marginal_likelihood("y", data.X, data.y, C=4.0, epsilon=0.25, **kwargs)
    return model, total, short, trend


def assert_sum_of_components(data, jitter):
    model, total, short, trend = additive(data, jitter=jitter)
    point = {"ls": 0.9}
    arguments = {"point": point, "model": model}
    mean, _ = total.predict(data.new, **arguments)
    parts = [gp.predict(data.new, given={"gp": total}, **arguments) for gp in (short, trend)]
    np.testing.assert_allclose(parts[0][0] + parts[1][0], mean, **CLOSE)
    return model, total, short, parts


def test_components_add_up(data):
    model, total, short, parts = assert_sum_of_components(data, 0.0)
    K1 = 1.4 * cases.expquad(data.X, data.X, 0.9)
    K = K1 + 0.5 * data.X @ data.X.T
    loss = losses.SILF(4.0, 0.25, 0.3)
    s = bsvm.laplace_evidence(K, data.y, loss, m=0.2).solution
    cross = 1.4 * cases.expquad(data.X, data.new, 0.9)
    prior = 1.4 * cases.expquad(data.new, data.new, 0.9)
    mean, covariance = oracle.predict(K, data.y, loss, s.a, s.f, cross, prior)
    np.testing.assert_allclose(parts[0][0], 0.3 + mean, **CLOSE)
    np.testing.assert_allclose(parts[0][1], covariance, **CLOSE)
    with model:
        rv = short.conditional("short", data.new, given={"gp": total})
    fixed = pm.do(model, {"ls": 0.9})["short"]
    mu, cov = fixed.owner.op.dist_params(fixed.owner)
    np.testing.assert_allclose(mu.eval(mode=UNFUSED), parts[0][0], **CLOSE)
    np.testing.assert_allclose(cov.eval(mode=UNFUSED), parts[0][1] + 1e-6 * np.eye(9), **CLOSE)
    assert rv.name == "short"


def test_components_add_up_with_a_jitter(data):
    assert_sum_of_components(data, 0.5)


# ---- the conditional variable -----------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("jitter", [None, 0.0, 0.3])
def test_conditional_has_the_moments_of_predict(loss, jitter, data):
    model, gp = cases.of_loss(loss, data, jitter=0.1)
    point = cases.point_of(loss)
    with model:
        kwargs = {} if jitter is None else {"jitter": jitter}
        gp.conditional("f_new", data.new, **kwargs)
    mean, covariance = gp.predict(data.new, point, model=model)
    rv = pm.do(model, point)["f_new"]
    mu, cov = rv.owner.op.dist_params(rv.owner)
    np.testing.assert_allclose(mu.eval(mode=UNFUSED), mean, **CLOSE)
    added = 1e-6 if jitter is None else jitter
    np.testing.assert_allclose(cov.eval(mode=UNFUSED), covariance + added * np.eye(9), **CLOSE)


def test_draws_of_the_conditional(data):
    model, gp = cases.classification(data.X, data.labels)
    with model:
        gp.conditional("f_new", data.new)
    mean, covariance = gp.predict(data.new, LABEL_POINT, model=model)
    rv = pm.do(model, LABEL_POINT)["f_new"]
    draws = pm.draw(rv, 1500, random_seed=9, mode=UNFUSED)
    sd = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(1500))
    scale = np.outer(sd, sd)
    assert np.abs((np.cov(draws.T) - covariance) / scale).max() < 0.16


def test_conditional_given_other_data(data):
    model, gp = cases.regression(data.X, data.y)
    other = cases.plane(14, seed=5)
    given = {"X": other.X, "y": other.y, "C": model["C"], "epsilon": model["epsilon"]}
    with model:
        gp.conditional("f_new", data.new, given=given)
    rv = pm.do(model, POINT)["f_new"]
    mu, _ = rv.owner.op.dist_params(rv.owner)
    mean, _ = dense(losses.SILF(4.0, 0.25, 0.3), other._replace(new=data.new))
    np.testing.assert_allclose(mu.eval(mode=UNFUSED), mean, **CLOSE)


def test_conditional_without_support_vectors(data):
    model, gp = cases.regression(data.X, 0.001 * data.y)
    with model:
        gp.conditional("f_new", data.new, jitter=0.0)
    rv = pm.do(model, {**POINT, "epsilon": 10.0})["f_new"]
    mu, cov = (x.eval(mode=UNFUSED) for x in rv.owner.op.dist_params(rv.owner))
    np.testing.assert_array_equal(mu, np.zeros(9))
    np.testing.assert_allclose(cov, ard(data.new, data.new, POINT["ls"]), rtol=1e-12)


def test_conditional_at_data_that_change(data):
    with pm.Model() as model:
        new = pm.Data("new", data.new)
    _, gp = cases.regression(data.X, data.y, model=model)
    with model:
        gp.conditional("f_new", new)
        pm.set_data({"new": data.X[:4]})
    rv = pm.do(model, POINT)["f_new"]
    mu, _ = rv.owner.op.dist_params(rv.owner)
    mean, _ = gp.predict(data.X[:4], POINT, model=model)
    np.testing.assert_allclose(mu.eval(mode=UNFUSED), mean, **CLOSE)
