"""The figures of the page *Which model when* are those of the pages of benchmarks that it names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (.+) \| (.+) \| (.+) \| `(\w+\.md)` \|$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[+\N{MINUS SIGN}-]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
ROWS = ROW.findall((ROOT / "docs" / "which.md").read_text(encoding="utf-8"))


def numbers(text: str) -> set[str]:
    """Return the numbers of a text as they are printed, with a plain minus and no plus."""
    return {found.replace("\N{MINUS SIGN}", "-").lstrip("+") for found in NUMBER.findall(text)}


@pytest.mark.parametrize(("situation", "measured", "page"), [(s, m, p) for s, _, m, p in ROWS])
def test_figures_are_those_of_the_benchmark(situation, measured, page):
    known = numbers((ROOT / "benchmarks" / page).read_text(encoding="utf-8"))
    assert numbers(measured), situation
    assert not numbers(measured) - known


def test_every_row_with_a_figure_is_compared():
    text = (ROOT / "docs" / "which.md").read_text(encoding="utf-8")
    named = re.findall(r"`\w+\.md`", text)
    assert len(ROWS) == len(named) >= 20


def test_a_number_that_differs_is_seen():
    assert numbers("−0.334 and 1,000,000 rows, 0.42 s, +0.02 nats, 90 %") == {
        "-0.334", "1,000,000", "0.42", "0.02", "90",
    }  # fmt: skip
    assert not numbers("friedman1, C4 and gp2x")
    assert numbers("| 0.4200 |") != numbers("0.42")
