"""The log probability of sparse models: against dense ones, PyMC, differences, and by hand."""

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.covariance.inducing import Inducing
from tests.gp import cases
from tests.gp.cases import ard, assert_gradient, evidence_function

LOSSES = [*cases.LOSSES[:1], *cases.LOSSES[2:5]]
both = pytest.mark.parametrize("approx", ["VFE", "DTC"])
XU = np.array([[-1.5, -1.0], [-0.5, 1.0], [0.2, -0.4], [0.9, 1.3], [1.6, -1.2], [0.0, 0.5]])
JITTER = 1e-6


def sparse(data, loss, approx="VFE", **kwargs):
    """Return a model with flat priors of length-scales, inducing points and loss's parameters."""
    with pm.Model() as model:
        own = [pm.Flat(name) for name in loss.domains]
        cov_func = cases.ard_cov(pm.Flat("ls", shape=2))
        gp = bsvm.gp.SparseLaplace(approx, cov_func=cov_func)
        y = cases.targets(data, loss)
        Xu = pm.Flat("Xu", shape=XU.shape)
        gp.marginal_likelihood("y", data.X, Xu, y, type(loss)(*own), jitter=JITTER, **kwargs)
    return model, gp


def inducing(X, Xu, ls, charge=0.0):
    """Return the covariance by hand."""
    K = ard(Xu, Xu, ls) + JITTER * np.eye(len(Xu))
    A = np.linalg.solve(np.linalg.cholesky(K), ard(Xu, X, ls)).T
    return Inducing(A, 1.9 - (A**2).sum(axis=1), charge)


def by_hand(data, loss, approx, curvature="smooth"):
    """Return the log evidence as a function of a point, and the sets there."""
    y = cases.signed(data, loss)

    def function(point):
        own = type(loss)(*(float(point[name]) for name in loss.domains))
        K = inducing(data.X, point["Xu"], point["ls"])
        found = bsvm.laplace_evidence(bsvm.LowRank(K.A), y, own, curvature)
        f = found.solution.f
        smooth = found.ramp_width > 0.0
        W = own.smooth_curvature(y, f, found.ramp_width) if smooth else own.curvature(y, f)
        charge = 0.5 * (W * K.left_out).sum() if approx == "VFE" else 0.0
        return found.log_evidence - charge, np.r_[found.solution.free, found.solution.bound]

    return function


@pytest.mark.parametrize(
    ("loss", "approx"), [(LOSSES[0], "DTC"), *((loss, "VFE") for loss in LOSSES)], ids=repr
)
def test_value_and_gradient(loss, approx, data):
    """In the length-scales, the inducing points and the parameters of the loss."""
    model, gp = sparse(data, loss, approx)
    point = {**cases.point_of(loss), "Xu": XU}
    expected = by_hand(data, loss, approx)
    value, gradient = evidence_function(model)(point)
    assert set(gradient) == {"ls", "Xu", *loss.domains}
    assert value == pytest.approx(expected(point)[0], rel=1e-9)
    assert_gradient(expected, point, gradient, rtol=1e-5, atol=5e-6)
    found = gp.evidence(point, model=model)
    assert found.log_evidence == pytest.approx(value, rel=1e-10)
    assert sum(found.terms.values()) == found.log_evidence


@pytest.mark.parametrize("loss", [cases.LOSSES[0], cases.LOSSES[3]], ids=repr)
def test_exact_curvature(loss, data):
    model, gp = sparse(data, loss, curvature="exact")
    point = {**cases.point_of(loss), "Xu": XU}
    expected = by_hand(data, loss, "VFE", "exact")
    value, gradient = evidence_function(model)(point)
    assert value == pytest.approx(expected(point)[0], rel=1e-9)
    assert_gradient(expected, point, gradient, rtol=1e-5, atol=5e-6)
    assert gp.evidence(point, model=model).log_evidence == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_all_rows_as_inducing_points(loss):
    """The dense model: evidence, gradient and predictions."""
    data = cases.plane(40)
    point = {**cases.point_of(loss), "ls": np.array([0.5, 0.6])}
    theirs, dense = cases.of_loss(loss, data)
    with pm.Model() as model:
        own = [pm.Flat(name) for name in loss.domains]
        gp = bsvm.gp.SparseLaplace("DTC", cov_func=cases.ard_cov(pm.Flat("ls", shape=2)))
        y = cases.targets(data, loss)
        gp.marginal_likelihood("y", data.X, data.X, y, type(loss)(*own), jitter=1e-12)
    value, gradient = evidence_function(model)(point)
    expected, slope = evidence_function(theirs)(point)
    assert value == pytest.approx(expected, abs=1e-7)
    for name, of_name in slope.items():
        np.testing.assert_allclose(gradient[name], of_name, rtol=1e-6, atol=1e-6)
    for diag in (True, False):
        got = gp.predict(data.new, point, diag=diag, model=model)
        for one, other in zip(got, dense.predict(data.new, point, diag, model=theirs), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-8)


