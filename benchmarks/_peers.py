"""What users take today beside the estimators, what each says of new rows, and its measures."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks._sets import Split
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR

__all__ = [
    "GPFLOW",
    "GPFLOW_ARD",
    "GPY",
    "GPY_ARD",
    "Clock",
    "Forecast",
    "Verdict",
    "bayesian_svc",
    "bayesian_svr",
    "boosted_classes",
    "boosted_mean",
    "boosted_quantiles",
    "gaussian",
    "gpc",
    "gpr",
    "of_forecast",
    "of_verdict",
    "student",
    "svc_platt",
    "svr_grid",
]

GRID_C, GRID_GAMMA = np.logspace(-2, 4, 7), np.logspace(-3, 3, 7)
COVERAGE = 0.9

type Array = NDArray[np.float64]


class Clock:
    """CPU and wall seconds of a block."""

    def __enter__(self) -> Self:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.cpu = time.process_time() - self._cpu
        self.wall = time.perf_counter() - self._wall


class Forecast(NamedTuple):
    """What a regression method says of the new rows, and what it cost."""

    cpu: float
    wall: float
    support: float
    mean: Array
    log_density: Array
    covered: NDArray[np.bool_]


def gaussian(clock: Clock, support: float, split: Split, mean: Array, std: Any) -> Forecast:
    """Return the forecast of a normal predictive distribution."""
    z = (split.y_new - mean) / std
    inside = np.abs(z) <= stats.norm.ppf(0.5 + 0.5 * COVERAGE)
    return Forecast(
        clock.cpu, clock.wall, support, mean, stats.norm.logpdf(z) - np.log(std), inside
    )


def bayesian_svr(split: Split, seed: int, **settings: Any) -> Forecast:
    """Fit ours."""
    model = BayesianSVR(random_state=seed, **settings)
    with Clock() as clock:
        model.fit(split.X, split.y)
    low, high = model.predict_interval(split.X_new, COVERAGE)
    return Forecast(
        clock.cpu,
        clock.wall,
        model.support_.size,
        np.asarray(model.predict(split.X_new)),
        model.log_predictive_density(split.X_new, split.y_new),
        (low <= split.y_new) & (split.y_new <= high),
    )


def svr_grid(split: Split, standardize: bool = True) -> Forecast:
    """Fit SVR by 5-fold cross-validation; its density is normal with the error of the folds.

    The tube is 0.1, of targets of variance one if they are standardised.
    """
    unit = split.y.std() if standardize else 1.0
    centre = split.y.mean() if standardize else 0.0
    machine = make_pipeline(StandardScaler(), SVR()) if standardize else make_pipeline(SVR())
    grid = {"svr__C": GRID_C, "svr__gamma": GRID_GAMMA}
    search = GridSearchCV(machine, grid, scoring="neg_mean_squared_error", n_jobs=1)
    with Clock() as clock:
        search.fit(split.X, (split.y - centre) / unit)
    mean = centre + unit * search.predict(split.X_new)
    std = unit * np.sqrt(-search.best_score_)
    support = search.best_estimator_[-1].support_.size
    return gaussian(clock, support, split, mean, np.full(mean.size, std))


def gpr(split: Split, ard: bool = False) -> Forecast:
    """Fit a Gaussian process with normal noise."""
    d = split.X.shape[1]
    length = np.full(d, np.sqrt(d)) if ard else np.sqrt(d)
    kernel = ConstantKernel() * RBF(length) + WhiteKernel()
    scaler = StandardScaler()
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    with Clock() as clock:
        model.fit(scaler.fit_transform(split.X), split.y)
    mean, std = model.predict(scaler.transform(split.X_new), return_std=True)
    return gaussian(clock, np.nan, split, mean, std)


GPY = """
import GPy
X, y, X_new = load()
begin()
model = GPy.core.GP(
    X, y[:, None], GPy.kern.RBF(1, variance=y.var()),
    GPy.likelihoods.StudentT(deg_free=4.0, sigma2=0.1 * y.var()),
    inference_method=GPy.inference.latent_function_inference.Laplace(),
)
model[".*deg_free"].fix(4.0)  # GPy learns them otherwise
model.optimize(max_iters=1000)
end()
mean, variance = model._raw_predict(X_new)
save(mean, variance, float(model.likelihood.sigma2[0]) ** 0.5)
"""

GPFLOW = """
import gpflow
X, y, X_new = load()
begin()
Z = np.quantile(X, np.linspace(0, 1, 50), axis=0)
likelihood = gpflow.likelihoods.StudentT(scale=float(0.3 * y.std()), df=4.0)
kernel = gpflow.kernels.SquaredExponential(variance=y.var())
model = gpflow.models.SVGP(kernel, likelihood, Z, num_data=y.size)
gpflow.optimizers.Scipy().minimize(
    model.training_loss_closure((X, y[:, None])), model.trainable_variables,
    options={"maxiter": 2000},
)
end()
mean, variance = model.predict_f(X_new)
save(mean, variance, float(likelihood.scale.numpy()))
"""

STANDARDISED = """X, y, X_new = load()
m, s = X.mean(0), X.std(0)
X, X_new = (X - m) / s, (X_new - m) / s
centre = y.mean()
y = y - centre
"""


def standardised(code: str) -> str:
    """Return code that standardises columns and centres targets, with a scale for each column."""
    return (
        code.replace("X, y, X_new = load()\n", STANDARDISED)
        .replace("GPy.kern.RBF(1,", "GPy.kern.RBF(X.shape[1], ARD=True,")
        .replace("y.var())\nmodel = gpflow", "y.var(), lengthscales=0 * m + 1)\nmodel = gpflow")
        .replace("Z = np.quantile(X, np.linspace(0, 1, 50), axis=0)", "Z = X[:50].copy()")
        .replace("save(mean, ", "save(mean + centre, ")
    )


GPY_ARD, GPFLOW_ARD = standardised(GPY), standardised(GPFLOW)

HARNESS = """
import sys, time
import numpy as np

