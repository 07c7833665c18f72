"""What a user reads who passes the wrong thing to a sparse model."""

import numpy as np
import pymc as pm
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.gp import cases

COV = pm.gp.cov.ExpQuad(2, ls=1.0)


def build(data, approx="VFE", **changes):
    arguments = {"X": data.X, "Xu": data.X[:5], "y": data.y, "C": 4.0, "epsilon": 0.25}
    with pm.Model() as model:
        gp = bsvm.gp.SparseBSVR(approx, cov_func=COV)
        gp.marginal_likelihood("y", **{**arguments, **changes})
    return model, gp


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.zeros(3), "Xu must have two dimensions, but it has 1"),
        (np.zeros((3, 1)), "Xu has 1 columns, but the covariance function takes 2"),
        (np.zeros((3, 3)), "Xu has 3 columns, but X has 2"),
        (np.zeros((0, 2)), "Xu must have rows"),
    ],
)
def test_inducing_points(points, words, data, refuses):
    with refuses(ValueError, words):
        build(data, Xu=points)


def test_points_that_are_not_finite(data):
    with pytest.raises(ValueError, match="Xu must be finite"):
        build(data, Xu=np.full((2, 2), np.nan))
    with pm.Model(), pytest.raises(ValueError, match="Xu has 3 columns, but X has 2"):
        build(data, Xu=pm.Normal.dist(shape=(4, 3)))


def test_unknown_arguments(data):
    message = (
        "SparseBSVR.marginal_likelihood has no argument 'sigma'. Use name, X, Xu, y, C, epsilon, "
        "beta, curvature, jitter, approximation, or PyMC's dims, initval, rng, transform, "
        "default_transform."
    )
    with pytest.raises(TypeError) as caught:
        build(data, sigma=1.0)
    assert str(caught.value) == message


def test_approximations_of_the_prior(refuses):
    with refuses(ValueError, "approx must be 'VFE' or 'DTC', but it is 'FITC'", "MarginalApprox"):
        bsvm.gp.SparseBTSVC("FITC", cov_func=COV)


def test_approximations_of_the_evidence(data, refuses):
    with refuses(ValueError, "approximation is 'ep'", "Use 'laplace'"):
        build(data, approximation="ep")


def test_losses(data, refuses):
    with pm.Model(), refuses(ValueError, "EpsilonInsensitive has no curvature"):
        gp = bsvm.gp.SparseLaplace(cov_func=COV)
        loss = losses.EpsilonInsensitive(1.0, 0.1)
        gp.marginal_likelihood("y", data.X, data.X[:5], data.y, loss)


def test_sums_of_different_processes(refuses):
    vfe, dtc = (bsvm.gp.SparseBSVR(approx, cov_func=COV) for approx in ("VFE", "DTC"))
    with refuses(TypeError, "the approximations 'VFE' and 'DTC'"):
        vfe + dtc
    with pytest.raises(TypeError, match="has no sum with an object of type"):
        vfe + bsvm.gp.BSVR(cov_func=COV)


def test_what_is_given(data, refuses):
    model, gp = build(data)
    given = {"X": data.X, "y": data.y, "C": 4.0, "epsilon": 0.25}
    with refuses(ValueError, "which is only a part", "Pass X, Xu, y and the loss"):
        gp.predict(data.new, {}, given=given, model=model)
    dense = bsvm.gp.BSVR(cov_func=COV)
    with pm.Model():
        dense.marginal_likelihood("y", data.X, data.y, C=4.0, epsilon=0.25)
    with refuses(TypeError, "given['gp'] has no inducing points", "BSVR"):
        gp.predict(data.new, {}, given={"gp": dense}, model=model)
    with refuses(ValueError, "unknown key 'Z'", "Xu"):
        gp.predict(data.new, {}, given={"Z": data.X}, model=model)


def test_diagnoses_by_annealing(data, refuses):
    model, _ = build(data, "DTC")
    with model, refuses(ValueError, "The model is on inducing points", "latent_model"):
        bsvm.verdict(point={}, progressbar=False)


def test_a_covariance_that_has_no_factor(data):
    """Coinciding points without a jitter: no number, and an error at the point."""
    model, gp = build(data, Xu=data.X[[0, 0, 1]], jitter=0.0)
    value, _ = cases.evidence_function(model)({})
    assert np.isnan(value)
    with pytest.raises(ValueError, match="A must be finite"):
        gp.evidence({}, model=model)
