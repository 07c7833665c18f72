"""Models whose loss has parameters by row: numbers, variables and functions of the inputs."""

import arviz as az
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.stats import multivariate_normal

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.gp.row_loss import RowLoss
from tests.gp import cases
from tests.gp.cases import QUICK, UNFUSED, Data, Process

POINT = {"c": -1.2, "slope": 0.4}
NOISE_NEEDS_A_FUNCTION = (
    r"sigma has one number for each training row, .* Pass a function .*lambda X"
)


@pytest.fixture(scope="module")
def data():
    return cases.plane(24)


def covariance(X, Z=None):
    return cases.ard(X, X if Z is None else Z, np.array([0.9, 1.6]))


def noise_at(X, c=POINT["c"], slope=POINT["slope"]):
    return np.exp(c + slope * X[:, 0])


def gaussian(X, y, sigma=None) -> Process:
    """Return a model with Gaussian noise; its free variables are those of `POINT`."""
    with pm.Model() as model:
        c, slope = pm.Normal("c", -1.0, 1.0), pm.Normal("slope", 0.0, 1.0)
        gp = bsvm.gp.Laplace(cov_func=cases.ard_cov(np.array([0.9, 1.6])))
        sigma = (lambda X: pt.exp(c + slope * X[:, 0])) if sigma is None else sigma
        gp.marginal_likelihood("y", X=X, y=y, loss=losses.Gaussian(sigma))
    return Process(model, gp)


def assert_exact_regression(process, data: Data, sigma, point):
    """Compare with Gaussian process regression with this noise, in all that a model is asked."""
    X, y, new = data.X, data.y, data.new
    K, cross = covariance(X) + np.diag(sigma**2), covariance(X, new)
    wanted = multivariate_normal(np.zeros(y.size), K).logpdf(y)
    with process.model:
        assert process.gp.evidence(point).log_evidence == pytest.approx(wanted, rel=1e-9)
        mean, variance = process.gp.predict(new, point=point, diag=True)
        support = process.gp.support_vectors(point)
        left_out = process.gp.log_predictive(point)
    value, _ = cases.evidence_function(process.model)(point)
    assert value == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(mean, cross.T @ np.linalg.solve(K, y), rtol=1e-7)
    explained = np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))
    np.testing.assert_allclose(variance, np.diag(covariance(new)) - explained, rtol=1e-7)
    np.testing.assert_allclose(support.noise_variance, sigma**2, rtol=1e-12)
    inverse = np.linalg.inv(K)
    a, share = inverse @ y, np.diag(inverse)
    expected = 0.5 * np.log(share / (2.0 * np.pi)) - 0.5 * a**2 / share
    np.testing.assert_allclose(left_out, expected, rtol=1e-7)


# ---- values -----------------------------------------------------------------------------------


def test_functions_of_the_inputs_are_exact_regression(data):
    process = gaussian(data.X, data.y)
    assert_exact_regression(process, data, noise_at(data.X), POINT)
    _, gradient = cases.evidence_function(process.model)(POINT)

    def wanted(point):
        K = covariance(data.X) + np.diag(noise_at(data.X, **point) ** 2)
        return multivariate_normal(np.zeros(data.y.size), K).logpdf(data.y), 0

    cases.assert_gradient(wanted, POINT, gradient)


def test_vectors_are_exact_regression(data):
    sigma = noise_at(data.X)
    assert_exact_regression(gaussian(data.X, data.y, sigma), data, sigma, POINT)