def load():
    data = np.load(sys.argv[1])
    return data["X"], data["y"], data["X_new"]

def begin():
    global cpu, wall
    cpu, wall = time.process_time(), time.perf_counter()

def end():
    global cpu, wall
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall

def save(mean, variance, scale):
    flat = {"mean": np.ravel(mean), "variance": np.ravel(variance)}
    np.savez(sys.argv[2], scale=scale, cpu=cpu, wall=wall, **flat)
"""


def student(interpreter: str, code: str, split: Split) -> Forecast:
    """Fit a Student-t process of another library, with 4 degrees of freedom, imports not timed."""
    with tempfile.TemporaryDirectory() as folder:
        given, result = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(given, X=split.X, y=split.y, X_new=split.X_new)
        subprocess.run(
            [interpreter, "-W", "ignore", "-c", HARNESS + code, str(given), str(result)],
            check=True,
            capture_output=True,
            env={**os.environ, "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"},
        )
        out = dict(np.load(result))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    latent = out["mean"][:, None] + np.sqrt(out["variance"])[:, None] * nodes
    noise = stats.t(4.0, scale=out["scale"])
    residual = split.y_new[:, None] - latent
    weights = weights / weights.sum()
    below, tail = noise.cdf(residual) @ weights, 0.5 * (1.0 - COVERAGE)
    inside = (tail <= below) & (below <= 1.0 - tail)
    density = np.log(noise.pdf(residual) @ weights)
    cpu, wall = float(out["cpu"]), float(out["wall"])
    return Forecast(cpu, wall, np.nan, out["mean"], density, inside)


def boosted_mean(split: Split) -> Forecast:
    """Fit trees to the mean; the density is normal with the error of 5 folds."""
    model = HistGradientBoostingRegressor(random_state=0)
    with Clock() as clock:
        scores = cross_val_score(model, split.X, split.y, scoring="neg_mean_squared_error")
        model.fit(split.X, split.y)
    mean = model.predict(split.X_new)
    std = np.full(mean.size, np.sqrt(-scores.mean()))
    return gaussian(clock, np.nan, split, mean, std)


def boosted_quantiles(split: Split) -> Forecast:
    """Fit trees to the median and to the ends of the interval; there is no density."""
    tail = 0.5 * (1.0 - COVERAGE)
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0)
        for q in (tail, 0.5, 1.0 - tail)
    ]
    with Clock() as clock:
        for model in models:
            model.fit(split.X, split.y)
    low, middle, high = (model.predict(split.X_new) for model in models)
    inside = (low <= split.y_new) & (split.y_new <= high)
    return Forecast(clock.cpu, clock.wall, np.nan, middle, np.full(middle.size, np.nan), inside)


class Verdict(NamedTuple):
    """Class probabilities of the new rows, and what they cost."""

    cpu: float
    wall: float
    support: float
    probability: Array


def bayesian_svc(split: Split, **settings: Any) -> Verdict:
    """Fit ours."""
    model = BayesianSVC(random_state=0, **settings)
    with Clock() as clock:
        model.fit(split.X, split.y)
    return Verdict(
        clock.cpu, clock.wall, model.support_.size, np.asarray(model.predict_proba(split.X_new))
    )


def svc_platt(split: Split) -> Verdict:
    """Fit SVC by 5-fold cross-validation, then its sigmoid by 5 folds, as scikit-learn advises."""
    grid = {"svc__C": GRID_C, "svc__gamma": GRID_GAMMA}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, n_jobs=1)
    with Clock() as clock:
        search.fit(split.X, split.y)
        model = CalibratedClassifierCV(search.best_estimator_, ensemble=False)
        model.fit(split.X, split.y)
    support = search.best_estimator_[-1].support_.size
    return Verdict(clock.cpu, clock.wall, support, model.predict_proba(split.X_new))


def gpc(split: Split) -> Verdict:
    """Fit scikit-learn's Laplace classifier."""
    kernel = ConstantKernel() * RBF(np.sqrt(split.X.shape[1]))
    model = make_pipeline(StandardScaler(), GaussianProcessClassifier(kernel))
    with Clock() as clock:
        model.fit(split.X, split.y)
    return Verdict(clock.cpu, clock.wall, np.nan, model.predict_proba(split.X_new))


