"""The latent values in other coordinates: the same density, and a posterior near a normal one."""

import re
from collections.abc import Callable

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.inference import fit_evidence, latent_model
from pymc_bsvm.inference.bend import rows_before
from tests.gp import cases
from tests.gp.cases import UNFUSED, ard

LOSSES = (losses.SILF(5.0, 0.2, 0.3), losses.Trigonometric(1.2))
NAMES = [type(loss).__name__ for loss in LOSSES]
POINT = {"ls": np.array([0.9, 1.6]), "eta": 1.3}
OTHER = {"ls": np.array([1.2, 1.1]), "eta": 0.8}


@pytest.fixture(scope="module")
def small() -> cases.Data:
    return cases.plane(7, seed=3)


def model_of(data: cases.Data, loss: losses.Loss, **kwargs) -> pm.Model:
    with pm.Model() as model:
        ls, eta = pm.LogNormal("ls", 0.0, 0.5, shape=2), pm.HalfNormal("eta", 2.0)
        mean = pm.gp.mean.Linear(coeffs=np.array([0.3, -0.2]))
        gp = bsvm.gp.Laplace(mean_func=mean, cov_func=eta**2 * cases.ard_cov(ls))
        gp.marginal_likelihood("y", data.X, cases.targets(data, loss), loss, **kwargs)
    return model


def at(point: dict, name: str, v: np.ndarray) -> dict:
    return {"ls_log__": np.log(point["ls"]), "eta_log__": np.log(point["eta"]), name: v}


def prior(data: cases.Data, point: dict) -> tuple[np.ndarray, np.ndarray]:
    K = point["eta"] ** 2 * ard(data.X, data.X, point["ls"])
    K += 1e-6 * K.diagonal().mean() * np.eye(len(K))
    return data.X @ [0.3, -0.2], np.linalg.cholesky(K)


def latents(model: pm.Model, point: dict) -> Callable[[np.ndarray], np.ndarray]:
    """Return the latent values as a function of the free ones."""
    function = model.compile_fn(
        model.replace_rvs_by_values([model["f_y"]]),
        inputs=model.value_vars,
        mode=UNFUSED,
        on_unused_input="ignore",
    )
    return lambda z: function(at(point, "f_y_white_", z))[0]


