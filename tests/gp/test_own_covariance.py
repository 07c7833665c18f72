"""Covariance functions that users write, with what PyMC's base class does not ask of them."""

import warnings

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.gp import evaluator
from tests.refusal import refused

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(20, 2)), RNG.normal(size=(7, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=20)


class Full(pm.gp.cov.Covariance):
    """exp(-r² / 2), without diag."""

    def full(self, X, Xs=None):
        X, Xs = self._slice(X, Xs)
        Xs = X if Xs is None else Xs
        return pt.exp(-0.5 * pt.sqr(X[:, None] - Xs[None]).sum(axis=-1))


class Neither(pm.gp.cov.Covariance):
    """Without anything."""


def gp_of(cov_func, kind=bsvm.gp.BSVR, **changes):
    with pm.Model() as model:
        gp = kind(cov_func=cov_func)
        gp.marginal_likelihood("y", X=X, y=Y, C=4.0, epsilon=0.1, **changes)
    return model, gp


def expquad():
    return pm.gp.cov.ExpQuad(2, ls=1.0)


@pytest.mark.parametrize(
    ("own", "known"),
    [
        (Full(2), expquad()),
        (2.0 * Full(2) + pm.gp.cov.Constant(0.5), 2.0 * expquad() + pm.gp.cov.Constant(0.5)),
        (Full(2) ** 2, expquad() ** 2),
    ],
    ids=["alone", "in a sum", "a power"],
)
def test_full_without_diag(own, known, monkeypatch):
    monkeypatch.setattr(evaluator, "_CHUNK", 16)  # blocks of four rows at most
    found, expected = (
        gp.predict(NEW, {}, diag=True, model=model) for model, gp in map(gp_of, (own, known))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)  # rounding of two ways to a distance
    model, gp = gp_of(own)
    joint = gp.predict(NEW, {}, model=model)[1]
    np.testing.assert_allclose(joint.diagonal(), expected[1], rtol=1e-9)


def test_inducing_points_need_the_variances():
    with refused(NotImplementedError, "Prod states no variances", "Add a method diag(self, X)"):
        gp_of(2.0 * Full(2), bsvm.gp.SparseBSVR, Xu=X[:4])


@pytest.mark.parametrize("kind", [bsvm.gp.BSVR, bsvm.gp.SparseBSVR])
def test_no_covariance_at_all(kind):
    changes = {"Xu": X[:4]} if kind is bsvm.gp.SparseBSVR else {}
    with refused(NotImplementedError, "Neither has no covariance matrix", "full(self, X, Xs=None)"):
        gp_of(Neither(2), kind, **changes)


def test_what_is_no_covariance_function():
    with refused(TypeError, "it is of type function", "derive yours from pm.gp.cov.Covariance"):
        bsvm.gp.BSVR(cov_func=lambda X: X @ X.T)
    with refused(TypeError, "it is 0.5", "pm.gp.mean.Constant(c)"):
        bsvm.gp.BSVR(cov_func=expquad(), mean_func=0.5)


@pytest.mark.parametrize("kind", [bsvm.gp.BSVR, bsvm.gp.SparseBSVR])
def test_what_jax_leaves_out_is_said_once(kind):
    """Two pairs of rows are compared, and PyTensor warned of each, quoting the error itself."""
    points = {"Xu": X[:4]} if kind is bsvm.gp.SparseBSVR else {}
    with pm.Model() as model:
        ls = pm.LogNormal("ls", 0.0, 1.0)  # a model of constants is a number before JAX sees it
        gp = kind(cov_func=pm.gp.cov.ExpQuad(2, ls=ls))
        gp.marginal_likelihood("y", X=X, y=Y, C=4.0, epsilon=0.1, **points)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.compile_logp(mode="JAX", sum=True)
    (said,) = (str(x.message) for x in caught if "two rows" in str(x.message))
    assert said.startswith("JAX does not check whether the covariance of two rows depends on")
    assert not any("Skipping CheckAndRaise" in str(x.message) for x in caught)
