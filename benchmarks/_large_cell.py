"""One measurement of `benchmarks.large`, in a process of its own; its argument is a JSON object."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._crowd import NEW, Array, Crowd, draw, mapped, references
from benchmarks._large_methods import CLASSIFIERS, REGRESSORS, Method, Said
from benchmarks._meter import Meter
from benchmarks._whole import differences
from pymc_bsvm.estimators import BayesianSVR
from pymc_bsvm.streamed.passes import Passes

__all__ = ["cell"]


def cell(specification: dict[str, Any]) -> dict[str, float]:
    """Return the measures of a specification: what, and how."""
    others = {"references": truth, "passes": passes, "mapped": from_files, "whole": whole}
    return others.get(specification["method"], fit)(specification)


def whole(specification: dict[str, Any]) -> dict[str, float]:
    """Return how far all rows as inducing points are from the whole kernel."""
    return differences(specification["set"])


def truth(specification: dict[str, Any]) -> dict[str, float]:
    """Return the scores of the truth."""
    return references(specification["set"])


def fit(specification: dict[str, Any]) -> dict[str, float]:
    """Fit a method and look at new rows."""
    name, n = specification["set"], specification["rows"]
    old, new = draw(name, n), draw(name, NEW, new=True)
    regression = name == "friedman"
    method = (REGRESSORS if regression else CLASSIFIERS)[specification["method"]]
    score = regression_scores if regression else class_scores
    with counted(n) as times:
        cost, said = metered(method, old.X, old.y, new, specification["options"])
    count = said.epochs or float(len(times))
    return cost | score(said, new) | ({"passes": count} if count else {})


def metered(
    method: Method, X: Array, y: Array, new: Crowd, options: dict[str, Any]
) -> tuple[dict[str, float], Said]:
    """Return the cost of a fit, and its predictions."""
    meter = Meter()
    said = method(meter, X, y, new.X, new.y, options)
    return {"wall": meter.wall, "cpu": meter.cpu, "memory": meter.memory}, said


def regression_scores(said: Said, new: Crowd) -> dict[str, float]:
    """Return error of f, mean log density, and what the intervals of y and of f hold."""
    scores = {"rmse": float(np.sqrt(np.mean((said.mean - new.truth) ** 2)))}
    if said.log_density is not None:
        scores["score"] = float(said.log_density.mean())
    for name, ends, target in (
        ("inside y", said.ends, new.y),
        ("inside f", said.ends_of_f, new.truth),
    ):
        if ends is not None:
            scores[name] = float(np.mean((ends[0] <= target) & (target <= ends[1])))
    return scores


def class_scores(said: Said, new: Crowd) -> dict[str, float]:
    """Return error of the probabilities, log loss and error rate."""
    p = np.clip(said.mean, 1e-15, 1.0 - 1e-15)
    of_label = np.where(new.y == 1.0, p, 1.0 - p)
    return {
        "rmse": float(np.sqrt(np.mean((p - new.truth) ** 2))),
        "log loss": -float(np.log(of_label).mean()),
        "error": 100.0 * float((of_label < 0.5).mean()),
    }


def from_files(specification: dict[str, Any]) -> dict[str, float]:
    """Fit ours to rows in memory-mapped files."""
    new = draw(specification["set"], NEW, new=True)
    with tempfile.TemporaryDirectory() as folder:
        X, y = mapped(specification["set"], specification["rows"], Path(folder))
        with counted(y.size) as times:
            cost, said = metered(REGRESSORS["ours"], X, y, new, specification["options"])
    return cost | regression_scores(said, new) | {"passes": float(len(times))}


def passes(specification: dict[str, Any]) -> dict[str, float]:
    """Fit ours, and look at the CPU time of each pass over all rows."""
    old = draw(specification["set"], specification["rows"])
    model = BayesianSVR(random_state=0, **specification["options"])
    with Meter() as meter, counted(old.y.size) as times:
        model.fit(old.X, old.y)
    summary = {"median": float(np.median(times)), "passes": float(len(times))}
    return {"wall": meter.wall, "cpu": meter.cpu, "memory": meter.memory} | summary


@contextmanager
def counted(n: int) -> Iterator[list[float]]:
    """Note the CPU seconds of each pass over n rows."""
    run, times = Passes.run, []

    def timed(passes: Passes, *arguments: Any, **settings: Any) -> Any:
        begin = time.process_time()
        found = run(passes, *arguments, **settings)
        if passes.rows.n == n:
            times.append(time.process_time() - begin)
        return found

    Passes.run = timed  # type: ignore[method-assign]
    yield times
    Passes.run = run  # type: ignore[method-assign]


if __name__ == "__main__":
    print(json.dumps(cell(json.loads(sys.argv[1]))))
