"""The examples in docstrings give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import pymc_bsvm

ROOT = Path(pymc_bsvm.__file__).parent
# By name, not by --doctest-modules, which would import JAX and its threads into every worker.
MODULES = sorted(
    ".".join(["pymc_bsvm", *path.relative_to(ROOT).with_suffix("").parts])
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    outcome = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_there_are_examples():
    assert {"pymc_bsvm.solvers.dual", "pymc_bsvm.estimators.committee"} <= set(MODULES)
