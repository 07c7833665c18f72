"""The code on the pages of the documentation runs, page by page and from top to bottom.

A page can say in a comment ``<!-- run: draws=20 -->`` that its samplers draw that often here, after
five short steps, and that its models run without the compiler. Nothing else is changed and nothing
is left out. A page whose code writes a ``paragraph`` quotes it.
"""

import functools
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pymc as pm
import pytensor
import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARKER = re.compile(r"<!-- run: draws=(\d+) -->")


def blocks(text: str) -> list[tuple[int, str]]:
    """Return the line before each block, and its code."""
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in BLOCK.finditer(text)]


def draws_of(text: str) -> int | None:
    """Return the number of draws that a page asks for, None for those of its code."""
    asked = MARKER.findall(text)
    assert len(asked) == text.count("<!-- run:") <= 1, "one comment <!-- run: draws=20 --> a page"
    return int(asked[0]) if asked else None


def run(path: Path) -> dict[str, object]:
    """Run the blocks of a page in one namespace; tracebacks show the line of the page."""
    namespace: dict[str, object] = {"__name__": "page"}
    for line, code in blocks(path.read_text(encoding="utf-8")):
        exec(compile("\n" * line + code, str(path), "exec"), namespace)
    return namespace


def quotations(text: str) -> list[str]:
    """Return the quotations of a page, each on one line."""
    found = re.findall(r"(?:^> .*\n)+", text, re.MULTILINE)
    return [" ".join(line[2:] for line in lines.splitlines()) for lines in found]


@pytest.fixture
def few_draws(monkeypatch):
    """Return a function that makes samplers short."""
    sample = pm.sample

    def short(count, /, **kwargs):
        own = {
            "draws": count,
            "tune": 5,
            "chains": 2,
            "cores": 1,
            "progressbar": False,
            "compute_convergence_checks": False,
            "nuts_sampler": "pymc",
        }
        if kwargs.get("step") is None:  # a step that is made already has its settings
            own["nuts"] = {"max_treedepth": 2}
        return sample(**{**kwargs, **own})

    def use(draws):
        monkeypatch.setattr(pm, "sample", functools.partial(short, draws))
        # what ArviZ says of so few draws
        warnings.filterwarnings("ignore", category=UserWarning, module="arviz")
        # what an estimator says of fewer draws than its page asks for
        warnings.filterwarnings("ignore", message="The sampler was interrupted")

    return use


# PyMC announces what find_MAP will return and how it will start; the pages say what it does today.
@pytest.mark.filterwarnings("ignore:.*find_MAP:FutureWarning")
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_page(path, few_draws, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    draws = draws_of(path.read_text(encoding="utf-8"))
    mode = pytensor.config.mode
    if draws is not None:
        few_draws(draws)
        mode = "FAST_COMPILE"
    with pytensor.config.change_flags(mode=mode):
        namespace = run(path)
    plt.close("all")
    if "paragraph" in namespace:
        assert namespace["paragraph"] in quotations(path.read_text(encoding="utf-8"))


def test_the_contract_of_losses_that_is_shown_is_the_one_that_is_shipped():
    shown = blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    shipped = (ROOT / "pymc_bsvm" / "losses" / "contract.py").read_text(encoding="utf-8")
    assert shipped in [code for _, code in shown]


def test_quotations_are_joined():
    assert quotations("Text:\n\n> One\n> two.\n\n> Three.\n") == ["One two.", "Three."]


def test_every_block_of_python_is_found():
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert len(blocks(text)) == len(re.findall(r"^ *```+ *(?:py\w*|\{code.*)", text, re.M))


def test_the_runner_fails_where_a_page_is_wrong(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```python\nx = 1\n```\n\n```python\ny = x + z\n```\n")
    with pytest.raises(NameError, match="z") as caught:
        run(page)
    assert caught.traceback[-1].lineno + 1 == 8
    page.write_text("```python\nx = 1\n```\n\n```python\ny = x + 1\n```\n")
    assert run(page)["y"] == 2


@pytest.mark.parametrize("text", ["<!-- run: no -->", 2 * "<!-- run: draws=2 -->"])
def test_a_page_asks_for_draws_only(text):
    with pytest.raises(AssertionError, match="one comment"):
        draws_of(text)
    assert draws_of("<!-- run: draws=2 -->") == 2
