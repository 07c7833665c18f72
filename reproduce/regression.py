"""The methods of chapter 4 on rows to learn from and new ones, and what is measured of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR

from pymc_bsvm.estimators import BayesianSVR
from reproduce.bisvr import STARTS, train

__all__ = ["Split", "apart", "exponent", "measured", "paired", "printed"]

type Array = NDArray[np.float64]
type Result = dict[str, Any]

TWO_SD = float(1.0 - 2.0 * stats.norm.sf(2.0))


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to learn from, and new ones.

    Attributes
    ----------
    X, X_new : ndarray of shape (n, d) and (m, d)
        Inputs.
    y, y_new : ndarray of shape (n,) and (m,)
        Targets.
    unit : float
        The unit of the targets, in which errors are to be given.
    """

    X: Array
    y: Array
    X_new: Array
    y_new: Array
    unit: float = 1.0

    def standardised(self, *, targets: bool) -> Split:
        """Bring inputs, and targets on request, to mean zero and variance one of the rows."""
        spread = self.X.std(axis=0)
        centre, spread = self.X.mean(axis=0), np.where(spread > 0.0, spread, 1.0)
        found = replace(self, X=(self.X - centre) / spread, X_new=(self.X_new - centre) / spread)
        if not targets:
            return found
        mean, unit = float(self.y.mean()), float(self.y.std())
        y, y_new = (self.y - mean) / unit, (self.y_new - mean) / unit
        return replace(found, y=y, y_new=y_new, unit=unit * self.unit)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A model that has learned: its predictions of new rows, and what it says of itself."""

    predict: Callable[[Array], tuple[Array, Array] | Array]
    """Means, or means and variances, of new targets."""
    facts: Result
    interval: Callable[[Array], tuple[Array, Array]] | None = None
    """Ends of a central interval of new targets, as probable as two standard deviations of a normal
    distribution, where the noise is not fixed by its variance."""


def measured(method: str, split: Split, *, predictions: bool = False, **settings: Any) -> Result:
    """Learn and predict; return errors, CPU seconds and what the model says of itself.

    Parameters
    ----------
    method : {"papers", "default", "gpr", "svr"}
        This library with what the thesis has or by itself, scikit-learn's Gaussian process, or
        its support vector regression by cross-validation.
    split : Split
        The rows.
    predictions : bool, default False
        Whether to return means and variances of all new rows, too, and intervals where these are
        not two standard deviations.
    **settings
        For the method.

    Returns
    -------
    dict
        "ase" and "aae", the average squared and absolute errors, in the units of the data; "cpu"
        and "cpu_new", seconds for training and for predictions; and what the method adds.
    """
    if method in ("papers", "default"):
        _compiled(method, split.X.shape[1], *sorted(settings.items()))
    begin = time.process_time()
    fit = METHODS[method](split.X, split.y, **settings)
    trained = time.process_time()
    said = fit.predict(split.X_new)
    end = time.process_time()
    mean, variance = said if isinstance(said, tuple) else (said, None)
    error = split.unit * (split.y_new - mean)
    result = {
        "ase": float(np.mean(error**2)),
        "aae": float(np.mean(np.abs(error))),
        "cpu": trained - begin,
        "cpu_new": end - trained,
        **fit.facts,
    }
    if predictions and variance is not None:
        result |= {"mean": mean.tolist(), "variance": variance.tolist()}
        if fit.interval is not None:
            low, high = fit.interval(split.X_new)
            result |= {"low": low.tolist(), "high": high.tolist()}
    return result


@cache
def _compiled(method: str, d: int, *settings: tuple[str, Any]) -> None:
    """Fit a few rows, so that no measure has the compiler in it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(520, d))  # from 500 on the search takes another way
    for rows in (X[:80], X) if method == "default" else (X[:80],):
        y = rows[:, 0] + 0.1 * rng.standard_t(2.0, size=len(rows))  # for noise with wide tails
        METHODS[method](rows, y, **dict(settings)).predict(X)


def _papers(X: Array, y: Array, *, beta: float = 0.3, ard: bool = False, starts: int = 1) -> _Fit:
    """Train as in table 4.2 of the thesis, from the first of its starts or from several."""
    machine = train(X, y, beta, ard=ard, starts=STARTS[:starts])
    loss, solution = machine.loss, machine.evidence.solution
    facts = {
        "C": float(loss.C),
        "epsilon": float(loss.epsilon),
        "beta": beta,
        "kappa": machine.kappa,
        "kappa_b": machine.kappa_b,
        "noise": float(loss.variance()),
        "log_evidence": machine.evidence.log_evidence,
        "free": int(solution.free.sum()),
        "bound": int(solution.bound.sum()),
        "evaluations": machine.objective.evaluations,
        "found": list(machine.found),
    }
    return _Fit(machine.moments, facts)


