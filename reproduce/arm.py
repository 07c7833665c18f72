"""The robot arm of section 4.5.2: tables 4.4, 4.5 and 4.6."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pymc_bsvm as bsvm
from reproduce.bisvr import Machine, Objective
from reproduce.cell import Cell
from reproduce.page import Section, dates, number, spread, table
from reproduce.plan import Plan
from reproduce.regression import Split, measured
from reproduce.store import Found

ROWS = 200  # for training, and as many to predict
COPY_SD = 0.02
DRAWS = 10  # of the four added inputs
FOLDS = 6  # ways to divide the rows into five folds


class Row(NamedTuple):
    """A row of table 4.4 or 4.5; variances and errors are in 10⁻³."""

    noise: float
    kappa: tuple[float, ...]
    kappa_b: float
    free: int
    bound: int
    aae: float
    ase: float
    C: float | None = None
    epsilon: float | None = None
    cpu: float | None = None


PAPERS = {
    (2, 0): Row(2.681, (0.682, 0.248), 3.86, 75, 21, 0.03930, 2.491, 44.94, 0.057, 33.8),
    (2, 1): Row(2.787, (0.673, 0.184), 17.03, 74, 42, 0.04544, 3.184, 34.35, 0.042, 68.4),
    (6, 0): Row(
        2.696, (0.667, 0.248, 0.287e-2, 0.0087e-2, 1e-7, 1e-7), 2.36, 74, 27, 0.03907, 2.477
    ),
    (6, 1): Row(
        2.779, (0.603, 0.222, 8.41e-2, 0.904e-2, 1e-7, 1e-7), 23.53, 60, 77, 0.04622, 3.160
    ),
}
TRUE = 2.743, 2.362  # variance of the noise of their training rows, 10⁻³
TABLE_46 = {  # squared error of both outputs, 10⁻³, by inputs, covariance and method
    ("BSVR", 2, "Gaussian"): 5.89,
    ("BSVR", 2, "ARD"): 5.68,
    ("BSVR", 6, "ARD"): 5.64,
    ("GPR", 2, "Gaussian"): 5.83,
    ("GPR", 2, "ARD"): 5.70,
    ("GPR", 6, "ARD"): 5.70,
    ("SVR, ε = 0.1", 2, "Gaussian"): 7.46,
    ("SVR, ε = 0.05", 2, "Gaussian"): 6.82,
    ("SVR, ε = 0.01", 2, "Gaussian"): 5.84,
}
CITED = {  # the same, of others
    "neural network, MacKay, the highest evidence": (2, 5.73),
    "neural network, MacKay, the lowest test error": (2, 5.57),
    "neural network by Monte Carlo, Neal": (2, 5.47),
    "neural network by Monte Carlo, Neal, ARD": (6, 5.49),
    "Gaussian process, Williams and Rasmussen": (2, 5.63),
    "Gaussian process, Williams and Rasmussen, ARD": (6, 5.69),
}
METHODS = {"papers": "as the papers", "default": "default"}
FOUR, THERE = "best of four starts", "here, at their hyperparameters"


# ---- measures ------------------------------------------------------------------------------------


def clean(X: np.ndarray) -> np.ndarray:
    """Return the positions without noise, (4.47), of shape (n, 2)."""
    first, both = X[:, 0], X[:, 0] + X[:, 1]
    return np.column_stack(
        [2.0 * np.cos(first) + 1.3 * np.cos(both), 2.0 * np.sin(first) + 1.3 * np.sin(both)]
    )


def loaded(data: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return all angles and positions."""
    assert data is not None
    folder = bsvm.datasets.load_folder(data / "robot_arm", targets=2)
    return folder.X, folder.y


def split_of(data: Path | None, output: int, inputs: int, seed: int = 0) -> Split:
    """Return the first rows to train, the second to predict; further inputs are drawn."""
    X, Y = loaded(data)
    if inputs == 6:
        rng = np.random.default_rng([seed, inputs])
        copies = X + COPY_SD * rng.standard_normal(X.shape)
        X = np.column_stack([X, copies, rng.standard_normal(X.shape)])
    old, new = slice(ROWS), slice(ROWS, 2 * ROWS)
    split = Split(X[old], Y[old, output], X[new], Y[new, output])
    return split.standardised(targets=False)


