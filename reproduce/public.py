"""The library and its peers on public data: scores, times, and where the library loses."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning

import pymc_bsvm as bsvm
from benchmarks._compare import LEVEL, Difference, differences, holm
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
from pymc_bsvm.reporting.style import BLUE, GREY, ORANGE
from reproduce.cell import Cell, Measured
from reproduce.page import Section, dates, number, power, table
from reproduce.plan import Plan
from reproduce.store import Found

__all__ = ["cells", "classification", "regression", "section"]

SVR, SVC = "BayesianSVR, ARD by evidence", "BayesianSVC"
FOLDERS = ("boston", "robot_arm", "abalone", "santafe_a", *KEPT)
QUICK = ("friedman1", "robot arm", "iris", "wine", "thyroid")
ENOUGH = 3  # partitions, for a comparison
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
MEASURES = {"rmse": "RMSE", "nlpd": "NLPD", "error": "error, %", "log loss": "log loss"}

# Why the library loses, by set; each was found by an experiment that its sentence names.
CAUSES: dict[str, str] = {}

type Entries = dict[str, dict[str, dict[int, Mapping[str, Any]]]]


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


def stem(task: str) -> str:
    """Return the name of a set without its number of rows and its star."""
    return task.partition(",")[0].removesuffix(" *")


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
    compared = comparisons(fits, classes)
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
    if not compared:
        return Section(title, body + "No set has three partitions yet, so nothing is compared.")
    body += COMPARED_TEXT.format(
        count=len(compared),
        compared=table(COMPARED_HEAD, compared_rows(compared, days), left=3),
        counts=counted(compared),
        losses="\n".join(losses(compared)),
        close=close(compared),
    )
    caption = (
        "Ours minus the better peer, in nats per new row, with two standard errors: blue where "
        "ours is better and orange where it is worse after the correction, grey where as good."
    )
    return Section(title, body, {"peers": (figure(compared), caption)})


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
COMPARED_HEAD = (
    "set | measure | better peer | ours minus its | partitions | p | so ours is | measured"
).split(" | ")


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


def mean_of(parts: Mapping[int, Mapping[str, float]], key: str) -> float:
    """Return a mean over partitions; NaN of what a method does not have."""
    return float(np.mean([result.get(key, np.nan) for result in parts.values()]))


def comparisons(fits: Entries, classes: Entries) -> list[tuple[Difference, float]]:
    """Return the differences with the better peers, and p values corrected for all of them."""
    every = [
        each
        for results, ours, methods, keys in (
            (fits, SVR, REGRESSORS, ("rmse", "nlpd")),
            (classes, SVC, CLASSIFIERS, ("error", "log loss")),
        )
        for key in keys
        for each in differences(results, ours, peers(methods), key)
        if each.values.size >= ENOUGH
    ]
    return list(zip(every, holm([each.p for each in every]), strict=True))


def peers(methods: Iterable[str]) -> list[str]:
    """Return the methods that are not ours."""
    return [method for method in methods if not method.startswith("Bayesian")]


def compared_rows(
    compared: Iterable[tuple[Difference, float]], days: Mapping[str, str]
) -> Iterator[list[str]]:
    """Yield a row for each comparison."""
    for each, p in compared:
        shown, count = difference(each), str(each.values.size)
        said = [MEASURES[each.key], each.peer, shown, count, power(p), each.verdict(p)]
        yield [each.task, *said, days[each.task]]


def difference(each: Difference) -> str:
    """Return a mean difference with its standard error."""
    sign = "+" if each.mean >= 0.0 else "-"
    return f"{sign}{number(abs(each.mean), 2)} ± {number(each.error, 2)}"


def counted(compared: Iterable[tuple[Difference, float]]) -> str:
    """Say how often ours is better, as good and worse."""
    said = [each.verdict(p).strip("*") for each, p in compared]
    shares = (f"{word} {said.count(word)}" for word in ("better", "as good", "worse"))
    return f"Ours is {', '.join(shares)} times."


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


def losses(compared: Iterable[tuple[Difference, float]]) -> Iterator[str]:
    """Yield where ours is worse, with the cause if it is known."""
    worse: dict[str, list[str]] = {}
    for each, p in compared:
        if each.verdict(p) == "**worse**":
            said = f"{MEASURES[each.key]} {difference(each)} against {each.peer}"
            worse.setdefault(each.task, []).append(said)
    for task, said in worse.items():
        yield f"- **{task}**: {'; '.join(said)}. {CAUSES.get(stem(task), 'Not explained.')}"
    if not worse:
        yield "Nowhere, as far as it is measured."


def close(compared: Iterable[tuple[Difference, float]]) -> str:
    """Name what would be worse without the correction."""
    said = [
        f"{each.task} ({MEASURES[each.key]}, {difference(each)} against {each.peer})"
        for each, p in compared
        if each.p <= LEVEL < p and each.mean > 0.0
    ]
    return f"Worse only before the correction: {'; '.join(said)}." if said else ""


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

COMPARED_TEXT = """\
### Against the better peer

{{peers}}

Ours minus the peer with the better mean, paired by partitions, with its standard error. p is that
of a t test, corrected by Holm's method for all {count} comparisons of this table. Random partitions
share rows, and the test takes them as independent, so that their p is too small. {counts}

{compared}
### Where the library loses, and why

{losses}

{close}
"""


COLOURS = {"better": BLUE, "as good": GREY, "**worse**": ORANGE}


def figure(compared: Iterable[tuple[Difference, float]]) -> Figure:
    """Draw the differences of the log scores."""
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        drawn, axes = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
        for ax, key, title in (
            (axes[0], "nlpd", "Regression: NLPD"),
            (axes[1], "log loss", "Classification: log loss"),
        ):
            rows = [(each, p) for each, p in compared if each.key == key]
            for place, (each, p) in enumerate(rows):
                colour = COLOURS[each.verdict(p)]
                ax.errorbar(
                    each.mean, place, xerr=2.0 * each.error, fmt="o", color=colour, ms=4, capsize=2
                )
            labels = [f"{stem(each.task)}\n{each.peer}" for each, _ in rows]
            ax.set_yticks(range(len(rows)), labels, fontsize=7)
            ax.axvline(0.0, color="0.6", lw=0.8, zorder=0)
            ax.invert_yaxis()
            ax.set(title=title, xlabel="ours minus the better peer, nats per row")
    return drawn
