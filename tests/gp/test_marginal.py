"""The log probability of the observed variable: values and gradients for everything PyMC offers."""

import json
from pathlib import Path

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import clone_replace
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases
from tests.gp.cases import ard, assert_gradient, distance, evidence_function, expquad

both = pytest.mark.parametrize("curvature", ["smooth", "exact"])
every_loss = pytest.mark.parametrize("loss", cases.LOSSES, ids=repr)
SILF = losses.SILF(5.0, 0.2, 0.3)
cov = pm.gp.cov


def numbers(result):
    """Return the value, and the sets that a difference must not cross."""
    solution = result.solution
    return result.log_evidence, np.concatenate([solution.free, solution.bound])


# ---- covariance functions -----------------------------------------------------------------------

SECOND = {"active_dims": [1]}


def column(X, k):
    return X[:, k : k + 1]


def matern32(X, Z, ls):
    r = np.sqrt(3.0) * distance(X, Z, ls)
    return (1.0 + r) * np.exp(-r)


def matern52(X, Z, ls):
    r = np.sqrt(5.0) * distance(X, Z, ls)
    return (1.0 + r + r * r / 3.0) * np.exp(-r)


def gibbs(X, Z, ls):
    s, t = 0.5 + ls * X[:, :1] ** 2, 0.5 + ls * Z[:, 0] ** 2
    d = X[:, :1] - Z[:, 0]
    return np.sqrt(2.0 * s * t / (s**2 + t**2)) * np.exp(-(d**2) / (s**2 + t**2))


# the covariance function of PyMC, and what it is in NumPy, for two hyperparameters u > 0
COVARIANCES = {
    "sum": (
        lambda u: u[0] ** 2 * cov.ExpQuad(2, ls=u[1]) + cov.Constant(3.0),
        lambda X, Z, u: u[0] ** 2 * expquad(X, Z, u[1]) + 3.0,
    ),
    "product": (
        lambda u: cov.ExpQuad(2, ls=u[0]) * (cov.Linear(2, c=u[1]) + cov.Constant(1.0)),
        lambda X, Z, u: expquad(X, Z, u[0]) * ((X - u[1]) @ (Z - u[1]).T + 1.0),
    ),
    "power": (
        lambda u: u[1] * cov.Matern52(2, ls=u[0]) ** 2,
        lambda X, Z, u: u[1] * matern52(X, Z, u[0]) ** 2,
    ),
    "ard": (lambda u: 1.4 * cov.ExpQuad(2, ls=u), lambda X, Z, u: 1.4 * expquad(X, Z, u)),
    "active_dims": (
        lambda u: cov.ExpQuad(2, ls=u[0], active_dims=[0]) + u[1] * cov.Linear(2, c=0.1, **SECOND),
        lambda X, Z, u: (
            expquad(column(X, 0), column(Z, 0), u[0])
            + u[1] * (column(X, 1) - 0.1) @ (column(Z, 1) - 0.1).T
        ),
    ),
    "periodic": (
        lambda u: cov.Periodic(2, period=3.0 * u[0], ls=u[1], **SECOND),
        lambda X, Z, u: np.exp(
            -0.5 * (np.sin(np.pi * (X[:, 1:] - Z[:, 1]) / (3.0 * u[0])) / u[1]) ** 2
        ),
    ),
    "matern": (
        lambda u: cov.Matern32(2, ls=u[0]) + u[1] * cov.Matern12(2, ls=1.0),
        lambda X, Z, u: matern32(X, Z, u[0]) + u[1] * np.exp(-distance(X, Z)),
    ),
    "ratquad": (
        lambda u: cov.RatQuad(2, alpha=u[0], ls=u[1]),
        lambda X, Z, u: (1.0 + 0.5 * distance(X, Z, u[1]) ** 2 / u[0]) ** -u[0],
    ),
    "white noise": (
        lambda u: cov.ExpQuad(2, ls=u[0]) + cov.WhiteNoise(u[1]),
        lambda X, Z, u: expquad(X, Z, u[0]) + u[1] ** 2 * (distance(X, Z) == 0.0),
    ),
    "warped": (
        lambda u: cov.WarpedInput(
            2, cov.ExpQuad(2, ls=u[0]), warp_func=lambda x, a: pt.tanh(a * x), args=(u[1],)
        ),
        lambda X, Z, u: expquad(np.tanh(u[1] * X), np.tanh(u[1] * Z), u[0]),
    ),
    "scaled": (
        lambda u: cov.ScaledCov(
            2,
            cov.ExpQuad(2, ls=u[0]),
            scaling_func=lambda x, a: pt.exp(a * x[:, :1]),
            args=(u[1],),
        ),
        lambda X, Z, u: expquad(X, Z, u[0]) * np.exp(u[1] * X[:, :1]) * np.exp(u[1] * Z[:, 0]),
    ),
    "gibbs": (
        lambda u: cov.Gibbs(1, lengthscale_func=lambda x, a: 0.5 + a * x**2, args=(u[0],)) + u[1],
        lambda X, Z, u: gibbs(X, Z, u[0]) + u[1],
    ),
    "exponential": (  # a covariance with no parameters of its own beside a scale
        lambda u: u[0] * u[1] * cov.Exponential(2, ls=0.8),
        lambda X, Z, u: u[0] * u[1] * np.exp(-0.5 * distance(X, Z, 0.8)),
    ),
}


