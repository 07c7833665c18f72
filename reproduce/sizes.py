"""Support vector and Gaussian process regression from 10 rows to 1000: figure 4.2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import pymc_bsvm as bsvm
from pymc_bsvm.reporting.style import BLUE, GREEN, ORANGE, PURPLE
from reproduce.cell import Cell
from reproduce.page import Section, dates, number, power, spread, table
from reproduce.plan import Plan
from reproduce.regression import Split, exponent, measured, paired
from reproduce.store import Found

SIZES = 10, 20, 50, 100, 200, 500, 1000
REPETITIONS = 20
NEW, OF_TEST = 3000, 4000  # noise-free rows to predict, and their seed
FROM = 100  # rows from which on the growth is fitted; below it calls cost more than arithmetic
SHOWN = {
    "papers": ("BSVR, as the papers", BLUE, "o"),
    "default": ("BSVR, default", GREEN, "D"),
    "gpr": ("GPR", ORANGE, "s"),
    "svr": ("SVR, 5 folds", PURPLE, "^"),
}
PAPERS = {"papers": 2.36, "gpr": 3.05}  # powers of n
SECONDS = {"papers": 5.0, "default": 9.0, "gpr": 25.0, "svr": 60.0}  # at 1000 rows, about
LEAST = {"papers": 0.1, "default": 0.3, "gpr": 0.1, "svr": 1.5}


def trained(data: Path | None, n: int, method: str, repetition: int) -> dict[str, Any]:
    """Learn n rows with Gaussian noise of variance 0.04, and predict noise-free ones."""
    rng = np.random.default_rng([repetition, n])
    X, y = bsvm.datasets.sinc(n, noise="gaussian", random_state=rng)
    X_new, clean = bsvm.datasets.sinc(NEW, noise="none", random_state=OF_TEST)
    settings = {"starts": 4} if method == "papers" else {}
    return measured(method, Split(X, y, X_new, clean).standardised(targets=False), **settings)


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield all methods and sizes, repetition by repetition."""
    sizes = plan.choose(SIZES, (10, 50, 200))
    for repetition in range(plan.choose(REPETITIONS, 3)):
        for n in sizes:
            for method in SHOWN:
                if plan.quick and method == "svr" and repetition:
                    continue
                cost = LEAST[method] + SECONDS[method] * (n / 1000.0) ** 2
                yield Cell(trained, {"n": n, "method": method, "repetition": repetition}, cost)


def section(found: Found, plan: Plan) -> Section:
    """Return figure and tables of whatever is there."""
    title = "Errors and times from 10 rows to 1000 (figure 4.2)"
    if not found:
        return Section(title, INTRODUCTION)
    results = grouped(found)
    parts = [
        INTRODUCTION,
        "{sinc_sizes}",
        table(HEAD, rows_of(results, found), left=2),
        growth(results),
        compared(results),
    ]
    return Section(title, "\n\n".join(parts), {"sinc_sizes": (drawing(results), CAPTION)})


INTRODUCTION = """The sinc function with Gaussian noise of variance 0.04, and 3000 noise-free rows
to predict. BSVR has β = 0.3 and the best of four starts by the evidence; GPR is scikit-learn's,
with its hyperparameters by the evidence; SVR has ε = 0.1, and C and κ from the two grids of the
thesis, 650 fits. The papers have this as a figure only, with two numbers in the text: the time of
BSVR grows as n^2.36, that of GPR as n^3.05."""
CAPTION = (
    "Errors on noise-free rows, mean and standard deviation over repetitions, and mean CPU seconds "
    "of one training and its predictions."
)
HEAD = ["rows", "method", "repetitions", "ASE, 10⁻³", "AAE, 10⁻²", "CPU s", "measured"]
type Results = dict[tuple[str, int], dict[int, dict[str, Any]]]


def grouped(found: Found) -> Results:
    """Return results by repetition, for each method and size."""
    results: Results = {}
    for cell, m in found.items():
        key = cell.arguments["method"], cell.arguments["n"]
        results.setdefault(key, {})[cell.arguments["repetition"]] = dict(m.result)
    return results


