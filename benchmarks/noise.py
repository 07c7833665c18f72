"""Do predictions know their noise? Log scores and coverage, clean and with outliers; noise.md.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.noise --data FOLDER [--gpy PYTHON]
        [--partitions 10] [--resume FILE]

`--data` is a folder of data sets as `pymc_bsvm.datasets.load_folder` reads them, `--gpy` an
interpreter that has GPy. `--resume` keeps the measure of each fit in a file. Scores do not depend
on how busy the machine is; nothing is timed here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._compare import with_better_peer
from benchmarks._machine import machine
from benchmarks._peers import GPY_ARD, Forecast, bayesian_svr, gpr, of_forecast, student
from benchmarks._sets import Split, friedman, of_folder, of_sklearn, sinc
from benchmarks.estimators import Book, table

REPORT = Path(__file__).with_suffix(".md")
SHARE, FACTOR = 0.1, 3.0  # of the targets that are made outliers, and their width in sd
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "noise of the model": {"noise": "loss"},
    "Student": {"noise": "student"},
    "contaminated": {"noise": "contaminated"},
    "beta of the papers": {"beta": "papers"},
}
PEERS = ("GPR", "GPy Student-t")
COMPARED = "set | better peer | ours minus its | partitions | p | so ours is"


def tasks(data: Path) -> Iterator[tuple[str, Callable[[int], Split]]]:
    """Yield the sets; without outliers so far."""
    yield "sinc, n = 200", partial(sinc, 0.0, 200)
    yield "friedman1, n = 200", friedman
    yield "robot arm, n = 200", partial(of_folder, data / "robot_arm", 200, targets=2)
    yield "boston, n = 455", partial(of_folder, data / "boston", 455)
    yield "abalone, n = 500", partial(of_folder, data / "abalone", 500)
    yield "diabetes, n = 342", partial(of_sklearn, "diabetes", 342)


def soiled(split: Split, seed: int) -> Split:
    """Return a split with outliers among the training and the new targets."""
    rng = np.random.default_rng(7000 + seed)
    spread = FACTOR * split.y.std()

    def outliers(y: Any) -> Any:
        return y + (rng.random(y.size) < SHARE) * spread * rng.normal(size=y.size)

    return split._replace(y=outliers(split.y), y_new=outliers(split.y_new))


def measure(book: Book, options: argparse.Namespace) -> None:
    """Take all measures."""
    for name, draw in tasks(options.data):
        for kind in ("clean", "outliers"):
            for seed in range(options.partitions):
                split = draw(seed) if kind == "clean" else soiled(draw(seed), seed)
                ard = split.X.shape[1] > 1
                methods: dict[str, Callable[[Split], Forecast]] = {
                    f"BayesianSVR, {label}": partial(bayesian_svr, seed=0, ard=ard, **settings)
                    for label, settings in OURS.items()
                }
                methods["GPR"] = partial(gpr, ard=ard)
                if options.gpy and split.y.size <= 300:
                    methods["GPy Student-t"] = partial(student, options.gpy, GPY_ARD)
                for method, fit in methods.items():
                    book.run(
                        f"{name}, {kind}", method, seed, lambda f=fit, s=split: of_forecast(s, f(s))
                    )


def rows(book: Book) -> Iterator[list[str]]:
    """Yield a row for each set and method."""
    for task, methods in book.entries.items():
        for method, results in methods.items():
            mean = {
                key: np.mean([result[key] for result in results.values()])
                for key in ("rmse", "nlpd", "coverage")
            }
            yield [
                task,
                method,
                f"{mean['rmse']:.4g}",
                f"{mean['nlpd']:.3f}",
                f"{100 * mean['coverage']:.1f}",
                str(len(results)),
            ]


def report(book: Book, options: argparse.Namespace) -> str:
    """Return the page."""
    packages = ("numpy", "scipy", "scikit-learn")
    without = "" if options.gpy else " GPy was left out."
    return f"""# The noise of predictions

Measured by `benchmarks/noise.py` on {machine("one BLAS thread", *packages)}.

{options.partitions} partitions of each set, clean and with outliers: {SHARE:.0%} of the training
and of the new targets have `N(0, ({FACTOR:g} sd)²)` added. Length-scales for each column where
there are several, for all methods. NLPD is the mean of the negative log density of new targets,
in nats, RMSE the error of the means (of the noise-free targets where these are known), and the
last number the share of new targets inside the central 90 % interval. GPy's process has 4 degrees
of freedom and is fitted up to 300 rows.{without}

## Against the better peer

Mean difference of the NLPD over the partitions and its standard error; negative is better for us.
p by a paired t test, corrected for the {len(book.entries)} sets by Holm's method.

{table(COMPARED, with_better_peer(book, "BayesianSVR, default", PEERS, "nlpd", 3), left=2)}
## All

{table("set | method | RMSE | NLPD | inside 90 % | partitions", rows(book))}"""


def main() -> None:
    """Take the measures and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--gpy", help="interpreter with GPy")
    parser.add_argument("--partitions", type=int, default=10)
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args()
    book = Book(options.resume)
    measure(book, options)
    REPORT.write_text(report(book, options), encoding="utf-8")


if __name__ == "__main__":
    main()