@pytest.mark.parametrize("kind", COVARIANCES)
def test_covariance_functions(kind, data):
    """The graph and its gradient against matrices written by hand."""
    in_pymc, in_numpy = COVARIANCES[kind]
    if kind == "gibbs":  # which takes one column
        data = data._replace(X=data.X[:, :1], new=data.new[:, :1])
    with pm.Model() as model:
        u = pm.Flat("u", shape=2)
        gp = bsvm.gp.BSVR(cov_func=in_pymc(u))
        gp.marginal_likelihood("y", X=data.X, y=data.y, C=5.0, epsilon=0.2)
    point = {"u": np.array([0.8, 1.3])}
    value, gradient = evidence_function(model)(point)

    def by_hand(point):
        K = in_numpy(data.X, data.X, point["u"])
        return numbers(bsvm.laplace_evidence(K, data.y, SILF))

    # distances in PyMC have 1e-12 under the root, whose derivative is not zero there
    close = 1e-6 if kind in ("power", "matern", "exponential") else 1e-9
    assert value == pytest.approx(by_hand(point)[0], rel=close)
    assert_gradient(by_hand, point, gradient, rtol=1e-5, atol=1e-4 if close == 1e-6 else 2e-6)
    # what is predicted goes through the same functions of new rows
    a = gp.evidence(point, model=model).solution.a
    mean, _ = gp.predict(data.new, point, diag=True, model=model)
    expected = in_numpy(data.new, data.X, point["u"]) @ a
    np.testing.assert_allclose(mean, expected, rtol=100.0 * close, atol=1e-9)


# ---- losses, means and curvatures -------------------------------------------------------------


@every_loss
@both
def test_losses(loss, curvature, data):
    """Values and gradients with respect to the length-scales and the loss's parameters."""
    model, gp = cases.of_loss(loss, data, curvature=curvature)
    point, y = cases.point_of(loss), cases.signed(data, loss)

    def by_hand(point):
        own = {name: float(point[name]) for name in loss.domains}
        K = ard(data.X, data.X, point["ls"])
        return numbers(bsvm.laplace_evidence(K, y, type(loss)(**own), curvature))

    value, gradient = evidence_function(model)(point)
    assert set(gradient) == {"ls", *loss.domains}
    assert value == pytest.approx(by_hand(point)[0], rel=1e-9)
    assert_gradient(by_hand, point, gradient, rtol=1e-5)
    assert gp.evidence(point, model=model).log_evidence == pytest.approx(value, rel=1e-9)