def test_vectors_of_variables(data):
    """Each row has a noise of its own to be estimated; gradients by central differences."""
    X, y, labels = data.X[:12], data.y[:12], data.labels[:12]
    for task, loss in (("regression", losses.SILF), ("classification", losses.Trigonometric)):
        with pm.Model() as model:
            fields = [pm.Flat(name, shape=12) for name in loss.domains]
            gp = bsvm.gp.Laplace(cov_func=cases.ard_cov(np.array([0.9, 1.6])))
            gp.marginal_likelihood("y", X, y if task == "regression" else labels, loss(*fields))
        rng = np.random.default_rng(3)
        scale = {"C": 6.0, "epsilon": 0.3, "beta": 0.8, "delta": 1.5}
        point = {name: scale[name] * rng.uniform(0.6, 1.0, 12) for name in loss.domains}
        _, gradient = cases.evidence_function(model)(point)

        def at(point, gp=gp, model=model):
            evidence = gp.evidence(point, model=model)
            return evidence.log_evidence, evidence.solution.free

        cases.assert_gradient(at, point, gradient)
        got = gp.evidence(point, model=model).gradient.parameters
        for name, one in zip(loss.domains, got, strict=True):
            np.testing.assert_allclose(gradient[name], one, rtol=1e-6, atol=1e-7)


def test_a_variable_in_two_places(data):
    """The same variable in a function, in another parameter and in the covariance."""
    with pm.Model() as model:
        c = pm.Flat("c")
        gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(pt.exp(c) * np.array([0.9, 1.6])))
        gp.marginal_likelihood(
            "y", data.X, data.y, C=lambda X: 5.0 * pt.exp(c - 0.2 * X[:, 0]), epsilon=c + 0.3
        )
    loss = losses.SILF(5.0 * np.exp(0.1 - 0.2 * data.X[:, 0]), 0.4)
    K = cases.ard(data.X, data.X, np.exp(0.1) * np.array([0.9, 1.6]))
    wanted = bsvm.laplace_evidence(K, data.y, loss).log_evidence
    value, gradient = cases.evidence_function(model)({"c": 0.1})
    assert value == pytest.approx(wanted, rel=1e-9)

    def at(point):
        evidence = gp.evidence(point, model=model)
        return evidence.log_evidence, evidence.solution.free

    cases.assert_gradient(at, {"c": np.array(0.1)}, gradient)


def test_parameters_outside_their_domain(data):
    """One row is enough for the log probability to refuse a point."""
    with pm.Model() as model:
        shift = pm.Flat("shift")
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        gp.marginal_likelihood("y", data.X, data.y, losses.Gaussian(lambda X: X[:, 0] + shift))
    logp = model.compile_logp(mode="FAST_COMPILE")
    edge = -data.X[:, 0].min()
    assert np.isfinite(logp({"shift": edge + 0.1}))
    assert logp({"shift": edge - 0.01}) == -np.inf
    with model, pytest.raises(ValueError, match="sigma must satisfy 0 < sigma, but element"):
        gp.evidence({"shift": edge - 0.01})


@pytest.mark.parametrize("mode", [pytest.param("NUMBA", marks=pytest.mark.slow), "JAX"])
def test_backends(data, mode):
    with pm.Model() as model:
        c = pm.Flat("c")
        gp = bsvm.gp.BSVR(cov_func=cases.ard_cov(np.array([0.9, 1.6])))
        gp.marginal_likelihood(
            "y", data.X, data.y, C=lambda X: pt.exp(c - 0.1 * X[:, 0]), epsilon=0.2
        )
    value, gradient = cases.evidence_function(model)({"c": 1.5})
    again, same = cases.evidence_function(model, mode=mode)({"c": 1.5})
    assert again == pytest.approx(value, rel=1e-9)
    assert same["c"] == pytest.approx(gradient["c"], rel=1e-7)


# ---- new rows ---------------------------------------------------------------------------------


