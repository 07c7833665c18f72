import importlib
import json

import pytest

from reproduce.experiments import EXPERIMENTS
from reproduce.plan import Plan


@pytest.fixture(params=["quick", "full"])
def plan(request):
    return Plan(request.param == "quick")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_are_distinct_and_other_processes_find_them(name, plan):
    cells = list(EXPERIMENTS[name].cells(plan))
    assert len({(cell.experiment, cell.key) for cell in cells}) == len(cells)
    for cell in cells:
        module = importlib.import_module(cell.measure.__module__)
        assert getattr(module, cell.measure.__name__) is cell.measure
        assert json.loads(json.dumps(dict(cell.arguments))) == cell.arguments
        assert cell.cost > 0.0


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_section_stands_before_anything_is_measured(name, plan):
    section = EXPERIMENTS[name].section({}, plan)
    assert section.title
    assert section.body.strip()


def test_experiments_do_not_share_a_file_of_measures():
    stems = [EXPERIMENTS[name].__name__.rpartition(".")[2] for name in EXPERIMENTS]
    assert len(set(stems)) == len(stems)