@both
def test_every_parameter_of_regression_at_once(curvature, data):
    """C, epsilon and beta under transforms, and the parameters of two mean functions."""
    with pm.Model() as model:
        C, epsilon = pm.LogNormal("C", 1.0, 0.5), pm.HalfNormal("epsilon", 0.3)
        beta, slope = pm.Beta("beta", 2, 4), pm.Normal("slope", shape=2)
        mean = pm.gp.mean.Linear(coeffs=slope, intercept=0.1) + pm.gp.mean.Constant(pm.Normal("c"))
        ls = pm.LogNormal("ls", 0.0, 0.5, shape=2)
        gp = bsvm.gp.BSVR(mean_func=mean, cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood(
            "y", data.X, data.y, C=C, epsilon=epsilon, beta=beta, curvature=curvature
        )
    point = {
        "C_log__": np.log(4.0),
        "epsilon_log__": np.log(0.25),
        "beta_logodds__": -0.6,
        "slope": np.array([0.2, 0.3]),
        "c": -0.3,
        "ls_log__": np.log([0.9, 1.6]),
    }

    def by_hand(point):
        C, epsilon = np.exp(float(point["C_log__"])), np.exp(float(point["epsilon_log__"]))
        beta = 1.0 / (1.0 + np.exp(-float(point["beta_logodds__"])))
        m = data.X @ point["slope"] + 0.1 + float(point["c"])
        K = ard(data.X, data.X, np.exp(point["ls_log__"]))
        loss = losses.SILF(C, epsilon, beta)
        return numbers(bsvm.laplace_evidence(K, data.y, loss, curvature, m=m))

    value, gradient = evidence_function(model)(point)
    assert set(gradient) == set(point)
    assert value == pytest.approx(by_hand(point)[0], rel=1e-9)
    assert_gradient(by_hand, point, gradient, rtol=1e-5)


@both
def test_every_parameter_of_classification_at_once(curvature, data):
    with pm.Model() as model:
        delta, c = pm.HalfFlat("delta"), pm.Flat("c")
        gp = bsvm.gp.BTSVC(
            mean_func=pm.gp.mean.Constant(c), cov_func=cases.ard_cov(pm.Flat("ls", shape=2))
        )
        gp.marginal_likelihood("y", data.X, data.labels, delta=delta, curvature=curvature)
    point = {"delta_log__": np.log(0.8), "c": 0.2, "ls": np.array([0.9, 1.6])}

    def by_hand(point):
        loss = losses.Trigonometric(np.exp(float(point["delta_log__"])))
        K, m = ard(data.X, data.X, point["ls"]), float(point["c"])
        y = 2.0 * data.labels - 1.0
        return numbers(bsvm.laplace_evidence(K, y, loss, curvature, m=m))

    value, gradient = evidence_function(model)(point)
    assert set(gradient) == set(point)
    assert value == pytest.approx(by_hand(point)[0], rel=1e-9)
    assert_gradient(by_hand, point, gradient, rtol=1e-5)


def test_jitter_is_a_part_of_the_covariance(data):
    point = {"ls": np.array([0.9, 1.6]), "C": 5.0, "epsilon": 0.2, "beta": 0.3}
    K = ard(data.X, data.X, point["ls"])
    for jitter in (0.0, 0.3):
        model, gp = cases.of_loss(SILF, data, jitter=jitter)
        value, gradient = evidence_function(model)(point)
        expected = bsvm.laplace_evidence(K + jitter * np.eye(25), data.y, SILF).log_evidence
        assert value == pytest.approx(expected, rel=1e-9)
        assert gp.evidence(point, model=model).log_evidence == pytest.approx(expected, rel=1e-12)

    def by_hand(point):
        K = ard(data.X, data.X, point["ls"]) + 0.3 * np.eye(25)
        return numbers(bsvm.laplace_evidence(K, data.y, SILF))

    assert_gradient(by_hand, {"ls": point["ls"]}, {"ls": gradient["ls"]}, rtol=1e-5)


def test_parameters_outside_their_domain(data):
    model, _ = cases.of_loss(SILF, data)
    logp = model.compile_logp(mode="FAST_COMPILE")  # the exception becomes -inf by rewriting
    point = {"ls": np.ones(2), "C": 5.0, "epsilon": 0.2, "beta": 0.3}
    assert np.isfinite(logp(point))
    for change in ({"C": -1.0}, {"epsilon": 0.0}, {"beta": 1.1}, {"beta": 0.0}):
        assert logp({**point, **change}) == -np.inf


def test_labels_other_than_0_and_1_are_impossible(data):
    model, _ = cases.classification(data.X, data.labels)
    value = model.rvs_to_values[model["y"]]
    symbolic = value.type("labels")
    graph = clone_replace(model.logp(vars=[model["y"]]), {value: symbolic}, rebuild_strict=False)
    function = pytensor.function([*model.value_vars, symbolic], graph, mode=cases.UNFUSED)
    assert np.isfinite(function(np.zeros(2), data.labels))
    assert function(np.zeros(2), 2 * data.labels - 1) == -np.inf
    assert function(np.zeros(2), np.where(np.arange(25) == 3, 2, data.labels)) == -np.inf


# ---- other software -----------------------------------------------------------------------------


def test_gaussian_limit_is_pymc_marginal(data):
    """SILF with beta = 1 and a wide tube, Huber and Gaussian, against `pm.gp.Marginal`."""
    sigma, epsilon = 0.4, 40.0

    def build(make):
        with pm.Model() as model:
            s, ls = pm.Flat("sigma"), pm.Flat("ls", shape=2)
            parts = {
                "mean_func": pm.gp.mean.Constant(pm.Flat("c")),
                "cov_func": cases.ard_cov(ls),
            }
            gp = make(parts, s)
        return model, gp

    def marginal(parts, s):
        gp = pm.gp.Marginal(**parts)
        gp.marginal_likelihood("y", data.X, data.y, sigma=s, jitter=0.0)
        return gp

    def silf(parts, s):
        gp = bsvm.gp.BSVR(**parts)
        C = 2.0 * epsilon / s**2
        gp.marginal_likelihood("y", data.X, data.y, C=C, epsilon=epsilon, beta=1.0)
        return gp

    def of(loss):
        def make(parts, s):
            gp = bsvm.gp.Laplace(**parts)
            gp.marginal_likelihood("y", data.X, data.y, loss=loss(s))
            return gp

        return make

    point = {"sigma": sigma, "ls": np.array([0.9, 1.6]), "c": 0.2}
    theirs, their_gp = build(marginal)
    value, gradient = evidence_function(theirs)(point)
    K = ard(data.X, data.X, point["ls"]) + sigma**2 * np.eye(25)
    exact = multivariate_normal(np.full(25, 0.2), K).logpdf(data.y)
    assert value == pytest.approx(exact, rel=1e-12)
    moments = {}
    with pytensor.config.change_flags(mode="FAST_COMPILE"):  # in which this is quick
        for noise in (False, True):
            arguments = {"point": point, "pred_noise": noise, "jitter": 0.0, "model": theirs}
            moments[noise] = their_gp.predict(data.new, **arguments)
    huber = lambda s: losses.Huber(2.0 * epsilon / s**2, epsilon)  # noqa: E731
    for make in (silf, of(huber), of(losses.Gaussian)):
        model, gp = build(make)
        got, slope = evidence_function(model)(point)
        assert got == pytest.approx(value, rel=1e-10)
        for name, expected in gradient.items():
            np.testing.assert_allclose(slope[name], expected, rtol=1e-10, atol=1e-10)
        for noise, (mean, covariance) in moments.items():
            arguments = {"point": point, "pred_noise": noise, "model": model}
            full = gp.predict(data.new, **arguments)
            np.testing.assert_allclose(full[0], mean, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(full[1], covariance, rtol=1e-10, atol=1e-10)
            diagonal = gp.predict(data.new, diag=True, **arguments)
            np.testing.assert_allclose(diagonal[1], np.diag(covariance), rtol=1e-10, atol=1e-10)


def logistic_model(X, labels, kind=losses.Logistic):
    with pm.Model() as model:
        log_scale, log_ls = pm.Flat("log_scale"), pm.Flat("log_ls")
        gp = bsvm.gp.Laplace(
            cov_func=pt.exp(log_scale) * cov.ExpQuad(X.shape[1], ls=pt.exp(log_ls))
        )
        gp.marginal_likelihood("y", X, labels, loss=kind())
    return model, gp


def test_logistic_against_scikit_learn():
    data = cases.plane(120, seed=3)
    kernel = ConstantKernel(1.7) * RBF(0.8)
    peer = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000)
    peer.fit(data.X, data.labels)
    value, gradient = peer.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    model, gp = logistic_model(data.X, data.labels)
    point = {"log_scale": np.log(1.7), "log_ls": np.log(0.8)}
    got, slope = evidence_function(model)(point)
    assert got == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose([slope["log_scale"], slope["log_ls"]], gradient, rtol=1e-5)
    # the peer approximates the integral over the latent values to some 1e-4
    probability = gp.predict_proba(data.new, point, model=model)
    np.testing.assert_allclose(probability, peer.predict_proba(data.new)[:, 1], atol=2e-3)


def test_probit_against_gpml():
    path = Path(__file__).parents[1] / "evidence" / "data" / "gpml_probit.json"
    published = json.loads(path.read_text(encoding="utf-8"))
    X, labels = np.array(published["x"]), (np.array(published["y"]) > 0).astype(int)
    model, _ = logistic_model(X, labels, losses.Probit)
    value, gradient = evidence_function(model)({"log_scale": 0.0, "log_ls": 0.0})
    assert -value == pytest.approx(published["nlZ"], rel=1e-11)
    assert -gradient["log_ls"] == pytest.approx(published["dnlZ_dlog_ell"], abs=1e-9)
    assert -2.0 * gradient["log_scale"] == pytest.approx(published["dnlZ_dlog_sf"], abs=1e-9)


# ---- covariance functions that will not do ------------------------------------------------------


def pointless(warp, cov_func, data, kind=bsvm.gp.BSVR):
    """Return a model whose inputs are transformed by what they all are together."""
    with pm.Model() as model:
        scale = pm.Flat("scale")
        warped = cov.WarpedInput(2, warp_func=warp, cov_func=cov_func)
        gp = kind(cov_func=scale * warped)
        if kind is bsvm.gp.BSVR:
            gp.marginal_likelihood("y", data.X, data.y, C=5.0, epsilon=0.2)
        else:
            gp.marginal_likelihood("y", data.X, data.labels, loss=losses.Logistic())
    return model, gp


CENTRED = (lambda x: x - x.mean(axis=0), cov.Linear(2, c=np.zeros(2)))
STANDARDISED = (lambda x: x / x.std(axis=0), cov.ExpQuad(2, ls=1.0))
DEPENDS = r"two rows depends on other rows of X.*Scale or transform X before the model"


@pytest.mark.parametrize(("warp", "cov_func"), [CENTRED, STANDARDISED])
def test_covariance_must_be_a_function_of_pairs(warp, cov_func, data):
    model, _ = pointless(warp, cov_func, data)
    with pytest.raises(ValueError, match=DEPENDS):
        model.compile_logp(mode=cases.UNFUSED)({"scale": 1.0})


def test_rows_in_order_have_their_extremes_at_the_ends(data):
    """The first row knows the least value of all; rows from inside do not."""
    rows = data._replace(X=np.sort(data.X, axis=0))
    model, _ = pointless(lambda x: x - x.min(axis=0), cov.Linear(2, c=np.zeros(2)), rows)
    with pytest.raises(ValueError, match=DEPENDS):
        model.compile_logp(mode=cases.UNFUSED)({"scale": 1.0})


@pytest.mark.parametrize(
    ("ls", "kind"), [(0.3, bsvm.gp.BSVR), (10.0, bsvm.gp.BSVR), (1.0, bsvm.gp.Laplace)]
)
def test_prediction_refuses_what_is_not_a_function_of_pairs(ls, kind, data):
    """Otherwise what is predicted for a row depends on the rows that are asked for with it."""
    model, gp = pointless(lambda x: x / x.std(axis=0), cov.ExpQuad(2, ls=ls), data, kind)
    with pytest.raises(ValueError, match=DEPENDS):
        gp.predict(data.new, {"scale": 1.0}, diag=True, model=model)


@pytest.mark.parametrize("ls", [1e-12, 7e-8, 1e-5])
def test_rounding_at_tiny_length_scales_is_no_dependence(ls, data):
    """PyMC's expanded distances round by percents there, which a sampler may meet."""
    with pm.Model() as model:
        scale = pm.LogNormal("scale")
        gp = bsvm.gp.BSVR(cov_func=cov.ExpQuad(2, ls=scale))
        gp.marginal_likelihood("y", data.X + 5.0, data.y, C=5.0, epsilon=0.2)
    assert np.isfinite(model.compile_logp(mode=cases.UNFUSED)({"scale_log__": np.log(ls)}))


class Indefinite(pm.gp.cov.Covariance):
    """A function of pairs that is no covariance: far rows are more alike than near ones."""

    def full(self, X, Xs=None):
        X, Xs = self._slice(X, Xs)
        Xs = X if Xs is None else Xs
        return pt.sqr(X[:, None] - Xs[None]).sum(-1)

    def diag(self, X):
        return pt.zeros(X.shape[0])


@both
def test_indefinite_covariance(curvature, data):
    """NaN for a sampler, and a sentence for who asks."""
    with pm.Model() as model:
        scale = pm.Flat("scale")
        gp = bsvm.gp.BSVR(cov_func=scale * Indefinite(2))
        gp.marginal_likelihood("y", data.X, data.y, C=5.0, epsilon=0.2, curvature=curvature)
    value, gradient = evidence_function(model)({"scale": 1.0})
    assert np.isnan(value)
    assert np.isnan(gradient["scale"])
    message = r"K .*positive semidefinite.*Check the covariance function"
    with pytest.raises((ValueError, bsvm.solvers.DualSolveError), match=message):
        gp.evidence({"scale": 1.0}, model=model)


def test_hyperparameters_that_are_not_finite(data):
    model, _ = cases.of_loss(SILF, data)
    function = evidence_function(model)
    point = {"ls": np.ones(2), "C": 5.0, "epsilon": 0.2, "beta": 0.3}
    assert np.isfinite(function(point)[0])
    value, gradient = function({**point, "ls": np.array([0.0, 1.0])})
    assert np.isnan(value)
    assert np.isnan(gradient["ls"]).any()


# ---- backends -----------------------------------------------------------------------------------


def several(data):
    """Return a model with a likelihood of each kind on the same length-scale."""
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 0.5)
        C, epsilon = pm.LogNormal("C", 1.0, 0.5), pm.HalfNormal("epsilon", 0.3)
        cov_func = 1.4 * cov.ExpQuad(2, ls=ls)
        bsvm.gp.BTSVC(cov_func=cov_func).marginal_likelihood("labels", data.X, data.labels)
        bsvm.gp.BSVR(cov_func=cov_func).marginal_likelihood(
            "y", data.X, data.y, C=C, epsilon=epsilon
        )
        bsvm.gp.Laplace(cov_func=cov_func).marginal_likelihood(
            "logistic", data.X, data.labels, losses.Logistic()
        )
    return model


ALL = ("labels", "y", "logistic")


@pytest.mark.filterwarnings("ignore:JAX does not check:UserWarning")
@pytest.mark.parametrize(
    ("mode", "names"),
    [("JAX", ALL), ("NUMBA", ALL[:1]), pytest.param("NUMBA", ALL, marks=pytest.mark.slow)],
)
def test_backends_agree(mode, names, data):
    model = several(data)
    point = {"ls_log__": 0.2, "C_log__": 1.2, "epsilon_log__": -1.4}
    value, gradient = evidence_function(model, *names)(point)
    got, slope = evidence_function(model, *names, mode=mode)(point)
    assert got == pytest.approx(value, rel=1e-9)
    for name, expected in gradient.items():
        np.testing.assert_allclose(slope[name], expected, rtol=1e-6, atol=1e-7)
