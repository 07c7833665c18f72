"""A model with an approximation from outside the library, against `pm.gp.Marginal`."""

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp.exact_inference import Exact

QUIET = {"progressbar": False}


@pytest.fixture(autouse=True, scope="module")
def _interpreted():
    """Spare the minutes of a compiler that is not what is compared here."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-3.0, 3.0, 25))
    return x[:, None], np.sin(2.0 * x) + 0.3 * rng.normal(size=x.size)


def model_of(make, X, y):
    """Return a model and its process; ``make`` registers the likelihood."""
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3.0, 3.0)
        eta = pm.HalfNormal("eta", 1.0)
        sigma = pm.HalfNormal("sigma", 0.5)
        gp = make(eta**2 * pm.gp.cov.Matern52(1, ls=ls), sigma, X, y)
    return model, gp


def ours(cov, sigma, X, y):
    gp = bsvm.gp.Laplace(cov_func=cov)
    loss = losses.Gaussian(sigma)
    gp.marginal_likelihood("y", X=X, y=y, loss=loss, approximation=Exact())
    return gp


def theirs(cov, sigma, X, y):
    gp = pm.gp.Marginal(cov_func=cov)
    gp.marginal_likelihood("y", X=X, y=y, sigma=sigma, jitter=0.0)
    return gp


@pytest.fixture(scope="module")
def models(data):
    return model_of(ours, *data), model_of(theirs, *data)


def test_log_probability_and_gradient(models):
    (model, _), (other, _) = models
    point = {"ls_log__": 0.2, "eta_log__": -0.3, "sigma_log__": -1.1}
    expected = other.compile_logp()(point)
    assert model.compile_logp()(point) == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(
        model.compile_dlogp()(point), other.compile_dlogp()(point), rtol=1e-7, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore:.*find_MAP:FutureWarning")  # of what it will return
def test_from_the_fit_to_predictions(models, data):
    (model, gp), (other, peer) = models
    fit = bsvm.fit_evidence(model, restarts=2, random_seed=1, gtol=1e-5, **QUIET)
    with other:
        best = pm.find_MAP(**QUIET)
    for name in ("ls", "eta", "sigma"):
        assert float(fit.point[name]) == pytest.approx(float(best[name]), rel=2e-3)
    new = np.linspace(-3.5, 3.5, 9)[:, None]
    with other:
        mean, covariance = peer.predict(new, point=fit.point, jitter=0.0)
        _, noisy = peer.predict(new, point=fit.point, diag=True, pred_noise=True)
    with model:
        got = gp.predict(new, fit.point)
        np.testing.assert_allclose(got[0], mean, atol=1e-8)
        np.testing.assert_allclose(got[1], covariance, atol=1e-7)
        at = gp.at(fit.point)
        np.testing.assert_allclose(at.predictive(new).variance, noisy, rtol=1e-5)
    X, y = data
    distance = np.abs(X - X.T) * np.sqrt(5.0) / fit.point["ls"]
    K = fit.point["eta"] ** 2 * (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
    B = K + fit.point["sigma"] ** 2 * np.eye(y.size)
    inverse = np.linalg.inv(B)
    variance = 1.0 / np.diag(inverse)  # [RW06]_, (5.12)
    left_out = -0.5 * np.log(2.0 * np.pi * variance) - 0.5 * (inverse @ y) ** 2 * variance
    np.testing.assert_allclose(at.log_predictive, left_out, atol=1e-8)
    np.testing.assert_allclose(at.covariance, K - K @ inverse @ K, atol=1e-8)
    sites = bsvm.solve_dual(K, y, losses.Gaussian(float(fit.point["sigma"])))
    np.testing.assert_allclose(at.support_vectors.dual, sites.a, atol=1e-7)
    table = bsvm.compare_evidence({"exact": fit})
    assert table.loc["exact", "approximation"] == "exact gaussian"
    tree = fit.to_datatree()
    assert tree["posterior"].attrs["approximation"] == "exact gaussian"
    total = sum(tree["sample_stats"][k].item() for k in ("fit", "complexity", "constant"))
    assert total == pytest.approx(fit.log_evidence, rel=1e-9)


def test_sampling_takes_the_same_way(models):
    (model, gp), (other, _) = models
    settings = {"draws": 8, "tune": 8, "chains": 1, "random_seed": 5, "cores": 1, **QUIET}
    start = {"ls": 1.0, "eta": 1.0, "sigma": 0.3}
    with model:
        idata = pm.sample(initvals=start, nuts_sampler="pymc", **settings)
        gp.compute_log_likelihood(idata, **QUIET)
    with other:
        expected = pm.sample(initvals=start, nuts_sampler="pymc", **settings)
    for name in start:
        np.testing.assert_allclose(
            idata["posterior"][name], expected["posterior"][name], rtol=1e-4, err_msg=name
        )
    assert np.isfinite(idata["log_likelihood"]["y"].values).all()


def test_conditional_is_that_of_exact_inference(models, data):
    _, (other, peer) = models
    model, gp = model_of(ours, *data)
    new, point = np.array([[0.1], [4.0]]), {"ls": 1.1, "eta": 0.9, "sigma": 0.25}
    with model:
        f = gp.conditional("f", new, jitter=0.0)
    mu, cov = f.owner.inputs[2:4]
    values = [model[name] for name in point]
    found = pm.compile(values, [mu, cov])(*point.values())
    with other:
        expected = peer.predict(new, point=point, jitter=0.0)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-8)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-7)


def test_a_loss_that_lacks_what_the_approximation_needs():
    X, y = np.zeros((3, 1)), np.arange(3.0)
    gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
    with (
        pm.Model(),
        pytest.raises(ValueError, match=r"^SILF is not Gaussian, so that its exact gaussian "),
    ):
        gp.marginal_likelihood("y", X=X, y=y, loss=losses.SILF(1.0, 0.1), approximation=Exact())


def test_a_name_takes_the_place_of_an_instance():
    X, y = np.arange(3.0)[:, None], np.arange(3.0)
    with pm.Model() as model:
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        loss = losses.Gaussian(0.5)
        gp.marginal_likelihood("y", X=X, y=y, loss=loss, approximation="exact gaussian")
    evidence = gp.evidence({}, model=model)
    expected = Exact().evidence(np.exp(-0.5 * (X - X.T) ** 2), y, losses.Gaussian(0.5))
    assert evidence.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)
    assert "exact gaussian" in repr(evidence)


def test_in_a_graph_a_failure_is_nan_and_at_the_point_an_error():
    class Fails(Exact):
        def approximate(self, problem, start=None):
            raise ValueError("No evidence today. Come again.")

    X, y = np.arange(3.0)[:, None], np.arange(3.0)
    with pm.Model() as model:
        ls = pm.HalfNormal("ls")
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, loss=losses.Gaussian(0.5), approximation=Fails())
    assert np.isnan(model.compile_logp(vars=model.observed_RVs)({"ls_log__": 0.0}))
    with pytest.raises(ValueError, match="No evidence today"):
        gp.at({"ls": 1.0}, model=model)


@pytest.mark.filterwarnings("ignore:JAX does not check:UserWarning")
def test_jax_is_told_what_works():
    jax_mode = pytest.importorskip("pytensor.compile.mode").get_mode("JAX")
    X, y = np.arange(3.0)[:, None], np.arange(3.0)
    with pm.Model() as model:
        ls = pm.HalfNormal("ls")
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, loss=losses.Gaussian(0.5), approximation=Exact())
    with pytest.raises(NotImplementedError, match=r"'exact gaussian' has no form in JAX\. Sample"):
        model.compile_logp(mode=jax_mode)
