"""Covariance functions for PyMC against plain formulas."""

import numpy as np
import pymc as pm
import pytensor
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm.gp import cov

X = np.random.default_rng(0).normal(size=(6, 3))
Z = np.random.default_rng(1).normal(size=(4, 3))
SCALES = np.array([0.7, 1.3])


def evaluate(graph):
    return pytensor.function([], graph, mode="FAST_COMPILE")()


def cubic(A, B):
    """Return (3.47) of [Chu03] for p = 1 in its pieces, as a product over columns."""
    u = np.abs(A[:, None] - B[None]) / SCALES
    near, far = 2.0 / 3.0 - u**2 + u**3 / 2.0, np.maximum(2.0 - u, 0.0) ** 3 / 6.0
    return np.prod(np.where(u < 1.0, near, far) / (2.0 / 3.0), axis=-1)


def trigonometric(A, B):
    """Return the quotient of sines of (3.50)."""
    u = 2.0 * np.pi * (A[:, None] - B[None]) / SCALES
    with np.errstate(invalid="ignore"):
        quotient = np.sin(2.5 * u) / np.sin(0.5 * u) / 5.0
    return np.prod(np.where(u == 0.0, 1.0, quotient), axis=-1)


def angle(A, B):
    """Return (4.29) of [RW06]."""
    A, B = (np.column_stack([np.full(len(each), 0.6), each / SCALES]) for each in (A, B))
    left, right = (1.0 + 2.0 * np.sum(each**2, axis=1) for each in (A, B))
    return 2.0 / np.pi * np.arcsin(2.0 * A @ B.T / np.sqrt(np.outer(left, right)))


CASES = {
    "spline": (lambda d, **k: cov.BSpline(d, SCALES, **k), cubic),
    "dirichlet": (lambda d, **k: cov.Dirichlet(d, SCALES, order=2, **k), trigonometric),
    "arcsine": (lambda d, **k: cov.Arcsine(d, SCALES, bias=0.6, **k), angle),
}
every_case = pytest.mark.parametrize(("make", "formula"), CASES.values(), ids=CASES)


@every_case
def test_formulas(make, formula):
    k, A, B = make(2), X[:, :2], Z[:, :2]
    np.testing.assert_allclose(evaluate(k(A)), formula(A, A), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(evaluate(k(A, B)), formula(A, B), rtol=1e-10, atol=1e-12)
    variances = np.diagonal(formula(A, A))
    np.testing.assert_allclose(evaluate(k(A, diag=True)), variances, rtol=1e-12)


@every_case
def test_columns_that_count(make, formula):
    k = make(3, active_dims=[0, 2])
    expected = formula(X[:, [0, 2]], Z[:, [0, 2]])
    np.testing.assert_allclose(evaluate(k(X, Z)), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        evaluate(k(X, diag=True)), np.diagonal(formula(X[:, [0, 2]], X[:, [0, 2]])), rtol=1e-12
    )


def test_sums_and_products():
    k = 2.0 * CASES["spline"][0](2) + CASES["arcsine"][0](2) * pm.gp.cov.Constant(3.0)
    expected = 2.0 * cubic(X[:, :2], Z[:, :2]) + 3.0 * angle(X[:, :2], Z[:, :2])
    np.testing.assert_allclose(evaluate(k(X[:, :2], Z[:, :2])), expected, rtol=1e-10)


def test_in_a_model():
    x, y = bsvm.datasets.sinc(15, random_state=1)
    with pm.Model() as model:
        ls = pm.InverseGamma("ls", 3, 5)
        gp = bsvm.gp.BSVR(cov_func=cov.BSpline(1, ls=ls))
        gp.marginal_likelihood("y", X=x, y=y, C=10.0, epsilon=0.1)
    evidence = gp.evidence({"ls": 2.0}, model=model).log_evidence
    u = np.abs(x - x.T) / 2.0
    K = np.where(u < 1.0, 4.0 - 6.0 * u**2 + 3.0 * u**3, np.maximum(2.0 - u, 0.0) ** 3) / 4.0
    loss = bsvm.losses.SILF(C=10.0, epsilon=0.1)
    assert evidence == pytest.approx(bsvm.laplace_evidence(K, y, loss).log_evidence, abs=1e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cov.BSpline(1, 1.0, p=0), "p must be an integer from 1 to 10"),
        (lambda: cov.Dirichlet(1, 1.0, order=1.5), "order must be a positive integer"),
    ],
)
def test_errors(make, words):
    with pytest.raises(ValueError, match=rf"{words}, but it is .*\. Pass"):
        make()
