"""Small models and their fits, and the same numbers in NumPy and SciPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm.inference import EvidenceFit
from tests.gp import cases


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """Compile in a second what Numba compiles in half a minute."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture(scope="module")
def data() -> cases.Data:
    return cases.plane(25)


@pytest.fixture(scope="module")
def process(data: cases.Data) -> cases.Process:
    return cases.regression(data.X, data.y)


@pytest.fixture(scope="module")
def fit(quick: None, process: cases.Process) -> EvidenceFit:
    """Three starts that end at three modes."""
    return bsvm.fit_evidence(
        process.model, restarts=3, random_seed=1, progressbar=False, hessian=True
    )


# ---- the models in NumPy ------------------------------------------------------------------------


def log_evidence(data: cases.Data, ls: Any, C: float, epsilon: float) -> float:
    """Return the log evidence of `cases.regression`."""
    K = cases.ard(data.X, data.X, ls)
    return bsvm.laplace_evidence(K, data.y, losses.SILF(C, epsilon, 0.3)).log_evidence


def log_prior(ls: Any, C: float, epsilon: float) -> float:
    """Return the log prior density of `cases.regression`, on the variables' own scale."""
    return float(
        stats.lognorm.logpdf(ls, 0.5).sum()
        + stats.lognorm.logpdf(C, 0.5, scale=np.e)
        + stats.halfnorm.logpdf(epsilon, scale=0.3)
    )


def line() -> tuple[np.ndarray, np.ndarray]:
    """Return thirty rows along a line, with an outlier."""
    rng = np.random.default_rng(4)
    x = np.linspace(-3.0, 3.0, 30)
    y = np.sin(x) + 0.15 * rng.normal(size=30)
    y[11] += 1.5
    return x[:, None], y


def two_parameters(curvature: Any = "smooth") -> cases.Process:
    """Return a model of `line` with a length-scale and C."""
    X, y = line()
    with pm.Model() as model:
        ls, C = pm.LogNormal("ls", 0.0, 0.5), pm.LogNormal("C", 1.0, 0.5)
        gp = bsvm.gp.BSVR(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, y, C=C, epsilon=0.15, curvature=curvature)
    return cases.Process(model, gp)


def log_evidence_of_two(u: np.ndarray) -> float:
    """Return the log evidence of `two_parameters` at logs of its hyperparameters."""
    X, y = line()
    K = 1.4 * cases.expquad(X, X, np.exp(u[0]))
    return bsvm.laplace_evidence(K, y, losses.SILF(np.exp(u[1]), 0.15, 0.3)).log_evidence


def log_prior_of_two(u: np.ndarray) -> float:
    """Return the log prior density of either, on the variables' own scale."""
    ls, second = np.exp(u)
    return float(stats.lognorm.logpdf(ls, 0.5) + stats.lognorm.logpdf(second, 0.5, scale=np.e))


def gaussian() -> cases.Process:
    """Return a model of `line` whose evidence is that of Gaussian process regression.

    Its one mode is round, where that of a sparse loss has small steps on it.
    """
    X, y = line()
    with pm.Model() as model:
        ls, sigma = pm.LogNormal("ls", 0.0, 0.5), pm.LogNormal("sigma", 1.0, 0.5)
        gp = bsvm.gp.Laplace(cov_func=1.4 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X, y, loss=losses.Gaussian(sigma))
    return cases.Process(model, gp)


def log_evidence_of_gaussian(u: np.ndarray) -> float:
    """Return the log density of the targets of `gaussian` at logs of its hyperparameters."""
    X, y = line()
    K = 1.4 * cases.expquad(X, X, np.exp(u[0])) + np.exp(2.0 * u[1]) * np.eye(30)
    return float(stats.multivariate_normal.logpdf(y, np.zeros(30), K))
