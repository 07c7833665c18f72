import math

import matplotlib.pyplot as plt
import pytest

from reproduce.cell import Measured
from reproduce.page import Section, dates, number, power, spread, table, write


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.026785, "0.0268"),
        (3291.9, "3292"),
        (10.0, "10.0"),
        (0.0, "0"),
        (-1642.2, "-1642"),
        (1.23e-9, "1.23e-09"),
        (math.nan, ""),
        (None, ""),
        (math.inf, "inf"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_the_spread_is_that_of_a_sample():
    assert spread([1.0, 2.0, 3.0, 6.0], 2) == "3.00 ± 2.16"  # squares 14, over 3
    assert spread([2.0], 1) == "2.0"
    assert spread([], 1) == ""


def test_small_p_values_keep_their_size():
    assert [power(0.0123), power(0.00005)] == ["0.012", "5.0e-05"]


def test_tables_are_aligned():
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | --: |\n| x | 1 |\n"


def test_dates_are_the_first_and_the_last():
    days = [Measured({}, day, "", 0.0) for day in ("2026-03-02", "2026-01-05", "2026-02-01")]
    assert dates(days) == "2026-01-05 to 2026-03-02"
    assert dates(days[:1]) == "2026-03-02"
    assert dates([]) == ""


def test_the_page_has_sections_and_figures(tmp_path):
    figure, _ = plt.subplots()
    sections = [Section("One", "Before.\n\n{bend}\n\nAfter.", {"bend": (figure, "A bend.")})]
    page = write(tmp_path, "# Head\n", sections)
    assert page.read_text() == (
        "# Head\n\n## One\n\nBefore.\n\n![A bend.](figures/bend.png)\n\n*A bend.*\n\nAfter.\n"
    )
    assert (tmp_path / "figures" / "bend.png").stat().st_size > 0
    assert not plt.fignum_exists(figure.number)