# ---- Gaussian noise: PyMC's own approximations ----------------------------------------------


def gaussian_pair(data, approx):
    """Return PyMC's model and ours, with flat priors for all there is."""
    pair = []
    for ours in (False, True):
        with pm.Model() as model:
            sigma, ls = pm.Flat("sigma"), pm.Flat("ls", shape=2)
            Xu = pm.Flat("Xu", shape=XU.shape)
            parts = {"cov_func": cases.ard_cov(ls), "mean_func": pm.gp.mean.Constant(0.3)}
            if ours:
                gp = bsvm.gp.SparseLaplace(approx, **parts)
                gp.marginal_likelihood("y", data.X, Xu, data.y, losses.Gaussian(sigma))
            else:
                gp = pm.gp.MarginalApprox(approx, **parts)
                gp.marginal_likelihood("y", data.X, Xu, data.y, sigma=sigma)
        pair.append((model, gp))
    return pair


@both
def test_gaussian_noise_is_marginal_approx(approx, data):
    (theirs, their_gp), (model, gp) = gaussian_pair(data, approx)
    point = {"sigma": 0.35, "ls": cases.POINT["ls"], "Xu": XU}
    [potential] = theirs.replace_rvs_by_values(theirs.potentials)
    outputs = [potential, *pytensor.grad(potential, theirs.value_vars)]
    function = pytensor.function(theirs.value_vars, outputs, mode=cases.UNFUSED)
    expected, *slopes = function(*(point[v.name] for v in theirs.value_vars))
    value, gradient = evidence_function(model)(point)
    assert value == pytest.approx(float(expected), abs=1e-8)
    for variable, slope in zip(theirs.value_vars, slopes, strict=True):
        np.testing.assert_allclose(gradient[variable.name], slope, rtol=1e-7, atol=1e-8)
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        for noise in (True, False):
            for diag in (True, False):
                arguments = {"point": point, "diag": diag, "pred_noise": noise}
                got = gp.predict(data.new, model=model, **arguments)
                both = their_gp.predict(data.new, model=theirs, **arguments)
                for one, other in zip(got, both, strict=True):
                    # PyMC adds 1e-6 to the diagonal of a covariance without noise
                    np.testing.assert_allclose(one, other, atol=1.1e-6 * (not diag) + 1e-9)


# ---- what the process offers ----------------------------------------------------------------


def test_numbers_have_the_gradient_of_the_graph(data):
    """`Evidence.gradient` of inducing points, the variances left out among them."""
    loss = losses.SILF(5.0, 0.2, 0.3)
    K = inducing(data.X, XU, cases.POINT["ls"], charge=0.7)
    slopes = bsvm.laplace_evidence(K, data.y, loss).gradient
    rng, step = np.random.default_rng(4), 1e-6
    for name in ("A", "left_out"):
        direction = rng.normal(size=getattr(K, name).shape)
        ends = []
        for sign in (1.0, -1.0):
            moved = {"A": K.A, "left_out": K.left_out}
            moved[name] = moved[name] + sign * step * direction
            ends.append(bsvm.laplace_evidence(Inducing(**moved, charge=0.7), data.y, loss))
        difference = (ends[0].log_evidence - ends[1].log_evidence) / (2.0 * step)
        of_name = slopes.K.A if name == "A" else slopes.K.d
        assert (of_name * direction).sum() == pytest.approx(difference, rel=1e-6), name


def test_fit_evidence(data):
    """The search ends at a maximum, also in the inducing points, above where it began."""
    with pm.Model() as model:
        ls, C = pm.LogNormal("ls", 0.0, 0.5, shape=2), pm.LogNormal("C", 1.0, 0.5)
        Xu = pm.Normal("Xu", XU, 0.3, shape=XU.shape)
        gp = bsvm.gp.SparseBSVR(cov_func=cases.ard_cov(ls))
        gp.marginal_likelihood("y", data.X, Xu, data.y, C=C, epsilon=0.2)
        with pytensor.config.change_flags(mode="FAST_COMPILE"):
            fit = bsvm.fit_evidence(progressbar=False)
    assert fit.converged
    here, gradient = evidence_function(model)(model.initial_point())
    assert fit.log_evidence > here + 1.0
    assert gp.evidence(fit.point, model=model).log_evidence == pytest.approx(fit.log_evidence)
    table = bsvm.compare_evidence({"sparse": fit})
    assert table.loc["sparse", "log_evidence"] == fit.log_evidence
    assert set(gradient) == {"ls_log__", "C_log__", "Xu"}