def blocks(data: Path | None) -> dict[str, Any]:
    """Return the average squared noise of both outputs in each block of 200 rows."""
    X, Y = loaded(data)
    squares = (Y - clean(X)) ** 2
    return {"noise": [squares[k : k + ROWS].mean(axis=0).tolist() for k in range(0, len(X), ROWS)]}


def trained(
    data: Path | None, output: int, inputs: int, method: str, seed: int = 0, **settings: Any
) -> dict[str, Any]:
    """Train for one of the outputs; the seed is that of added inputs, or of the folds of SVR."""
    if method == "svr":
        settings["seed"] = seed
    return measured(method, split_of(data, output, inputs, seed), **settings)


def there(data: Path | None, output: int) -> dict[str, Any]:
    """Return what is here at the hyperparameters that table 4.4 prints."""
    split, p = split_of(data, output, 2), PAPERS[2, output]
    objective = Objective(split.X, split.y, 0.3, ard=True)
    assert p.C is not None
    assert p.epsilon is not None
    x = np.log([p.C, p.epsilon, p.kappa_b, *p.kappa])
    machine = Machine(objective, x, objective.evidence(x))
    error = split.y_new - machine.moments(split.X_new)[0]
    return {
        **{"C": p.C, "epsilon": p.epsilon, "kappa": list(p.kappa), "kappa_b": p.kappa_b},
        "noise": float(machine.loss.variance()),
        "log_evidence": machine.evidence.log_evidence,
        "free": int(machine.evidence.solution.free.sum()),
        "bound": int(machine.evidence.solution.bound.sum()),
        "aae": float(np.mean(np.abs(error))),
        "ase": float(np.mean(error**2)),
    }


def cells(plan: Plan) -> Iterator[Cell]:
    """Yield tables 4.4 and 4.5, then what else table 4.6 has."""
    if not plan.has("robot_arm"):
        return
    yield Cell(blocks, {}, 0.1)
    outputs = (0, 1)
    for output in outputs:
        yield Cell(there, {"output": output}, 0.3)
        arguments = {"output": output, "inputs": 2, "method": "papers", "ard": True, "starts": 4}
        yield Cell(trained, arguments, 2.0)
    for inputs, seed in ((2, 0), *((6, k) for k in range(plan.choose(DRAWS, 1)))):
        for output in outputs:
            arguments = {"output": output, "inputs": inputs, "seed": seed}
            yield Cell(trained, {**arguments, "method": "papers", "ard": True}, 0.5)
            yield Cell(trained, {**arguments, "method": "default", "ard": "auto"}, 0.8)
    for output in outputs:
        arguments = {"output": output, "inputs": 2}
        yield Cell(trained, {**arguments, "method": "papers"}, 0.3)
        yield Cell(trained, {**arguments, "method": "default"}, 0.5)
        for ard in (False, True):
            yield Cell(trained, {**arguments, "method": "gpr", "ard": ard}, 0.2)
        yield Cell(trained, {**arguments, "inputs": 6, "method": "gpr", "ard": True}, 0.6)
        for epsilon in plan.choose((0.1, 0.05, 0.01), ()):
            yield Cell(trained, {**arguments, "method": "svr", "epsilon": epsilon}, 6.0)
    for seed in range(1, plan.choose(FOLDS, 1)):
        for output in outputs:
            arguments = {"output": output, "inputs": 2, "seed": seed}
            yield Cell(trained, {**arguments, "method": "svr", "epsilon": 0.1}, 2.0)


# ---- the page ------------------------------------------------------------------------------------


TITLE = "Robot arm (tables 4.4, 4.5 and 4.6)"
INTRODUCTION = """The first 200 rows train, the second 200 are predicted; inputs are normalised,
targets are not. Variances and squared errors are in 10⁻³. The four added inputs are our own draws:
copies of both angles with noise of 0.02, and two that tell nothing."""
HEAD = [
    *("output", "method", "C", "ε", "σₙ²", "κ", "κ_b", "ln P", "SV_M", "SV_C", "CPU s", "AAE"),
    *("ASE", "measured"),
]


