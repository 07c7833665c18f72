"""The Laplace evidence against numbers that others have published, on public data.

Run by hand, seconds: ``python benchmarks/anchors.py --data FOLDER`` prints the tables and writes
``benchmarks/anchors.md``. FOLDER holds the data sets as `pymc_bsvm.datasets.load_folder` reads
them, one folder each, and ``gp_fixtures`` with the published values:

- ``gpml_laplace_probit_n5.json``: GPML for Matlab, five points, probit;
- ``stan_laplace_synth500.csv``: the synthetic data of GPstuff and of Stan's tests, logistic;
- ``sklearn_gpc_laplace_logistic.json``: scikit-learn's classifier on six public sets, logistic.

Values are the library's. Its NumPy function returns no gradients: those here are the dense ones of
``tests/oracle/evidence.py`` at the library's MAP estimate. Of scikit-learn's values a few are good
to 1e-10 only: it stops at a change below that, and returns the value before the change.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from pymc_bsvm import losses
from pymc_bsvm.datasets import load_folder
from pymc_bsvm.evidence.laplace import laplace_evidence
from tests.oracle import evidence as oracle

type Row = tuple[str, str, float, float]

STAN_VALUE = -195.36771979434
STAN_GRADIENT = (35.11921107, -32.51264516)  # with respect to log alpha and log rho
STAN_JITTER = 1e-8


def main() -> None:
    """Compare all fixtures and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    data = parser.parse_args().data
    missing: list[str] = []
    rows = [*gpml(data), *stan(data), *scikit_learn(data, missing)]
    text = report(rows, missing)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")
    print(text, end="")


def squared_distances(X: np.ndarray) -> np.ndarray:
    """Return all squared distances, without cancellation."""
    return ((X[:, None] - X) ** 2).sum(-1)


def compare(
    distance: np.ndarray, y: np.ndarray, loss: Any, variance: float, scale: float, jitter: float = 0
) -> tuple[Any, float, float]:
    """Return the evidence, and its derivatives in the logs of the variance and of the scale."""
    main = variance * np.exp(-0.5 * distance / scale**2)
    K = main + jitter * np.eye(y.size)
    evidence = laplace_evidence(K, y, loss)
    s = evidence.solution
    G = oracle.gradient(K, y, loss, s.a, s.f)["K"]
    return evidence, float((G * main).sum()), float((G * main * distance).sum() / scale**2)


def gpml(data: Path) -> list[Row]:
    """Five points, probit: value, derivatives, dual and mode."""
    case = json.loads((data / "gp_fixtures" / "gpml_laplace_probit_n5.json").read_text("utf-8"))
    distance = squared_distances(np.array(case["x"]))
    evidence, of_variance, of_scale = compare(
        distance, np.array(case["y"]), losses.Probit(), 1.0, 1.0
    )
    where = "GPML, 5 points, probit"
    rows = [
        (where, "log evidence", -case["gpml_nlZ"], evidence.log_evidence),
        (where, "d / d log ell", -case["gpml_dnlZ_dlog_ell"], of_scale),
        (where, "d / d log sf", -case["gpml_dnlZ_dlog_sf"], 2.0 * of_variance),
    ]
    for what, published, ours in [
        ("alpha", case["gpml_alpha"], evidence.solution.a),
        ("mode", case["gpml_posterior_mean_f"], evidence.solution.f),
    ]:
        worst = int(np.argmax(np.abs(ours - published)))
        rows.append((where, f"{what}, worst of 5", published[worst], float(ours[worst])))
    return rows


def stan(data: Path) -> list[Row]:
    """500 points in the plane, logistic, alpha = 1.6 and rho = 1."""
    table = np.loadtxt(
        data / "gp_fixtures" / "stan_laplace_synth500.csv", delimiter=",", skiprows=1
    )
    evidence, of_variance, of_scale = compare(
        squared_distances(table[:, :2]), table[:, 2], losses.Logistic(), 1.6**2, 1.0, STAN_JITTER
    )
    where = "Stan and GPstuff, 500 points, logistic"
    return [
        (where, "log evidence", STAN_VALUE, evidence.log_evidence),
        (where, "d / d log alpha", STAN_GRADIENT[0], 2.0 * of_variance),
        (where, "d / d log rho", STAN_GRADIENT[1], of_scale),
    ]


def scikit_learn(data: Path, missing: list[str]) -> list[Row]:
    """Six public sets at two settings each; sets that are not in the folder are named."""
    fixture = data / "gp_fixtures" / "sklearn_gpc_laplace_logistic.json"
    rows = []
    for case in json.loads(fixture.read_text("utf-8"))["values"]:
        name = case["dataset"]
        if not (data / name).is_dir():
            missing += [name] * (name not in missing)
            continue
        X, labels, _, _ = load_folder(data / name).split(case["partition_row"])
        evidence, of_variance, of_scale = compare(
            squared_distances(X), 2.0 * labels - 1.0, losses.Logistic(), case["sf2"], case["ell"]
        )
        where = f"scikit-learn, {name}, sf2 = {case['sf2']:g}, ell = {case['ell']:g}"
        gradient = case["grad_log_sf2_log_ell"]
        rows += [
            (where, "log evidence", case["log_marginal_likelihood"], evidence.log_evidence),
            (where, "d / d log sf2", gradient[0], of_variance),
            (where, "d / d log ell", gradient[1], of_scale),
        ]
    return rows


def report(rows: list[Row], missing: list[str]) -> str:
    """Write the table."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    values = [abs(ours / theirs - 1.0) for _, what, theirs, ours in rows if what == "log evidence"]
    lines = [
        "# Anchors: published Laplace evidences",
        "",
        f"Made by `benchmarks/anchors.py` with {packages}. The script says where the numbers are "
        "from. Values are the library's; gradients are those of the dense test oracle at the "
        "library's MAP estimate. Published numbers have the digits that their sources print, and "
        "the tolerances of their sources' optimisers.",
        "",
        f"Largest relative difference of {len(values)} log evidences: **{max(values):.1e}**.",
        "",
        "| source and data | quantity | published | ours | difference |",
        "|---|---|--:|--:|--:|",
    ]
    for where, what, theirs, ours in rows:
        lines.append(f"| {where} | {what} | {theirs:.11g} | {ours:.11g} | {ours - theirs:.1e} |")
    if missing:
        lines += ["", f"Not in the folder, and left out: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
