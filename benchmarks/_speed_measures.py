"""What `speed.py` measures, each in a process of its own: functions that return numbers by name."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from benchmarks._meter import Meter
from pymc_bsvm import datasets
from pymc_bsvm.estimators import BayesianSVR

__all__ = ["MEASURES"]

REPEATS = 5
NOISE = {"noise": "gaussian", "sigma": 0.1}
OUTLIERS = NOISE | {"outliers": 0.1, "outlier_scale": 1.0}

type Numbers = dict[str, float]


def median(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median time of a call, after one that is not counted."""
    run()
    times = []
    for _ in range(REPEATS):
        start = clock()
        run()
        times.append(clock() - start)
    return statistics.median(times)


def both(run: Callable[[], object]) -> tuple[float, float]:
    """Return the median wall and CPU times of a call."""
    run()
    found = []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall, cpu = zip(*found, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def sinc(n: int, noise: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Draw a set that no setting was chosen on."""
    X, y = datasets.sinc(n, random_state=4242 + n, **noise)
    return X, y


def floor(X: np.ndarray) -> tuple[float, float]:
    """Return the times of a kernel matrix with its Cholesky factor, and of the factor alone."""

    def kernel() -> np.ndarray:
        return np.exp(-0.5 * cdist(X, X, "sqeuclidean")) + 0.1 * np.eye(len(X))

    K = kernel()

    def factor() -> object:
        return scipy.linalg.cholesky(K, lower=True, check_finite=False)

    cholesky = median(factor)
    return median(kernel) + cholesky, cholesky


def gpr(ard: int = 1) -> Any:
    """Return scikit-learn's Gaussian process regression with a noise level to learn."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    scales = np.ones(ard) if ard > 1 else 1.0
    return GaussianProcessRegressor(
        ConstantKernel() * RBF(scales) + WhiteKernel(), normalize_y=True
    )


def fit(n: int, outliers: bool = False) -> Numbers:
    """Fit with the defaults."""
    X, y = sinc(n, OUTLIERS if outliers else NOISE)
    wall, cpu = both(lambda: BayesianSVR().fit(X, y))
    least, cholesky = floor(X)
    return {"wall": wall, "cpu": cpu, "floor": least, "cholesky": cholesky}


def peer(n: int, outliers: bool = False) -> Numbers:
    """Fit beside Gaussian process regression."""
    X, y = sinc(n, OUTLIERS if outliers else NOISE)
    return fit(n, outliers) | {"peer": median(lambda: gpr().fit(X, y))}


def six_inputs() -> Numbers:
    """Fit a smooth function of six inputs with little noise and a length-scale for each."""
    rng = np.random.default_rng(4242)
    X = rng.uniform(size=(280, 6))
    f = (
        np.sin(3.0 * X[:, 0] * X[:, 1])
        + (X[:, 2] - 0.5) ** 2
        + X[:, 3]
        + 0.5 * np.cos(4.0 * X[:, 4])
    )
    y = f + 0.01 * np.ptp(f) * rng.normal(size=280)
    ours = median(lambda: BayesianSVR(ard=True).fit(X, y), time.process_time)
    theirs = median(lambda: gpr(6).fit(X, y), time.process_time)
    return {"cpu": ours, "peer": theirs}


def intervals(n: int) -> Numbers:
    """Predict intervals of new targets, and the standard deviation alone."""
    X, y = sinc(1000, NOISE)
    model, X_new = BayesianSVR().fit(X, y), sinc(n + 1, NOISE)[0]
    return {
        "std": median(lambda: model.predict(X_new, return_std=True)),
        "interval": median(lambda: model.predict_interval(X_new, 0.9)),
        "three": median(lambda: model.predict_interval(X_new, [0.5, 0.8, 0.95])),
    }


def solver(n: int, loss: str) -> Numbers:
    """Solve beside LIBSVM, on the loss that it has."""
    from benchmarks.solver import class_problem, floor_ms, libsvm, median_ms, sinc_problem
    from pymc_bsvm import losses, solve_dual

    made = {
        "silf .3": losses.SILF(10.0, 0.1, 0.3),
        "silf .1": losses.SILF(10.0, 0.1, 0.1),
        "epsilon": losses.EpsilonInsensitive(10.0, 0.1),
        "hinge": losses.SoftMarginL1(1.0),
        "trigonometric": losses.Trigonometric(1.0),
    }[loss]
    K, y = (sinc_problem if made.task == "regression" else class_problem)(n)
    settings = {"tol": 1e-8, "bias": not made.differentiable, "engine": "numba"}
    solution = solve_dual(K, y, made, **settings)
    numbers = {
        "ours": median_ms(lambda: solve_dual(K, y, made, **settings)),
        "floor": floor_ms(K, solution) / solution.n_iter,
    }
    if loss != "trigonometric":
        named = losses.EpsilonInsensitive(10.0, 0.1) if loss.startswith("silf") else made
        numbers["LIBSVM"], _ = libsvm(K, y, named)
    return numbers


def first_evidence() -> Numbers:
    """Fit a new model, from its definition to the answer."""
    import pymc as pm

    import pymc_bsvm as bsvm

    X, y = sinc(200, NOISE)
    with pm.Model() as model:
        ls, eta = pm.InverseGamma("ls", 3, 5), pm.HalfNormal("eta", 1)
        C, epsilon = pm.LogNormal("C", 2, 1), pm.HalfNormal("epsilon", 0.3)
        gp = bsvm.gp.BSVR(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls))
        gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon)
    with Meter() as meter:
        bsvm.fit_evidence(model, progressbar=False)
    return {"cpu": meter.cpu}


def first_fit() -> Numbers:
    """Fit an estimator for the first time."""
    X, y = sinc(200, NOISE)
    with Meter() as meter:
        BayesianSVR().fit(X, y)
    return {"cpu": meter.cpu}


def full_bayes() -> Numbers:
    """Sample the hyperparameters of an estimator."""
    X, y = sinc(60, NOISE)
    with Meter() as meter:
        BayesianSVR(full_bayes=True, random_state=0).fit(X, y)
    return {"cpu": meter.cpu}


def memory(n: int, beta: float) -> Numbers:
    """Fit many rows; memory in matrices of n x n, and the share of the rows that are free."""
    X, y = sinc(n, NOISE)
    BayesianSVR(beta=beta).fit(X[:400], y[:400])
    with Meter() as before:
        pass
    with Meter() as meter:
        model = BayesianSVR(beta=beta).fit(X, y)
    matrix = 8.0 * n**2 / 2**30
    return {
        "matrices": (meter.memory - before.memory) / matrix,
        "free": float(model.free_.sum()) / n,
        "wall": meter.wall,
    }


_ALL = fit, peer, six_inputs, intervals, solver, first_evidence, first_fit, full_bayes, memory
MEASURES: dict[str, Callable[..., Numbers]] = {each.__name__: each for each in _ALL}
