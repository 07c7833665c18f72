"""The texts by which compiled code is known on disk."""

import numpy as np
import pytest

from pymc_bsvm import _code
from pymc_bsvm._code import code_of, code_version


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Other words."""\n\ndef f(x):  # twice\n    "Double."\n    return 2 * x\n', True),
        ("def f(x): return (2 *\n x)", True),
        ("def f(x):\n    return 3 * x\n", False),
        ("def f(x):\n    return '2' * x\n", False),
    ],
)
def test_the_version_of_the_package_is_that_of_its_code(text, same):
    code = code_of(b'"""Words."""\n\n\ndef f(x):\n    return 2 * x\n')
    assert (code_of(text.encode()) == code) is same


def test_the_version_of_a_function_is_its_own_and_that_of_the_package(monkeypatch):
    versions = [code_version(np.exp), code_version(np.log)]
    assert versions[0] != versions[1]
    assert versions == [code_version(np.exp), code_version(np.log)]
    monkeypatch.setattr(_code, "_package_version", lambda: "another")
    versions += [code_version(np.exp), code_version(np.log)]
    assert len(set(versions)) == 4


def test_what_is_not_understood_is_not_kept():
    strange = object()
    assert code_version(lambda: strange) is None


def test_a_package_that_was_changed_after_its_import_is_not_kept(monkeypatch):
    path, changed = next(iter(_code._STAMPS.items()))
    monkeypatch.setitem(_code._STAMPS, path, changed + 1)
    assert code_version(np.exp) is None