def _default(X: Array, y: Array, *, ard: bool | str = False) -> _Fit:
    """Let the library do what it does by itself."""
    model = BayesianSVR(ard=ard, random_state=0).fit(X, y)
    found = model.hyperparameters_[0]

    def predict(X_new: Array) -> tuple[Array, Array]:
        mean, std = model.predict(X_new, return_std=True)
        return mean, std**2

    facts = {
        "C": float(found["C"]),
        "epsilon": float(found["epsilon"]),
        "beta": float(model.beta_),
        "kappa": ((X.std(axis=0) / found["ls"]) ** 2).tolist(),
        "ard": bool(hasattr(model, "relevance_")),
        "noise": float(model.noise_.variance()),
        "log_evidence": float(model.log_evidence_),
        "free": int(model.free_.sum()),
        "bound": int((~model.free_).sum()),
        "evaluations": int(model.n_iter_),
        "converged": bool(model.converged_),
    }
    return _Fit(predict, facts, partial(model.predict_interval, coverage=TWO_SD))


def _gpr(X: Array, y: Array, *, ard: bool = False) -> _Fit:
    """Train scikit-learn's Gaussian process by the evidence, from the thesis' kappa of 0.5."""
    scales = np.full(X.shape[1] if ard else 1, np.sqrt(2.0))
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(scales, (1e-2, 1e5))
    kernel += WhiteKernel(0.1, (1e-6, 10.0))
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
    learned = model.kernel_.k1.k2.length_scale
    facts = {
        "kappa": np.atleast_1d(1.0 / np.square(learned)).tolist(),
        "noise": float(model.kernel_.k2.noise_level * y.var()),
    }

    def predict(X_new: Array) -> tuple[Array, Array]:
        mean, std = model.predict(X_new, return_std=True)
        return mean, std**2

    return _Fit(predict, facts)


def _svr(X: Array, y: Array, *, epsilon: float = 0.1, seed: int = 0) -> _Fit:
    """Choose C and kappa by five folds: 49 of a coarse grid, 81 of a fine one, 650 fits in all."""
    log_C, log_kappa = np.linspace(-0.5, 2.5, 7), np.linspace(-2.5, 0.5, 7)
    steps = 0.1 * np.arange(-4, 5)
    folds = KFold(5, shuffle=True, random_state=seed)
    for _ in range(2):
        grid = {"C": 10.0**log_C, "gamma": 0.5 * 10.0**log_kappa}
        search = GridSearchCV(
            SVR(epsilon=epsilon, cache_size=500), grid, scoring="neg_mean_squared_error", cv=folds
        )
        model = search.fit(X, y).best_estimator_
        log_C, log_kappa = np.log10(model.C) + steps, np.log10(2.0 * model.gamma) + steps
    facts = {
        "C": float(model.C),
        "kappa": [2.0 * float(model.gamma)],
        "support": model.support_.size,
    }
    return _Fit(model.predict, facts)


METHODS: dict[str, Callable[..., _Fit]] = {
    "papers": _papers,
    "default": _default,
    "gpr": _gpr,
    "svr": _svr,
}


# ---- comparisons ---------------------------------------------------------------------------------


def paired(a: Any, b: Any) -> float:
    """Return the p value of a paired t test; one if the pairs do not differ."""
    d = np.subtract(a, b)
    return float(stats.ttest_1samp(d, 0.0).pvalue) if d.size > 1 and np.ptp(d) > 0.0 else 1.0


def apart(a: Any, b: Any) -> float:
    """Return the p value of a t test of two samples with one variance, pairs or not."""
    return float(stats.ttest_ind(a, b).pvalue)


def printed(one: tuple[float, float], two: tuple[float, float], n: int) -> float:
    """Return the p value of that test for printed means and standard deviations of n values."""
    return float(stats.ttest_ind_from_stats(*one, n, *two, n).pvalue)


def exponent(n: Any, seconds: Any) -> float:
    """Return the power of n with which seconds grow, by least squares of the logarithms."""
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])