def section(found: Found, plan: Plan) -> Section:
    """Return the tables of whatever is there."""
    if not found:
        return Section(TITLE, plan.missing("robot_arm") or INTRODUCTION)
    parts = [INTRODUCTION, *of_blocks(found)]
    for inputs, name in ((2, "4.4"), (6, "4.5")):
        rows = list(rows_of(found, inputs))
        if rows:
            parts.append(f"Table {name}, ARD with {inputs} inputs:\n\n{table(HEAD, rows, left=2)}")
    parts += [of_there(found), of_added(found), of_both(found)]
    return Section(TITLE, "\n\n".join(part for part in parts if part))


def of_blocks(found: Found) -> Iterator[str]:
    """Say whether the rows are those of the thesis, by the noise that it prints of its own."""
    for cell, m in found.items():
        if cell.measure is blocks:
            variance = 1e3 * np.array(m.result["noise"]) * ROWS / (ROWS - 1)
            said = ", ".join(f"{a:.3f} and {b:.3f}" for a, b in variance)
            same = np.abs(variance - TRUE).max(axis=1) < 1e-3
            yield (
                "The sum of the squared noise of y₁ and y₂ in the blocks of 200 rows, over 199: "
                f"{said}. The papers print {TRUE[0]} and {TRUE[1]} of their training rows"
                + (", which are the first of these." if same[0] else ", which are not the first.")
            )


def rows_of(found: Found, inputs: int) -> Iterator[list[str]]:
    """Yield the rows of table 4.4 or 4.5, the papers' beside ours."""
    for output, name in enumerate(("y₁", "y₂")):
        ours = {
            said: m
            for cell, m in found.items()
            if (said := of_table(cell, inputs)) and cell.arguments["output"] == output
        }
        if not ours:
            continue
        p = PAPERS[inputs, output]
        yield [
            *(name, "papers", number(p.C, 4), number(p.epsilon, 2), f"{p.noise:.3f}"),
            *(listed(p.kappa), number(p.kappa_b), "", str(p.free), str(p.bound)),
            *(number(p.cpu), f"{p.aae:.5f}", f"{p.ase:.3f}", ""),
        ]
        for said in filter(ours.__contains__, (THERE, METHODS["papers"], FOUR, "default")):
            m = ours[said]
            r = m.result
            evidence = "" if said == "default" else f"{r['log_evidence']:.1f}"
            yield [
                *(name, said, number(r["C"], 4), number(r["epsilon"], 2)),
                *(f"{1e3 * r['noise']:.3f}", listed(r["kappa"]), number(r.get("kappa_b"))),
                *(evidence, str(r["free"]), str(r["bound"]), number(r.get("cpu"))),
                *(f"{r['aae']:.5f}", f"{1e3 * r['ase']:.3f}", m.date),
            ]


def of_table(cell: Cell, inputs: int) -> str:
    """Return the name of a row of table 4.4 or 4.5; nothing for other cells."""
    given = cell.arguments
    if cell.measure is there:
        return THERE if inputs == 2 else ""
    if given.get("inputs") != inputs or not given.get("ard") or given["method"] not in METHODS:
        return ""
    if given.get("starts") == 4:
        return FOUR
    return METHODS[given["method"]] if given.get("seed") == 0 else ""


