"""What the site and the README promise, where it can be read without building either."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


EXTENSIONS = ROOT / "docs" / "_extensions"


def loaded(name: str) -> ModuleType:
    """Return a module of the site; its folder is no package."""
    spec = importlib.util.spec_from_file_location(name, EXTENSIONS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def links() -> ModuleType:
    """Return the module that checks links."""
    return loaded("links")


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module that checks names, which takes Sphinx."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    return loaded("check")


@pytest.fixture
def index(check: ModuleType) -> dict[str, str]:
    """Return an index in which each name of the list leads to the page of its object."""
    homes = check.reference.homes()
    objects = [*check.reference.public()]
    found = {}
    for name in (ROOT / "tests" / "api.txt").read_text(encoding="utf-8").split():
        owner = max((x for x in objects if f"{name}.".startswith(f"{x}.")), key=len)
        found[f"pymc_bsvm.{name}"] = f"api/{homes.get(owner, owner)}.html#{name}"
    return found


def test_an_index_with_all_names_is_sound(check: ModuleType, index: dict[str, str]) -> None:
    assert len(index) > 1900
    assert [*check.missing(index), *check.twice(index)] == []


def test_names_and_inherited_methods_that_lack_are_named(
    check: ModuleType, index: dict[str, str]
) -> None:
    del index["pymc_bsvm.solve_dual"]
    del index["pymc_bsvm.gp.BSVR.predictive"]  # of a base class
    del index["pymc_bsvm.gp.BSVR.X"]  # a property
    assert list(check.missing(index)) == [
        "pymc_bsvm.gp.BSVR.X is not on the page of its class",
        "pymc_bsvm.gp.BSVR.predictive is not on the page of its class",
        "pymc_bsvm.solve_dual has no page",
    ]


def test_an_object_with_two_pages_is_named(check: ModuleType, index: dict[str, str]) -> None:
    index["pymc_bsvm.estimators.BayesianSVR"] = "api/other.html#x"
    assert list(check.twice(index)) == [
        "BayesianSVR has the pages api/BayesianSVR.html, api/other.html"
    ]


def test_links_anchors_and_files_are_looked_up(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "part" / "b.html").write_text('<h1 id="here">B</h1><a href="../a.html#top">a</a>')
    page = """
        <p id="top"><a href="part/b.html#here">fine</a> <a href="#top">fine</a>
        <a href="https://www.pymc.io">fine</a> <img src="picture.png"> <img src="data:,">
        <a href="part/b.html#there">no anchor</a> <a href="c.html">no page</a>
        <img src="gone.png"> <script src="https://cdn.example/x.js"></script>
        <link rel="stylesheet" href="https://cdn.example/x.css">
        <link rel="canonical" href="https://example.org/a.html"></p>"""
    (tmp_path / "a.html").write_text(page)
    assert list(links.broken(tmp_path)) == [
        "a.html links to c.html, which is not there",
        "a.html links to gone.png, which is not there",
        "a.html takes https://cdn.example/x.css from another host",
        "a.html takes https://cdn.example/x.js from another host",
        "a.html links to part/b.html#there, which has no such anchor",
    ]


def test_a_sound_site_has_nothing_to_say(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a id="x" href="#x">a</a><a href="a.html#x">b</a>')
    assert list(links.broken(tmp_path)) == []


def test_pages_of_source_code_need_no_anchors(links: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "_modules").mkdir()
    (tmp_path / "a.html").write_text("<p>a</p>")
    (tmp_path / "_modules" / "b.html").write_text('<a href="../a.html#x">a</a>')
    assert list(links.broken(tmp_path)) == []


def test_the_script_and_the_project_ask_for_the_same_python() -> None:
    script = (ROOT / "scripts" / "setup.sh").read_text(encoding="utf-8")
    found = re.search(r'OLDEST="([\d.]+)" BELOW="([\d.]+)"', script)
    assert found is not None
    oldest, below = found.groups()
    assert PROJECT["project"]["requires-python"] == f">={oldest},<{below}"
    assert (
        tuple(map(int, oldest.split("."))) <= sys.version_info < tuple(map(int, below.split(".")))
    )
    named = {line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"]}
    assert oldest in named
    assert below not in named


def published(text: str) -> str:
    """Return the README as the package's metadata carries it."""
    for change in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]:
        text = re.sub(change["pattern"], change["replacement"], text)
    return text


def test_the_readme_of_the_package_has_no_relative_link() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    target = re.compile(r"\]\(([^)]*)\)")
    relative = [x for x in target.findall(text) if not x.startswith("https://")]
    assert relative  # else there is nothing to test
    assert all((ROOT / x).exists() for x in relative if not x.startswith("#"))
    left = target.findall(published(text))
    assert left
    assert all(x.startswith("https://") for x in left)


def test_figures_outside_the_package_are_left_out() -> None:
    text = "Before.\n\n![A figure](a/b.png)\n\n![One more](https://c.d/e.png)\n\nAfter.\n"
    assert published(text) == "Before.\n\n![One more](https://c.d/e.png)\n\nAfter.\n"


def test_what_stands_around_a_link_stays() -> None:
    assert published("See [a](docs/a.md), [b](#c) and [d](https://e.f).") == (
        "See a, b and [d](https://e.f)."
    )
