"""Kernels and rows for the tests of the covariance functions."""

import numpy as np

from pymc_bsvm.estimators.kernels import (
    RBF,
    Arcsine,
    BSpline,
    Dirichlet,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
)

WITH_SCALES = (
    *(RBF, Matern32, Matern52, Linear, Polynomial),
    *(Periodic, BSpline, Dirichlet, Arcsine),
)
KERNELS = (
    *(kind(ard=ard) for kind in WITH_SCALES for ard in (False, True)),
    Polynomial(degree=1),
    Polynomial(degree=4, ard=True),
    BSpline(p=2, ard=True),
    BSpline(p=4),
    Dirichlet(order=1, ard=True),
    RBF() + Linear(ard=True),
    RBF(ard=True) + Matern32() + RBF(),
    Periodic() + BSpline(ard=True),
)
COLUMNS = (1, 2, 5)


def rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def values(kernel: Kernel, d: int, seed: int = 1) -> np.ndarray:
    """Return hyperparameters near their starts, all different."""
    start = np.array([h.start for h in kernel.hyperparameters(d)])
    return start * np.exp(0.3 * np.random.default_rng(seed).normal(size=start.size))


def name(case: object) -> str:
    return repr(case).replace(" ", "")
