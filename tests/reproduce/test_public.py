"""The section on public data, of measures that are made up."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from benchmarks._compare import differences, holm
from reproduce import public
from reproduce.cell import Cell, Measured
from reproduce.plan import Plan


def found(task, method, values, key="nlpd", measure=public.regression):
    """Return measures of a method on as many partitions as there are values."""
    return {
        Cell(measure, {"task": task, "method": method, "partition": k}): Measured(
            {"cpu": 1.0, "rmse": 1.0, "nlpd": 1.0, "coverage": 0.9, "warned": False}
            | {"error": 1.0, "log loss": 1.0, "ece": 1.0}
            | {key: value},
            "2026-01-02",
            "a machine",
            0.0,
        )
        for k, value in enumerate(values)
    }


def test_the_peer_is_the_better_one_on_common_partitions():
    entries = {
        "a set": {
            "ours": {0: {"nlpd": 3.0}, 1: {"nlpd": 5.0}, 2: {"nlpd": 7.0}},
            "one": {0: {"nlpd": 2.0}, 1: {"nlpd": 3.0}, 2: {"nlpd": 4.0}},
            "other": {0: {"nlpd": 9.0}, 1: {"nlpd": 9.0}, 2: {"nlpd": 9.0}},
            "single": {0: {"nlpd": -9.0}},  # of one partition, which says nothing
            "without a density": {0: {"rmse": 0.0}},
        },
        "a set without ours": {"one": {0: {"nlpd": 2.0}}},
    }
    (difference,) = differences(entries, "ours", list(entries["a set"])[1:], "nlpd")
    assert difference.peer == "one"
    np.testing.assert_array_equal(difference.values, [1.0, 2.0, 3.0])
    # t = 2 sqrt(3) with 2 degrees of freedom: p = 1 - t / sqrt(2 + t^2)
    assert difference.p == pytest.approx(1.0 - np.sqrt(12.0 / 14.0), rel=1e-12)
    assert difference.error == pytest.approx(1.0 / np.sqrt(3.0), rel=1e-15)


def test_equal_differences_say_nothing():
    ours, peer = {0: {"error": 1.1}, 1: {"error": 100.1}}, {0: {"error": 1.0}, 1: {"error": 100.0}}
    (difference,) = differences({"a set": {"ours": ours, "peer": peer}}, "ours", ["peer"], "error")
    assert 0.0 < np.ptp(difference.values) < 1e-13  # by rounding
    assert difference.p == 1.0


def test_holm_multiplies_the_smallest_by_all_and_stays_in_order():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06], rtol=1e-15)
    np.testing.assert_allclose(holm([0.9, 0.5]), [1.0, 1.0], rtol=1e-15)


def test_losses_have_causes_or_are_not_explained(monkeypatch, tmp_path):
    monkeypatch.setattr("reproduce.versus.CAUSES", {"boston": "It was tried."})
    for name in public.FOLDERS:
        (tmp_path / name).mkdir()
    alike = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.0, 1.0, 1.0, 1.0]
    shifts = {  # to which 0.045 is added below
        "boston, n = 455": 1.0,
        "robot arm, n = 200": 1.0,
        "laser, n = 500": -0.045,
        "diabetes, n = 342": -1.0,
    }
    measures = {}
    for task, shift in shifts.items():
        ours = [value + shift + 0.01 * k for k, value in enumerate(alike)]
        measures |= found(task, public.SVR, ours) | found(task, "GPR", alike)
    section = public.section(measures, Plan(False, tmp_path))
    losses = section.body.partition("### Where the library loses, and why")[2]
    assert "- **boston, n = 455**: NLPD +1.0 ± 0.0096 against GPR. It was tried." in losses
    assert "- **robot arm, n = 200**: NLPD +1.0 ± 0.0096 against GPR. Not explained." in losses
    assert "diabetes" not in losses
    assert "for all 8 comparisons" in section.body  # four sets, RMSE and NLPD
    assert "Ours is better 1, as good 5, worse 2 times." in section.body.replace("\n", " ")
    (picture, _) = section.figures["peers"]
    assert len(picture.axes) == 2
    plt.close(picture)


def test_every_method_has_a_cost():
    assert set(public.COSTS) >= {*public.REGRESSORS, *public.CLASSIFIERS}


def test_sets_of_the_data_folder_are_named_before_they_are_read(tmp_path):
    for name in public.FOLDERS:
        (tmp_path / name).mkdir()
    cells = list(public.cells(Plan(False, tmp_path)))
    partitions = {}
    for cell in cells:
        partitions.setdefault(public.stem(cell.arguments["task"]), set()).add(
            cell.arguments["partition"]
        )
    counts = {name: len(numbers) for name, numbers in partitions.items()}
    assert counts["thyroid"] == 20
    assert counts["abalone"] == counts["digits"] == 3
    others = {name: count for name, count in counts.items() if name not in public.FEW}
    assert len(others) == 15
    assert set(others.values()) == {10}
    first = [cell.arguments["partition"] for cell in cells if cell.cost < 1.0]
    assert max(first[: len(first) // 4]) < 5
    assert cells[-1].arguments["partition"] == 19


def test_only_what_is_installed_is_run(monkeypatch):
    monkeypatch.setattr(public, "find_spec", lambda name: None)
    without = {cell.arguments["method"] for cell in public.cells(Plan(True))}
    monkeypatch.setattr(public, "find_spec", lambda name: name)
    every = {cell.arguments["method"] for cell in public.cells(Plan(True))}
    assert every - without == set(public.STUDENTS)
