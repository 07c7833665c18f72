"""The page of warnings has every message of the package and no other."""

import ast
import re
from pathlib import Path

import pytest

from tests.messages import classes, messages, text_of

PAGE = (Path(__file__).parents[1] / "docs" / "warnings.md").read_text(encoding="utf-8")
FIRST = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)


def test_every_message_is_on_the_page_and_none_that_is_gone():
    found = messages()
    on_page = set(FIRST) - set(classes())
    missing = {f"{text} ({file})" for text, file in found.items() if text not in on_page}
    assert not missing
    assert not on_page - set(found)


def test_no_message_is_there_twice():
    assert len(FIRST) == len(set(FIRST))


def test_every_class_of_errors_and_warnings_is_on_the_page():
    table = PAGE[PAGE.index("## Classes") : PAGE.index("## The solver")]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(classes())


def test_every_message_has_a_meaning_and_a_remedy():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    cells, known = [line.strip("|").split(" | ") for line in rows], classes()
    assert all(cell.strip() for row in cells if row[0].strip(" `") not in known for cell in row)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'K is bad.'", "K is bad."),
        ("'one ' 'two'", "one two"),
        ("f'C is {C:.3g}.'", "C is …."),
        ("'%d of %s, %.1f'", "… of …, …"),
        ("message", None),
    ],
)
def test_values_are_gaps(source, text):
    assert text_of(ast.parse(source, mode="eval").body) == text