def boosted_classes(split: Split) -> Verdict:
    """Fit trees."""
    model = HistGradientBoostingClassifier(random_state=0)
    with Clock() as clock:
        model.fit(split.X, split.y)
    return Verdict(clock.cpu, clock.wall, np.nan, model.predict_proba(split.X_new))


def of_forecast(split: Split, forecast: Forecast) -> dict[str, float]:
    """Return the measures of a regression method."""
    target = split.y_new if split.truth is None else split.truth
    return {
        "cpu": forecast.cpu,
        "wall": forecast.wall,
        "support": forecast.support,
        "rmse": float(np.sqrt(np.mean((forecast.mean - target) ** 2))),
        "nlpd": -float(np.mean(forecast.log_density)),
        "coverage": float(np.mean(forecast.covered)),
    }


def of_verdict(split: Split, verdict: Verdict) -> dict[str, float]:
    """Return the measures of a classifier: error and calibration error in per cent."""
    labels = np.unique(split.y)
    right = labels[verdict.probability.argmax(axis=1)] == split.y_new
    confidence = verdict.probability.max(axis=1)
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = [abs(np.sum(right[bins == b] - confidence[bins == b])) for b in range(10)]
    return {
        "cpu": verdict.cpu,
        "wall": verdict.wall,
        "support": verdict.support,
        "error": 100.0 * float(np.mean(~right)),
        "log loss": float(log_loss(split.y_new, verdict.probability, labels=labels)),
        "ece": 100.0 * float(np.sum(gaps)) / len(right),
    }