def test_new_targets(data):
    process, new = gaussian(data.X, data.y), data.new
    sigma = noise_at(new)
    with process.model:
        mean, covariance = process.gp.predict(new, point=POINT)
        _, noisy = process.gp.predict(new, point=POINT, pred_noise=True)
        _, variance = process.gp.predict(new, point=POINT, pred_noise=True, diag=True)
        targets = process.gp.predictive(new, point=POINT)
    np.testing.assert_allclose(noisy, covariance + np.diag(sigma**2), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(variance, np.diag(noisy), rtol=1e-10)
    np.testing.assert_allclose(
        targets.quantile(0.9), mean + 1.2815515655446004 * np.sqrt(variance), rtol=1e-9
    )


def test_new_labels(data):
    with pm.Model():
        gp = bsvm.gp.BTSVC(cov_func=pm.gp.cov.ExpQuad(2, ls=1.0))
        gp.marginal_likelihood("y", data.X, data.labels, delta=lambda X: 1.0 + X[:, 1] ** 2)
        got = gp.predict_proba(data.new, point={})
        mean, variance = gp.predict(data.new, point={}, diag=True)
    each = [
        bsvm.evidence.ClassPredictive(m, v, losses.Trigonometric(1.0 + x[1] ** 2)).probability()
        for m, v, x in zip(mean, variance, data.new, strict=True)
    ]
    np.testing.assert_allclose(got, each, rtol=1e-10)


def test_vectors_say_nothing_of_new_rows(data):
    """Not even if there are as many new rows as training rows."""
    for sigma in (noise_at(data.X), lambda X: pt.constant(noise_at(data.X))):
        process = gaussian(data.X, data.y, sigma)
        for new in (data.new, data.X + 0.5):
            with process.model:
                process.gp.predict(new, point=POINT)
                with pytest.raises(ValueError, match=NOISE_NEEDS_A_FUNCTION):
                    process.gp.predict(new, point=POINT, pred_noise=True)
                with pytest.raises(ValueError, match=NOISE_NEEDS_A_FUNCTION):
                    process.gp.predictive(new, point=POINT)


def test_functions_of_the_wrong_length(data):
    with pytest.raises(ValueError, match="sigma of Gaussian has 2 values, but there are 24 rows"):
        gaussian(data.X, data.y, lambda X: 1.0 + pt.abs(X).mean(axis=0))


def test_functions_that_look_at_all_rows(data):
    process = gaussian(data.X, data.y, lambda X: 0.1 + pt.abs(X[:, 0] - X[:, 0].mean()))
    with process.model, pytest.raises(ValueError, match=r"sigma of two rows .* Scale or transform"):
        process.gp.evidence(POINT)


def test_conditional(data):
    process = gaussian(data.X, data.y)
    with process.model:
        process.gp.conditional("f_new", data.new)
        mean, covariance = process.gp.predict(data.new, point=POINT)
    mu, cov = process.model["f_new"].owner.inputs[-2:]
    free = [process.model[name] for name in POINT]
    got = pytensor.function(free, [mu, cov], mode=UNFUSED)(*POINT.values())
    np.testing.assert_allclose(got[0], mean, rtol=1e-8)
    np.testing.assert_allclose(got[1], covariance + 1e-6 * np.eye(9), rtol=1e-6, atol=1e-8)


def test_other_data(data):
    process = gaussian(data.X, data.y)
    given = {"X": data.X[:10], "y": data.y[:10], "loss": losses.Gaussian(np.linspace(0.1, 1, 10))}
    with process.model:
        got = process.gp.evidence(POINT, given=given).log_evidence
    K = covariance(data.X[:10]) + np.diag(np.linspace(0.1, 1, 10) ** 2)
    assert got == pytest.approx(multivariate_normal(np.zeros(10), K).logpdf(data.y[:10]))


# ---- the rest of a model ----------------------------------------------------------------------


def test_data_that_change(data):
    with pm.Model() as model:
        X, y, again = pm.Data("X", data.X), pm.Data("targets", data.y), pm.Data("again", data.y)
        sigma = pm.Data("sigma", noise_at(data.X))
        c, slope = pm.Flat("c"), pm.Flat("slope")
        one, two = (bsvm.gp.Laplace(cov_func=cases.ard_cov(np.array([0.9, 1.6]))) for _ in "ab")
        loss = losses.Gaussian(lambda X: pt.exp(c + slope * X[:, 0]))
        one.marginal_likelihood("one", X=X, y=y, loss=loss)
        two.marginal_likelihood("two", X=X, y=again, loss=losses.Gaussian(sigma))
        pm.set_data({"X": data.X[:9], "targets": data.y[:9], "again": data.y[:9]})
        pm.set_data({"sigma": noise_at(data.X[:9])})
        found = [gp.evidence(POINT).log_evidence for gp in (one, two)]
        pm.set_data({"sigma": noise_at(data.X[:8])})
        with pytest.raises(
            ValueError, match="sigma of Gaussian has 8 values, but there are 9 rows"
        ):
            two.evidence(POINT)
        pm.set_data({"sigma": noise_at(data.X[:9])})
    K = covariance(data.X[:9]) + np.diag(noise_at(data.X[:9]) ** 2)
    wanted = multivariate_normal(np.zeros(9), K).logpdf(data.y[:9])
    both, _ = cases.evidence_function(model, "one", "two")(POINT)
    assert [*found, both / 2] == pytest.approx([wanted] * 3, rel=1e-9)


def test_draws(data):
    """Targets of the prior have the variance of their row."""
    process = gaussian(data.X, data.y)
    pinned = pm.do(process.model, POINT)
    draws = pm.draw(pinned["y"], draws=4000, random_seed=5, mode="FAST_COMPILE")
    wanted = np.diag(covariance(data.X)) + noise_at(data.X) ** 2
    # the standard error of a variance of 4000 normal draws is 2.2 % of it
    np.testing.assert_allclose(draws.var(axis=0), wanted, rtol=0.09)


def test_samples(data):
    """`pm.sample` against the posterior of exact regression on a grid."""
    process = gaussian(data.X, data.y)
    arguments = {"chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
    with process.model:
        idata = pm.sample(
            200, tune=200, nuts_sampler="pymc", random_seed=3, compile_kwargs=QUICK, **arguments
        )
    grid = np.linspace(-3.0, 1.0, 60), np.linspace(-1.5, 2.0, 60)
    priors = [-0.5 * (grid[0] + 1.0) ** 2, -0.5 * grid[1] ** 2]
    K = covariance(data.X)
    log_density = np.array(
        [
            [
                p + q + multivariate_normal(np.zeros(24), K + np.diag(s**2)).logpdf(data.y)
                for b, q in zip(grid[1], priors[1], strict=True)
                for s in [noise_at(data.X, a, b)]
            ]
            for a, p in zip(grid[0], priors[0], strict=True)
        ]
    )
    weight = np.exp(log_density - log_density.max())
    for name, x, axis in (("c", grid[0], 1), ("slope", grid[1], 0)):
        share = weight.sum(axis=axis) / weight.sum()
        mean = share @ x
        draws = idata["posterior"][name]
        error = float(draws.std()) / np.sqrt(float(az.ess(draws)))
        assert abs(float(draws.mean()) - mean) < 5.0 * error, name


def test_latent_model(data):
    process = gaussian(data.X, data.y)
    pinned = pm.do(process.model, POINT)
    pinned = bsvm.inference.latent_model(pinned, new={"y_new": data.new})
    noise = pinned["y_new"] - pinned["f_y_new"]
    draws = pm.draw([noise, pinned["y"] - pinned["f_y"]], 4000, random_seed=5, mode="FAST_COMPILE")
    for got, X in zip(draws, (data.new, data.X), strict=True):
        np.testing.assert_allclose(got.std(axis=0), noise_at(X), rtol=0.06)
    with pytest.raises(ValueError, match=NOISE_NEEDS_A_FUNCTION):
        bsvm.inference.latent_model(
            gaussian(data.X, data.y, noise_at(data.X)).model, new={"y_new": data.new}
        )


def test_pointwise_log_likelihood(data):
    process = gaussian(data.X, data.y)
    with process.model:
        idata = pm.sample_prior_predictive(3, random_seed=1, compile_kwargs=QUICK)
        idata["posterior"] = idata["prior"].copy()
        process.gp.compute_log_likelihood(idata, progressbar=False)
        point = {k: idata["posterior"][k].values[0, 2] for k in POINT}
        wanted = process.gp.log_predictive(point)
    np.testing.assert_allclose(idata["log_likelihood"]["y"].values[0, 2], wanted, rtol=1e-10)


def test_taken_apart():
    c = pt.scalar("c")
    loss = RowLoss(losses.SILF(lambda X: c * X[:, 0], 0.1, np.array([0.2, 0.3])), 2)
    assert loss.given == ("epsilon", "beta")
    assert loss.functions == ("C",)
    at = loss.at(pt.constant([[1.0, 9.0], [2.0, 9.0]]), loss.parameters)
    assert at.C.eval({c: 3.0}).tolist() == [3.0, 6.0]
    with pytest.raises(ValueError, match="beta has one number for each training row"):
        loss.check_new_rows()


@pytest.mark.parametrize("wrong", [np.ones(23), np.ones(1)])
def test_lengths_are_checked_when_the_model_is_built(data, wrong):
    message = rf"sigma of Gaussian has {wrong.size} values, but there are 24 rows\. Pass"
    for sigma in (wrong, pt.constant(wrong)):
        with pytest.raises(ValueError, match=message):
            gaussian(data.X, data.y, sigma)


# ---- noise that grows -------------------------------------------------------------------------

SHAPE = losses.SILF(1.0, 1.0, 1.0)


def fitted(x, y, x_new, y_new, varies):
    """Fit noise whose scale follows the input or not; say which new targets its band covers."""
    with pm.Model(), pytensor.config.change_flags(mode="FAST_COMPILE"):
        c, rate = pm.Normal("c", 1.0, 1.0), pm.Normal("rate", 0.0, 1.0)
        used = rate if varies else 0.0
        gp = bsvm.gp.BSVR(cov_func=pm.gp.cov.ExpQuad(1, ls=1.5))
        gp.marginal_likelihood(
            "y",
            X=x[:, None],
            y=y,
            C=lambda X: pt.exp(c - used * X[:, 0]),
            epsilon=lambda X: pt.exp(used * X[:, 0] - c),
            beta=1.0,
        )
        fit = bsvm.fit_evidence(progressbar=False)
        targets = gp.predictive(x_new[:, None], point=fit.point)
    low, high = targets.quantile(0.05), targets.quantile(0.95)
    return fit.point["rate"], (low < y_new) & (y_new < high)


def test_noise_that_grows_with_the_input():
    """The slope of the log noise is found, and bands cover alike at both ends."""
    rng, rate, n = np.random.default_rng(8), 0.5, 120

    def draw(n):
        x = rng.uniform(-2.0, 2.0, n)
        noise = np.exp(rate * x - 1.5) * SHAPE.quantile(rng.uniform(size=n))
        return x, np.sin(2.0 * x) + noise

    (x, y), (x_new, y_new) = draw(n), draw(4000)
    (found, even), (_, uneven) = (fitted(x, y, x_new, y_new, varies) for varies in (True, False))
    # the information of one row on the log of its scale is the mean of (r l'(r) - 1)²
    r = SHAPE.quantile((np.arange(10_000) + 0.5) / 10_000)
    information = np.mean((r * SHAPE.derivative(r, 0.0) + 1.0) ** 2)
    error = 1.0 / np.sqrt(n * information * x.var())
    assert found == pytest.approx(rate, abs=2.5 * error)
    ends = x_new < -1.0, x_new > 1.0  # 1000 targets each: a share of 0.9 has an error of 0.01
    assert abs(even[ends[0]].mean() - even[ends[1]].mean()) < 0.06
    assert uneven[ends[0]].mean() - uneven[ends[1]].mean() > 0.12
