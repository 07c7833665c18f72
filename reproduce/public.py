"""The library and its peers on public data: scores, times, and where the library loses."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import pymc_bsvm as bsvm
from benchmarks._peers import (
    GPFLOW_ARD,
    GPY_ARD,
    bayesian_svc,
    bayesian_svr,
    boosted_classes,
    boosted_mean,
    boosted_quantiles,
    gpc,
    gpr,
    of_forecast,
    of_verdict,
    student,
    svc_platt,
    svr_grid,
)
from benchmarks._sets import (
    KEPT,
    Task,
    classification_tasks,
    kept_task,
    laser,
    regression_tasks,
)
from pymc_bsvm.estimators import BayesianSVC, BayesianSVR
from reproduce.cell import Cell, Measured
from reproduce.page import Section, dates, number, table
from reproduce.plan import Plan
from reproduce.store import Found
from reproduce.versus import SVC, SVR, Entries, mean_of, stem, versus

__all__ = ["cells", "classification", "regression", "section"]

FOLDERS = ("boston", "robot_arm", "abalone", "santafe_a", *KEPT)
QUICK = ("friedman1", "robot arm", "iris", "wine", "thyroid")
PARTITIONS, FEW, LASER = 10, {"abalone": 3, "digits": 3, "thyroid": 20}, "laser, n = 500"

STUDENTS = {"GPy Student-t": ("GPy", GPY_ARD), "GPflow SVGP Student-t": ("gpflow", GPFLOW_ARD)}
REGRESSORS: dict[str, Callable[..., Any]] = {
    SVR: partial(bayesian_svr, seed=0, ard="auto"),
    "BayesianSVR": partial(bayesian_svr, seed=0),
    "SVR grid": svr_grid,
    "GPR": gpr,
    "GPR, ARD": partial(gpr, ard=True),
    "boosting": boosted_mean,
    "boosting, quantiles": boosted_quantiles,
    **{name: partial(student, sys.executable, code) for name, (_, code) in STUDENTS.items()},
}
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    SVC: bayesian_svc,
    "SVC grid + Platt": svc_platt,
    "GPC": gpc,
    "boosting": boosted_classes,
}
COSTS = {  # CPU seconds of 300 rows, and the power of the rows with which they grow
    SVR: (1.5, 1.0),
    "BayesianSVR": (0.6, 1.0),
    "SVR grid": (4.0, 2.0),
    "GPR": (0.1, 2.5),
    "GPR, ARD": (1.0, 2.0),
    "boosting": (2.0, 0.5),
    "boosting, quantiles": (1.0, 0.5),
    "GPy Student-t": (3.0, 2.5),
    "GPflow SVGP Student-t": (5.0, 0.5),
    SVC: (0.4, 1.0),
    "SVC grid + Platt": (1.5, 1.0),
    "GPC": (0.2, 2.0),
}


# ---- what is measured ----------------------------------------------------------------------------


def cells(plan: Plan) -> list[Cell]:
    """Return a cell for each partition of a set and each method.

    The first partitions are first; ten CPU seconds more are worth as much as a partition later.
    """
    return sorted(every_cell(plan), key=lambda cell: cell.arguments["partition"] + cell.cost / 10.0)


def every_cell(plan: Plan) -> Iterator[Cell]:
    """Yield the cells, set by set."""
    kinds = (regression, regressions, REGRESSORS), (classification, classifications, CLASSIFIERS)
    for measure, tasks, methods in kinds:
        for task in tasks(plan.data):
            if plan.quick and stem(task.name) not in QUICK:
                continue
            for partition in range(plan.choose(task.partitions, 1)):
                for method in filter(installed, methods):
                    arguments = {"task": task.name, "method": method, "partition": partition}
                    yield Cell(measure, arguments, cost(task.name, method))


def regressions(data: Path | None) -> Iterator[Task]:
    """Yield the sets of regression."""
    for task in regression_tasks(data, PARTITIONS):
        yield task._replace(partitions=FEW.get(stem(task.name), PARTITIONS))
    if data is not None and (data / "santafe_a").is_dir():
        yield Task(LASER, partial(laser, data / "santafe_a"), PARTITIONS)


def classifications(data: Path | None) -> Iterator[Task]:
    """Yield the sets of classification."""
    for task in classification_tasks(data, PARTITIONS):
        if stem(task.name) == "waveform" and data is not None and (data / "waveform").is_dir():
            task = kept_task(data, "waveform", PARTITIONS)
        yield task._replace(partitions=FEW.get(stem(task.name), PARTITIONS))


def installed(method: str) -> bool:
    """Tell whether this interpreter has what a method needs."""
    return method not in STUDENTS or find_spec(STUDENTS[method][0]) is not None


def cost(task: str, method: str) -> float:
    """Return about how many CPU seconds a fit takes."""
    seconds, growth = COSTS[method]
    several = 10.0 if stem(task) == "digits" and method in (SVC, "GPC", "boosting") else 1.0
    return several * seconds * (int(task.rpartition("= ")[2]) / 300.0) ** growth


def regression(data: Path | None, task: str, method: str, partition: int) -> Mapping[str, Any]:
    """Return the measures of a fit to targets."""
    split = by_name(regressions, data)[task].split(partition)
    return measured(method, lambda: of_forecast(split, REGRESSORS[method](split)))


def classification(data: Path | None, task: str, method: str, partition: int) -> Mapping[str, Any]:
    """Return the measures of a fit to labels."""
    split = by_name(classifications, data)[task].split(partition)
    return measured(method, lambda: of_verdict(split, CLASSIFIERS[method](split)))


@cache
def by_name(
    tasks: Callable[[Path | None], Iterator[Task]], data: Path | None
) -> Mapping[str, Task]:
    """Return the sets by their names."""
    return {task.name: task for task in tasks(data)}


def measured(method: str, measure: Callable[[], Mapping[str, float]]) -> Mapping[str, Any]:
    """Return the measures that are numbers, and whether the search of ours warned."""
    if method.startswith("Bayesian"):
        compile_all()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = measure()
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return {key: value for key, value in found.items() if value == value} | {"warned": warned}


@cache
def compile_all() -> None:
    """Fit small sets, so that no compilation is timed."""
    X, y = bsvm.datasets.robot_arm(60)
    BayesianSVR(ard="auto", random_state=0).fit(X, y[:, 0]).predict_interval(X, 0.9)
    BayesianSVC(random_state=0).fit(X, np.digitize(y[:, 0], (0.0, 1.0))).predict_proba(X)


# ---- what is said of it --------------------------------------------------------------------------


def section(found: Found, plan: Plan) -> Section:
    """Return tables of scores and of differences, and where the library loses."""
    title = "The library and its peers on public data"
    if not found:
        return Section(title, "Nothing is measured yet.")
    found = {cell: found[cell] for cell in every_cell(plan) if cell in found}
    fits, classes = entries(found, regression), entries(found, classification)
    days = {name: dates(of_task(found, name)) for name in (*fits, *classes)}
    absent = [name for name, (module, _) in STUDENTS.items() if find_spec(module) is None]
    left_out = [plan.missing(*FOLDERS)]
    if absent:
        left_out.append(f"Left out, because they are not installed: {', '.join(absent)}.")
    body = TEXT.format(
        svr=SVR,
        left_out=" ".join(filter(None, left_out)),
        regression=table(REGRESSION_HEAD, regression_rows(fits, days), left=2),
        classification=table(CLASS_HEAD, class_rows(classes, days), left=2),
        times=times(fits, SVR) + " " + times(classes, SVC),
        warned=warnings_of_ours(found),
    )
    more, figures = versus(fits, classes, days)
    return Section(title, body + more, figures)


def entries(found: Found, measure: Callable[..., Any]) -> Entries:
    """Return measures by set, method and partition."""
    result: Entries = {}
    for cell, each in found.items():
        if cell.measure is measure:
            task, method, partition = (cell.arguments[k] for k in ("task", "method", "partition"))
            result.setdefault(task, {}).setdefault(method, {})[partition] = each.result
    return result


def of_task(found: Found, task: str) -> Iterator[Measured]:
    """Yield the measures of a set."""
    return (each for cell, each in found.items() if cell.arguments["task"] == task)


MEANS = "set | method | CPU s | {} | partitions | measured"
REGRESSION_HEAD = MEANS.format("RMSE | NLPD | inside 90 %").split(" | ")
CLASS_HEAD = MEANS.format("error, % | log loss | calibration error, %").split(" | ")


def regression_rows(fits: Entries, days: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the means of each set and method."""
    for task, method, mean, count in means(fits, ("cpu", "rmse", "nlpd", "coverage")):
        inside = f"{100.0 * mean['coverage']:.1f}"
        nlpd = "" if np.isnan(mean["nlpd"]) else f"{mean['nlpd']:.3f}"
        scores = [number(mean["cpu"]), number(mean["rmse"], 4), nlpd, inside]
        yield [task, method, *scores, count, days[task]]


