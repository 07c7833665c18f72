import itertools
import json

import pytest

from reproduce.cell import Cell
from reproduce.store import Store
from reproduce.work import work
from tests.reproduce import toy


def squares(*numbers):
    return [Cell(toy.square, {"x": x}) for x in numbers]


def run(cells, store, data=None, **options):
    return work(cells, store, data, progressbar=False, **options)


def test_measures_are_kept_and_found_again(tmp_path):
    cells = squares(3, 5)
    assert run(cells, Store(tmp_path / "new"), tmp_path, n_jobs=2) == []
    found = Store(tmp_path / "new").found(cells)
    assert [found[cell].result for cell in cells] == [
        {"value": 9, "data": tmp_path.name},
        {"value": 25, "data": tmp_path.name},
    ]


def test_a_cell_that_is_there_is_not_measured_again(tmp_path):
    cells = squares(3, 5)
    run(cells[:1], Store(tmp_path))
    file = tmp_path / "toy.jsonl"
    key, fields = json.loads(file.read_text())
    fields["result"]["value"] = 10  # so that a second measure would show
    file.write_text(json.dumps([key, fields]) + "\n")
    store = Store(tmp_path)
    run(cells, store)
    assert [m.result["value"] for m in store.found(cells).values()] == [10, 25]
    assert len(file.read_text().splitlines()) == 2


def test_other_arguments_are_another_cell(tmp_path):
    store = Store(tmp_path)
    run(squares(3), store)
    assert squares(3)[0] in store
    assert squares(4)[0] not in store


def test_a_line_that_was_cut_off_is_measured_again(tmp_path):
    cells = squares(3, 5)
    run(cells, Store(tmp_path))
    file = tmp_path / "toy.jsonl"
    file.write_text(file.read_text()[:-20])
    store = Store(tmp_path)
    assert cells[1] not in store
    run(cells, store)
    assert [m.result["value"] for m in Store(tmp_path).found(cells).values()] == [9, 25]


def test_no_cell_begins_after_the_budget(tmp_path, monkeypatch):
    clock = itertools.count(0.0, 10.0)  # each look at the clock is ten seconds after the last
    monkeypatch.setattr("reproduce.work.perf_counter", lambda: next(clock))
    store, cells = Store(tmp_path), squares(1, 2, 3, 4, 5)
    assert run(cells, store, budget=25.0) == []
    assert list(store.found(cells)) == cells[:2]
    run(cells, store)
    assert list(store.found(cells)) == cells


def test_a_failure_is_told_and_tried_again(tmp_path):
    store, cells = Store(tmp_path), [Cell(toy.broken, {}), *squares(3)]
    (failure,) = run(cells, store)
    assert "toy: broken {}" in failure
    assert "ValueError: The set is bent." in failure
    assert list(store.found(cells)) == cells[1:]


def test_processes_have_one_thread(tmp_path):
    store, cell = Store(tmp_path), Cell(toy.threads, {})
    run([cell], store, n_jobs=2)
    threads = store.found([cell])[cell].result["threads"]
    assert threads
    assert set(threads) == {1}


@pytest.mark.parametrize("cost", [1.0, 7.0])
def test_the_cost_does_not_name_a_cell(cost):
    assert Cell(toy.square, {"x": 3}, cost) == Cell(toy.square, {"x": 3})
