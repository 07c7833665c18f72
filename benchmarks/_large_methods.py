"""What is compared on many rows: ours through the public interface, and what others would take."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._meter import Meter
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR, BayesianSVRCommittee
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.evidence.student import StudentNoise

__all__ = ["CLASSIFIERS", "REGRESSORS", "Method", "Said"]

type Array = NDArray[np.float64]

COVERAGE = 0.9
HELD_OUT = 5000  # rows at most, a tenth at most, to which a peer's noise is fitted
TRIED = 4000  # rows on which a peer's width and penalty are chosen
WIDTHS, PENALTIES = (0.25, 0.5, 1.0, 2.0), (1e-4, 1e-2, 1.0, 100.0)


class Said(NamedTuple):
    """Predictions of the new rows: regression, or the probability of class 1."""

    mean: Array
    log_density: Array | None = None
    ends: tuple[Array, Array] | None = None
    ends_of_f: tuple[Array, Array] | None = None
    epochs: float = 0.0


type Method = Callable[[Meter, Array, Array, Array, Array, dict[str, Any]], Said]


def inducing_svr(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit ours on inducing points."""
    return svr(meter, BayesianSVR(random_state=0, **options), X, y, X_new, y_new)


def few_rows_svr(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit ours with the whole kernel to some of the rows."""
    n = options["rows"]
    return svr(meter, BayesianSVR(ard=True, random_state=0), X[:n], y[:n], X_new, y_new)


def committee(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit our committee."""
    return svr(meter, BayesianSVRCommittee(random_state=0, **options), X, y, X_new, y_new)


def svr(meter: Meter, model: Any, X: Array, y: Array, X_new: Array, y_new: Array) -> Said:
    """Fit, and say what the model knows."""
    with meter:
        model.fit(X, y)
    mean, std = model.predict(X_new, return_std=True)
    noise = model.noise_.variance() if hasattr(model, "noise_") else np.nan
    ends_of_f = None
    if np.isfinite(noise):
        reach = stats.norm.ppf(0.5 + 0.5 * COVERAGE) * np.sqrt(np.maximum(std**2 - noise, 0.0))
        ends_of_f = mean - reach, mean + reach
    ends = model.predict_interval(X_new, COVERAGE)
    return Said(mean, model.log_predictive_density(X_new, y_new), ends, ends_of_f)


def with_student(
    predict: Callable[[Array], Array], X: Array, y: Array, X_new: Array, y_new: Array
) -> Said:
    """Give a function that knows no noise the Student-t noise of its errors on held-out rows."""
    nu, _, scale = stats.t.fit(y - predict(X), floc=0.0)
    mean = predict(X_new)
    reach = stats.t.ppf(0.5 + 0.5 * COVERAGE, nu) * scale
    density = stats.t.logpdf(y_new - mean, nu, scale=scale)
    return Said(mean, density, (mean - reach, mean + reach))


def held_out(n: int) -> int:
    """Return how many of n rows are held out for the noise."""
    return min(HELD_OUT, n // 10)


def boosting(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit trees to the absolute error, and Student-t noise to what is left."""
    k = held_out(y.size)
    model = HistGradientBoostingRegressor(
        loss="absolute_error", max_iter=1000, early_stopping=True, random_state=0
    )
    with meter:
        model.fit(X[k:], y[k:])
    return with_student(model.predict, X[:k], y[:k], X_new, y_new)


def boosted_quantiles(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit trees to the median and to the ends of the interval."""
    tail = 0.5 * (1.0 - COVERAGE)
    models = [
        HistGradientBoostingRegressor(
            loss="quantile", quantile=q, max_iter=1000, early_stopping=True, random_state=0
        )
        for q in (tail, 0.5, 1.0 - tail)
    ]
    with meter:
        for model in models:
            model.fit(X, y)
    low, middle, high = (model.predict(X_new) for model in models)
    return Said(middle, None, (low, high))


def features(X: Array, y: Array, points: int, last: Any, name: str) -> Any:
    """Return Nystroem features and a linear model, with the best width and penalty on some rows."""
    n = min(TRIED, y.size)
    half, best = n // 2, (-np.inf, None)
    for width in WIDTHS:
        for penalty in PENALTIES:
            model = make_pipeline(
                StandardScaler(),
                Nystroem(gamma=width / X.shape[1], n_components=min(points, half), random_state=0),
                clone(last).set_params(**{name: penalty}),
            )
            score = model.fit(X[:half], y[:half]).score(X[half:n], y[half:n])
            best = max(best, (score, (width, penalty)), key=lambda pair: pair[0])
    width, penalty = best[1] or (1.0, 1.0)
    return make_pipeline(
        StandardScaler(),
        Nystroem(gamma=width / X.shape[1], n_components=min(points, y.size), random_state=0),
        clone(last).set_params(**{name: penalty}),
    )


def nystroem(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit a linear model of Nystroem features, and Student-t noise to what is left."""
    k = held_out(y.size)
    last = Ridge() if options["last"] == "ridge" else HuberRegressor(max_iter=500)
    centre, unit = y.mean(), y.std()
    z = (y - centre) / unit
    with meter:
        model = features(X[k:], z[k:], options["points"], last, "alpha").fit(X[k:], z[k:])

    def predict(rows: Array) -> Array:
        return centre + unit * model.predict(rows)

    return with_student(predict, X[:k], y[:k], X_new, y_new)


def few_rows_gpr(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit scikit-learn's process to some of the rows."""
    n = options["rows"]
    scaler = StandardScaler().fit(X[:n])
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], X.shape[1] ** 0.5)) + WhiteKernel()
    model = GaussianProcessRegressor(kernel, normalize_y=True)
    with meter:
        model.fit(scaler.transform(X[:n]), y[:n])
    mean, std = model.predict(scaler.transform(X_new), return_std=True)
    noise = model.kernel_.k2.noise_level * y[:n].var()
    reach = stats.norm.ppf(0.5 + 0.5 * COVERAGE)
    sd = np.sqrt(np.maximum(std**2 - noise, 0.0))
    density = stats.norm.logpdf(y_new, mean, std)
    around = (mean - reach * std, mean + reach * std)
    return Said(mean, density, around, (mean - reach * sd, mean + reach * sd))


def svgp(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit a sparse variational process of gpytorch in another interpreter."""
    scaler = StandardScaler().fit(X)
    classes = options["kind"] == "bernoulli"
    centre, unit = (0.0, 1.0) if classes else (y.mean(), y.std())
    given = {key: options[key] for key in ("kind", "points", "seconds")}
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "in.npz", Path(folder) / "out.npz"
        rows = scaler.transform(X), (y - centre) / unit, scaler.transform(X_new)
        np.savez(files[0], **given, **dict(zip(("X", "y", "X_new"), rows, strict=True)))
        script = Path(__file__).with_name("_svgp.py")
        command = [options["python"], "-W", "ignore", str(script), *map(str, files)]
        with meter:
            subprocess.run(command, check=True, capture_output=True)
        out = {key: np.asarray(value, dtype=float) for key, value in np.load(files[1]).items()}
    epochs = float(out["epochs"])
    if classes:
        return Said(ndtr(out["mean"] / np.sqrt(1.0 + out["variance"])), epochs=epochs)
    mean, variance = centre + unit * out["mean"], unit**2 * out["variance"]
    noise = StudentNoise(float(out["nu"]), float(unit * out["scale"]))
    predictive = RegressionPredictive(mean, variance, noise)
    low, high = (predictive.quantile(0.5 + s * 0.5 * COVERAGE) for s in (-1.0, 1.0))
    reach = stats.norm.ppf(0.5 + 0.5 * COVERAGE) * np.sqrt(variance)
    return Said(mean, predictive.logpdf(y_new), (low, high), (mean - reach, mean + reach), epochs)


def inducing_svc(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit ours on inducing points, or on some of the rows."""
    settings = dict(options)
    n = settings.pop("rows", y.size)
    model = BayesianSVC(random_state=0, **settings)
    with meter:
        model.fit(X[:n], y[:n])
    return Said(np.asarray(model.predict_proba(X_new))[:, 1])


def boosted_classes(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit trees."""
    model = HistGradientBoostingClassifier(max_iter=1000, early_stopping=True, random_state=0)
    with meter:
        model.fit(X, y)
    return Said(model.predict_proba(X_new)[:, 1])


def nystroem_logistic(
    meter: Meter, X: Array, y: Array, X_new: Array, y_new: Array, options: dict[str, Any]
) -> Said:
    """Fit logistic regression to Nystroem features."""
    with meter:
        model = features(X, y, options["points"], LogisticRegression(max_iter=1000), "C").fit(X, y)
    return Said(model.predict_proba(X_new)[:, 1])


REGRESSORS: dict[str, Method] = {
    "ours": inducing_svr,
    "dense": few_rows_svr,
    "committee": committee,
    "boosting": boosting,
    "quantiles": boosted_quantiles,
    "nystroem": nystroem,
    "gpr": few_rows_gpr,
    "svgp": svgp,
}
CLASSIFIERS: dict[str, Method] = {
    "ours": inducing_svc,
    "boosting": boosted_classes,
    "nystroem": nystroem_logistic,
    "svgp": svgp,
}