def of_there(found: Found) -> str:
    """Say what tells our hyperparameters from the papers'."""
    here = {c.arguments["output"]: m.result for c, m in found.items() if c.measure is there}
    four = {c.arguments["output"]: m.result for c, m in found.items() if of_table(c, 2) == FOUR}
    if not (here.keys() & four.keys()):
        return ""
    ends = [
        f"for {name} at {', '.join(f'{v:.1f}' for v in four[k]['found'])}, against "
        f"{here[k]['log_evidence']:.1f} at the papers' hyperparameters"
        for k, name in enumerate(("y₁", "y₂"))
        if k in here and k in four
    ]
    counts = max(abs(r["free"] - PAPERS[2, k].free) for k, r in here.items())
    errors = max(abs(1e3 * r["ase"] - PAPERS[2, k].ase) for k, r in here.items())
    return (
        "At the hyperparameters of table 4.4 there are here the free support vectors of the table "
        f"up to {counts} and its squared errors up to {errors:.3f}, which is what printed digits "
        "leave open: rows, split and model are the same. What differs is where the search ends. "
        "The exact evidence jumps where a row enters or leaves the bend of the loss, and it has "
        f"optima on many of its pieces; four starts end {'; '.join(ends)}."
    )


def listed(kappa: Any) -> str:
    """Return numbers of very different size in little room."""
    return ", ".join(f"{k:.3f}" if k >= 0.01 else f"{k:.0e}" for k in kappa)


def both(found: Found, method: str, inputs: int, **settings: Any) -> dict[int, float]:
    """Return the squared errors of both outputs together, by the seed of the added inputs."""
    asked = {"method": method, "inputs": inputs, **settings}
    errors: dict[int, dict[int, float]] = {}
    for cell, m in found.items():
        given = dict(cell.arguments)
        output, seed = given.pop("output", None), given.pop("seed", 0)
        if given == asked:
            errors.setdefault(seed, {})[output] = 1e3 * m.result["ase"]
    return {seed: sum(each.values()) for seed, each in errors.items() if len(each) == 2}


def of_added(found: Found) -> str:
    """Say what the draw of the added inputs does."""
    sentences = []
    for method, ard in (("papers", True), ("default", "auto")):
        errors = list(both(found, method, 6, ard=ard).values())
        if len(errors) > 1:
            sentences.append(
                f"{METHODS[method]} {spread(errors, 2)} (from {min(errors):.2f} to "
                f"{max(errors):.2f})"
            )
    if not sentences:
        return ""
    return (
        f"Over {len(both(found, 'papers', 6, ard=True))} draws of the four added inputs the "
        f"squared error of both outputs is: {'; '.join(sentences)}; the papers have "
        f"{TABLE_46['BSVR', 6, 'ARD']} for one."
    )


def of_both(found: Found) -> str:
    """Return table 4.6."""
    rows = []
    for (name, inputs, covariance), ase in TABLE_46.items():
        ard = covariance == "ARD"
        if name == "BSVR":
            ways = {
                "papers": {"method": "papers", **({"ard": True} if ard else {})},
                "default": {"method": "default", **({"ard": "auto"} if ard else {})},
            }
        elif name == "GPR":
            ways = {"papers": {"method": "gpr", "ard": ard}}
        else:
            ways = {"papers": {"method": "svr", "epsilon": float(name.rpartition(" ")[2])}}
        ours = {way: both(found, inputs=inputs, **asked) for way, asked in ways.items()}
        shown = [f"{o[0]:.2f}" if (o := ours.get(w)) else "" for w in ("papers", "default")]
        days = dates(
            m
            for cell, m in found.items()
            if cell.arguments.get("inputs") == inputs
            and any(asked.items() <= cell.arguments.items() for asked in ways.values())
        )
        rows.append([name, str(inputs), covariance, f"{ase:.2f}", *shown, days])
    for name, (inputs, ase) in CITED.items():
        rows.append([name, str(inputs), "", f"{ase:.2f}", "", "", ""])
    head = ["method", "inputs", "covariance", "papers", "as the papers", "default", "measured"]
    text = (
        "Table 4.6, squared errors of both outputs together, in 10⁻³. Of GPR and SVR the column "
        '"as the papers" is scikit-learn\'s. The noise of the test rows is about 5.'
    )
    folds = list(both(found, "svr", 2, epsilon=0.1).values())
    if len(folds) > 1:
        text += (
            f" With ε = 0.1, {len(folds)} ways to divide the rows into five folds give SVR errors "
            f"from {min(folds):.2f} to {max(folds):.2f}."
        )
    return f"{text}\n\n{table(head, rows, left=3)}"
