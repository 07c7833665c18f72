"""What the package promises before anything is computed."""

import importlib
import inspect
import re
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import pymc_bsvm

ROOT = Path(__file__).parents[1]
MOST_LINES = 400


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a new interpreter in which every warning is an error."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import pymc_bsvm", id="package"),
        pytest.param(
            "import pymc_bsvm\nfor name in pymc_bsvm.__all__: getattr(pymc_bsvm, name)",
            id="all public names",
        ),
    ],
)
def test_import_is_silent(code):
    run = run_python(code)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "module",
    [
        "",
        "losses",
        "covariance",
        "solvers",
        "search",
        "evidence",
        "approximations",
        "datasets",
        "streamed.objective",
    ],
)
def test_numerical_modules_need_no_graph_library(module):
    run = run_python(
        f"import sys, importlib\nimportlib.import_module('pymc_bsvm.{module}'.rstrip('.'))\n"
        "print([n for n in ('arviz', 'pymc', 'pytensor', 'sklearn') if n in sys.modules])"
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_version_is_that_of_the_metadata():
    assert pymc_bsvm.__version__ == metadata.version("pymc-bsvm")


def test_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [pymc_bsvm.__version__]


def test_all_is_sorted_and_resolves():
    names = pymc_bsvm.__all__
    assert all(isinstance(name, str) for name in names)
    # The order that ruff keeps: ACRONYMS, then Classes, then modules and functions.
    order = sorted(set(names), key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert list(names) == order
    for name in names:
        assert getattr(pymc_bsvm, name) is not None


def test_dir_lists_the_public_names():
    assert set(pymc_bsvm.__all__) <= set(dir(pymc_bsvm))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pymc_bsvm.no_such_name


def test_no_name_hides_a_module():
    for init in (ROOT / "pymc_bsvm").rglob("__init__.py"):
        path = ".".join(init.parent.relative_to(ROOT).parts)
        inside = {p.stem for p in init.parent.iterdir()}
        found = vars(importlib.import_module(path)).items()
        names = {name for name, value in found if not inspect.ismodule(value)}
        assert names & inside == set(), path


def test_type_hints_are_packaged():
    assert resources.files("pymc_bsvm").joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", [n for n in pymc_bsvm.__all__ if not n.startswith("__")])
def test_public_name_is_in_the_api_page(name):
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"^ +{re.escape(name)}$", page, re.MULTILINE)


def test_files_are_short():
    files = (ROOT / "pymc_bsvm").rglob("*.py")
    lines = {p.relative_to(ROOT).as_posix(): p.read_text("utf-8").count("\n") for p in files}
    assert len(lines) > 100
    assert {name for name, count in lines.items() if count > MOST_LINES} == set()


def test_contributors_are_told_the_same_limit():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert f"at most {MOST_LINES} lines" in text