def linear(function: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> tuple:
    """Return the value of a function, and its derivatives by differences."""
    step = 1e-5
    columns = [(function(z + e) - function(z - e)) / (2.0 * step) for e in step * np.eye(z.size)]
    return function(z), np.array(columns).T


def slopes_of(model: pm.Model, point: dict) -> dict:
    """Return the gradient of the log density by the names of the free values."""
    gradients = pytensor.grad(model.logp(), model.value_vars)
    values = model.compile_fn(gradients, inputs=model.value_vars, mode=UNFUSED)(point)
    return {v.name: np.asarray(g) for v, g in zip(model.value_vars, values, strict=True)}


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
@pytest.mark.parametrize("point", [POINT, OTHER], ids=["there", "elsewhere"])
def test_density_is_the_same_but_for_the_jacobian(small, loss, point):
    model = model_of(small, loss)
    white, plain = latent_model(model, around=POINT), latent_model(model)
    of_white, of_plain = (m.compile_logp(mode=UNFUSED) for m in (white, plain))
    m, L = prior(small, point)
    f_of = latents(white, point)
    rng = np.random.default_rng(1)
    finite = 0
    for _ in range(5):
        z = 0.5 * rng.normal(size=7)
        f, A = linear(f_of, z)
        _, log_det = np.linalg.slogdet(np.linalg.solve(L, A))
        expected = of_plain(at(point, "f_y_rotated_", np.linalg.solve(L, f - m))) + log_det
        finite += np.isfinite(expected)
        value = of_white(at(point, "f_y_white_", z))
        np.testing.assert_allclose(value, expected, rtol=1e-7)
    assert finite >= 3


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_gradient(small, loss):
    """That of the latent values by the chain rule, that of hyperparameters by differences."""
    model = model_of(small, loss)
    white, plain = latent_model(model, around=POINT), latent_model(model)
    logp = white.compile_logp(mode=UNFUSED)
    m, L = prior(small, OTHER)
    z = 0.3 * np.random.default_rng(2).normal(size=7)
    of_white = slopes_of(white, at(OTHER, "f_y_white_", z))
    if loss.wall == -np.inf:  # else the map has a determinant that varies
        f, A = linear(latents(white, OTHER), z)
        of_plain = slopes_of(plain, at(OTHER, "f_y_rotated_", np.linalg.solve(L, f - m)))
        chain = np.linalg.solve(L, A).T @ of_plain["f_y_rotated_"]
        np.testing.assert_allclose(of_white["f_y_white_"], chain, rtol=1e-6, atol=1e-7)
    for k in range(7):
        ends = [logp(at(OTHER, "f_y_white_", z + sign * 1e-5 * np.eye(7)[k])) for sign in (1, -1)]
        assert of_white["f_y_white_"][k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)
    for name in ("ls_log__", "eta_log__"):
        point = at(OTHER, "f_y_white_", z)
        for k in range(np.size(point[name])):
            step = 1e-5 * np.eye(2)[k] if np.ndim(point[name]) else 1e-5
            ends = [logp({**point, name: point[name] + sign * step}) for sign in (1, -1)]
            assert np.ravel(of_white[name])[k] == pytest.approx(
                (ends[0] - ends[1]) / 2e-5, rel=1e-5
            )


def gaussian(data: cases.Data, loss: losses.Loss, point: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return the moments of propagation with a hundredth of each marginal precision added."""
    m, L = prior(data, point)
    evidence = bsvm.ep_evidence(L @ L.T, cases.signed(data, loss), loss, m=m)
    ridge = 0.01 / evidence.variance
    precision = np.linalg.inv(L @ L.T) + np.diag(evidence.posterior.precision)
    expected = np.linalg.inv(precision + np.diag(ridge))
    return expected @ ((precision + np.diag(ridge)) @ (evidence.mean - m)) + m, expected


@pytest.mark.parametrize(
    ("loss", "change"), [(LOSSES[0], 0.0), (losses.Logistic(), 0.0), (losses.Logistic(), 0.1)]
)
def test_map_is_the_gaussian_of_propagation(small, loss, change):
    """The sites of labels are right to first order nearby."""
    point = {name: value * np.exp(change) for name, value in POINT.items()}
    f0, A = linear(latents(latent_model(model_of(small, loss), around=POINT), point), np.zeros(7))
    mean, covariance = gaussian(small, loss, point)
    tolerance = 1e-4 if change == 0.0 else 0.02
    np.testing.assert_allclose(f0, mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(A @ A.T, covariance, rtol=tolerance, atol=tolerance)


def test_walls_are_bent_away(small):
    """Where the rows near a wall are moved to, the others follow by their covariance."""
    loss = LOSSES[1]
    mean, covariance = gaussian(small, loss, POINT)
    labels = cases.signed(small, loss)
    distance = labels * mean + loss.delta
    S = rows_before(distance, covariance)
    assert 2 <= S.size
    sd = np.sqrt(covariance[S, S])
    moved = sd * np.log1p(np.exp(distance[S] / sd)) - distance[S]
    assert moved.max() > 0.05
    along = np.linalg.solve(covariance[np.ix_(S, S)], labels[S] * moved)
    f_of = latents(latent_model(model_of(small, loss), around=POINT), POINT)
    expected = mean + covariance[:, S] @ along
    np.testing.assert_allclose(f_of(np.zeros(7)), expected, rtol=1e-4, atol=1e-4)
    far = 4.0 * np.random.default_rng(0).normal(size=(200, 7))
    margins = np.array([labels * f_of(z) for z in far])
    assert (margins[:, S] > -loss.delta).all()
    assert margins[:, S].min() < -loss.delta + 1e-3


def test_start_is_in_front_of_the_wall():
    data = cases.plane(60, seed=1)
    model = cases.classification(data.X, data.labels, delta=0.3).model
    start = latent_model(model, around={"ls": [0.9, 1.6]}).initial_point()
    np.testing.assert_array_equal(start["f_y_white_"], np.zeros(60))
    function = latent_model(model, around={"ls": [0.9, 1.6]}).compile_logp(mode=UNFUSED)
    rng = np.random.default_rng(5)
    jittered = [{**start, "f_y_white_": rng.uniform(-1.0, 1.0, 60)} for _ in range(50)]
    assert np.isfinite(function(start))
    assert sum(np.isfinite(function(x)) for x in jittered) > 40


def test_draws_have_the_moments_of_the_prior(small):
    model = latent_model(model_of(small, LOSSES[0]), around=POINT)
    m, L = prior(small, POINT)
    fixed = pm.do(model, {"ls": POINT["ls"], "eta": POINT["eta"]})
    f = pm.draw(fixed["f_y"], 3000, random_seed=1, mode=UNFUSED)
    K = L @ L.T
    assert (np.abs(f.mean(0) - m) < 4.0 * np.sqrt(K.diagonal() / 3000)).all()
    np.testing.assert_allclose(np.cov(f.T), K, atol=0.1 * K.max())


def test_draws_of_the_prior_behind_a_wall_are_refused(small):
    model = latent_model(model_of(small, LOSSES[1]), around=POINT)
    with pytest.raises(ValueError, match=r"behind a wall of the likelihood, .* without around"):
        pm.draw(model["f_y"], 50, random_seed=1, mode=UNFUSED)


def test_the_mode_is_found_by_propagation(small, quick):
    """The same model, whatever its own approximation is, and the same as with the fit."""
    loss = LOSSES[1]
    fit = fit_evidence(model_of(small, loss, approximation="ep"), progressbar=False)
    z = np.random.default_rng(1).normal(size=7)
    first, *others = (
        latents(latent_model(model_of(small, loss, approximation=own), around=around), OTHER)(z)
        for own, around in (("laplace", "ep"), ("ep", "ep"), ("laplace", fit))
    )
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-6, atol=1e-8)


def test_unknown_places_are_refused(small):
    message = "around must be 'ep', a fit or a point, but it is 'mode'. Pass a result"
    with pytest.raises(ValueError, match=re.escape(message)):
        latent_model(model_of(small, LOSSES[0]), around="mode")
