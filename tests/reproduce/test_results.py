import pytest

from reproduce.cell import Cell, Measured
from reproduce.results import bounded, columns, paragraphs, quantiles, results
from tests.reproduce import toy


def test_results_are_found_by_some_of_their_arguments():
    found = {
        Cell(toy.square, {"x": x, "kind": kind}): Measured({"value": x}, "", "", 0.0)
        for x in (1, 2)
        for kind in "ab"
    }
    assert results(found, toy.square, x=2) == [{"value": 2}] * 2
    assert results(found, toy.square, x=2, kind="a") == [{"value": 2}]
    assert results(found, toy.threads) == []


def test_columns_leave_out_what_is_not_there():
    assert columns([{"a": 1}, {"a": None}, {}], "a") == [1.0]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], ""),
        ([2.0], "2.00"),
        ([float(k) for k in range(11)], "5.00 (1.00 to 9.00)"),
        ([1e-6, 1.0, 2.0], "1.00 (0.200 to 1.80)"),
        ([1e-6], "<0.0001"),
    ],
)
def test_quantiles_are_of_a_tenth(values, text):
    assert quantiles(values) == text


def test_tiny_numbers_are_only_tiny():
    assert [bounded(v, 2) for v in (0.0, 0.0123, -1e-9)] == ["0", "0.012", "<0.0001"]


def test_paragraphs_leave_out_what_is_empty():
    assert paragraphs(["a\n", "", " b"]) == "a\n\nb"
