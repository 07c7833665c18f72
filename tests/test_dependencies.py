"""What pyproject.toml declares, against what the code imports and the sdist carries."""

import ast
import fnmatch
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BASE = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
INCLUDED = [
    name.removeprefix("/")  # which says that it is at the top
    for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
]

IMPORTED_AS = {"scikit-learn": "sklearn"}  # where - to _ is not enough
ENGINES = {"h5netcdf", "h5py"}  # xarray finds them by itself
READERS = {"arviz"}  # what the documentation reads results with
# What is imported only when it is asked for, and by whom.
OF_AN_EXTRA = {
    "sklearn": ["estimators/"],
    "jax": ["jax_language.py", "ops/in_jax.py"],
    "dask": ["streamed/chunks.py", "streamed/cluster.py"],
}


def modules(requirements: list[str]) -> set[str]:
    """Return the names under which requirements, and their extras in brackets, are imported."""
    names = {name for r in requirements for name in re.findall(r"[a-z][\w.-]*", r)}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names of all imports, also those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def third_party(path: Path) -> set[str]:
    tops = {name.partition(".")[0] for name in imported(path)}
    return tops - set(sys.stdlib_module_names) - {"pymc_bsvm", "tests", "benchmarks", "reproduce"}


SOURCES = sorted((ROOT / "pymc_bsvm").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def test_the_package_declares_what_it_imports():
    found = set().union(*map(third_party, SOURCES))
    assert found - set(OF_AN_EXTRA) == modules(BASE) - ENGINES - READERS


@pytest.mark.parametrize("name", sorted(READERS))
def test_the_documentation_reads_results_with_what_is_declared_for_it(name):
    pages = [p.read_text(encoding="utf-8") for p in sorted((ROOT / "docs").glob("*.md"))]
    assert any(re.search(rf"^import {name}\b", page, re.MULTILINE) for page in pages)


@pytest.mark.parametrize("name", OF_AN_EXTRA)
def test_an_extra_is_imported_only_where_it_belongs(name):
    names = [
        p.relative_to(ROOT / "pymc_bsvm").as_posix() for p in SOURCES if name in third_party(p)
    ]
    assert names
    assert all(n.startswith(tuple(OF_AN_EXTRA[name])) for n in names)
    assert name in modules(EXTRAS[name])


def test_the_tests_declare_what_they_import():
    found = set().union(*map(third_party, TESTS))
    assert found <= modules(BASE) | modules(EXTRAS["test"])


@pytest.mark.parametrize("requirement", [*BASE, *EXTRAS["sklearn"], *EXTRAS["test"]])
def test_every_requirement_has_a_lower_bound(requirement):
    assert re.fullmatch(r"[\w.-]+(\[\w+\])?>=\d+(\.\d+)*(,<\d+)?", requirement)


def test_the_next_majors_of_pymc_are_shut_out():
    bounded = {re.match(r"\w+", r).group(): r.partition("<")[2] for r in BASE if "<" in r}
    assert bounded == {"pymc": "7", "pytensor": "4"}


def in_sdist(path: Path) -> bool:
    """Return whether the sdist carries a file: it lists folders, files and patterns."""
    name = path.relative_to(ROOT).as_posix()
    return any(name.startswith(f"{p}/") or fnmatch.fnmatch(name, p) for p in INCLUDED)


def file_of(module: str) -> Path:
    """Return the file of a module of this checkout; the last name may be an object in it."""
    path = ROOT.joinpath(*module.split("."))
    places = (path.with_suffix(".py"), path / "__init__.py", path.parent.with_suffix(".py"))
    return next(filter(Path.is_file, places), path.parent / "__init__.py")


def test_the_sdist_carries_what_its_tests_import():
    ours = {name for path in TESTS for name in imported(path)}
    ours = {name for name in ours if (ROOT / name.partition(".")[0]).is_dir()}
    assert ours
    assert [name for name in sorted(ours) if not in_sdist(file_of(name))] == []


def test_the_check_of_the_sdist_can_fail():
    assert not in_sdist(ROOT / "demo" / "report.py")
    assert in_sdist(ROOT / "benchmarks" / "reliability.py")
    assert file_of("benchmarks.reliability") == ROOT / "benchmarks" / "reliability.py"
    assert file_of("tests.oracle.compare.anything") == ROOT / "tests" / "oracle" / "compare.py"