def seconds(results: dict[int, dict[str, Any]]) -> list[float]:
    """Return CPU seconds of training and predictions together."""
    return [r["cpu"] + r["cpu_new"] for r in results.values()]


def rows_of(results: Results, found: Found) -> Iterator[list[str]]:
    """Yield the errors and times."""
    for n in sorted({n for _, n in results}):
        for method, (name, *_) in SHOWN.items():
            some = results.get((method, n), {})
            if some:
                errors = [1e3 * r["ase"] for r in some.values()]
                sizes = [1e2 * r["aae"] for r in some.values()]
                days = dates(
                    m
                    for cell, m in found.items()
                    if (cell.arguments["method"], cell.arguments["n"]) == (method, n)
                )
                cpu = number(float(np.mean(seconds(some))))
                errors_and_sizes = spread(errors, 2), spread(sizes, 2)
                yield [str(n), name, str(len(some)), *errors_and_sizes, cpu, days]


def growth(results: Results) -> str:
    """Return the powers of n with which times grow, beside the papers'."""
    sentences = []
    for method, (name, *_) in SHOWN.items():
        points = {n: np.mean(seconds(r)) for (m, n), r in results.items() if m == method}
        large = {n: s for n, s in points.items() if n >= FROM}
        if len(large) > 1:
            power_of_n = exponent(list(large), list(large.values()))
            last = sorted(large)[-2:]
            at_last = exponent(last, [large[n] for n in last])
            papers = f"; papers n^{PAPERS[method]}" if method in PAPERS else ""
            sentences.append(
                f"{name} n^{power_of_n:.2f} (between the last two sizes n^{at_last:.2f}{papers})"
            )
    if not sentences:
        return ""
    return (
        f"Growth of the time from {FROM} rows on, by least squares of the logarithms: "
        f"{', '.join(sentences)}. Powers that rise with the size are those of times to which calls "
        "that cost the same for few rows and many still add; the thesis does not say from which "
        "sizes its own were read."
    )


def compared(results: Results) -> str:
    """Compare the squared errors of our two with those of the others by paired t tests."""
    rows = []
    for n in sorted({n for _, n in results}):
        for ours in ("papers", "default"):
            for other in ("gpr", "svr"):
                one, two = results.get((ours, n), {}), results.get((other, n), {})
                both = sorted(one.keys() & two.keys())
                if len(both) > 1:
                    a, b = ([1e3 * r[k]["ase"] for k in both] for r in (one, two))
                    d = f"{float(np.mean(np.subtract(a, b))):+.2f}"
                    names = SHOWN[ours][0], SHOWN[other][0]
                    rows.append([str(n), *names, str(len(both)), d, power(paired(a, b))])
    if not rows:
        return ""
    head = ["rows", "method", "peer", "repetitions", "ASE less the peer's, 10⁻³", "p"]
    text = f"Paired t tests of the squared errors, {len(rows)} of them, not corrected for that."
    return f"{text}\n\n{table(head, rows, left=3)}"


def drawing(results: Results) -> Figure:
    """Draw figure 4.2, the methods on top of each other."""
    style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(style):
        figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.6), layout="constrained")
        for k, (method, (name, colour, mark)) in enumerate(SHOWN.items()):
            sizes = sorted(n for m, n in results if m == method)
            shift = 1.04 ** (k - 1.5)
            look: dict[str, Any] = {"color": colour, "marker": mark, "ms": 4, "lw": 1.2}
            x = shift * np.array(sizes)
            for ax, key in zip(axes, ("ase", "aae"), strict=False):
                values = [[r[key] for r in results[method, n].values()] for n in sizes]
                middle = np.array([np.mean(v) for v in values])
                error = np.array([np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in values])
                below = np.minimum(error, 0.9 * middle)  # the axis has logarithms
                ax.errorbar(x, middle, yerr=[below, error], label=name, elinewidth=0.8, **look)
            axes[2].plot(sizes, [np.mean(seconds(results[method, n])) for n in sizes], **look)
        for ax, label in zip(axes, ("ASE", "AAE", "CPU seconds"), strict=True):
            ax.set(xscale="log", yscale="log", xlabel="training rows", ylabel=label)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