def class_rows(classes: Entries, days: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the means of each set and method."""
    for task, method, mean, count in means(classes, ("cpu", "error", "log loss", "ece")):
        scores = [f"{mean['error']:.2f}", f"{mean['log loss']:.4f}", f"{mean['ece']:.1f}"]
        yield [task, method, number(mean["cpu"]), *scores, count, days[task]]


def means(
    results: Entries, keys: Iterable[str]
) -> Iterator[tuple[str, str, dict[str, float], str]]:
    """Yield set, method, means over the partitions, and their number."""
    for task, methods in results.items():
        for method, parts in methods.items():
            mean = {key: mean_of(parts, key) for key in keys}
            yield task, method, mean, str(len(parts))


def times(results: Entries, ours: str) -> str:
    """Say how many times as long the peers take, the median over the sets."""
    ratios: dict[str, list[float]] = {}
    for methods in results.values():
        for method, parts in methods.items():
            if ours in methods and method != ours:
                ratio = mean_of(parts, "cpu") / mean_of(methods[ours], "cpu")
                ratios.setdefault(method, []).append(ratio)
    shown = (f"{number(float(np.median(each)), 2)} {method}" for method, each in ratios.items())
    return f"Beside {ours}: {'; '.join(shown)}." if ratios else ""


def warnings_of_ours(found: Found) -> str:
    """Say how many of our searches did not converge."""
    ours = [m.result["warned"] for c, m in found.items() if c.arguments["method"][:3] == "Bay"]
    return f"{sum(ours)} of our {len(ours)} fits ended with a ConvergenceWarning."


TEXT = """\
Each method has the same rows, one core and its own way to hyperparameters, whose seconds are in
"CPU s". "{svr}" is `BayesianSVR(ard="auto")`;
"BayesianSVR" and "BayesianSVC" are without any argument. "GPR" and "GPC" are scikit-learn's
Gaussian processes with `Constant * RBF`, "SVR grid" and "SVC grid + Platt" `GridSearchCV` over 7 x
7 values in 5 folds, the latter with `CalibratedClassifierCV(best, ensemble=False)`, and "boosting"
is `HistGradientBoosting`. SVR and boosting know no density; they have a normal one with the error
of 5 folds, or intervals by quantiles. Inputs are standardised for every kernel. Numbers are means
over partitions; those of methods with different numbers of them are not of the same rows. NLPD is
the mean negative log density of new targets in nats, the calibration error compares probability and
frequency of the predicted class in 10 bins. Less is better of all but the share of new targets
inside the 90 % intervals.

Friedman1, twonorm and ringnorm are simulated, each partition anew (of twonorm the data folder has
one partition), and the RMSE of friedman1 is that of the noise-free function. The laser series is
Santa Fe's A: the next value from eight, 500 to learn from in each thousand. A star marks partitions
that come with the data; other sets are split at random. {left_out}

### Regression

{regression}
### Classification

{classification}
Peers' CPU seconds as multiples of ours, the median over the sets. {times} {warned}

"""
