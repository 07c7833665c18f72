"""Names of hyperparameters follow from what they are."""

import pytest

from pymc_bsvm.search import Hyperparameter


@pytest.mark.parametrize(
    ("column", "term", "variable", "name"),
    [
        (None, 1, "ls", "ls"),
        (3, 1, "ls", "ls[3]"),
        (None, 2, "ls_2", "ls_2"),
        (0, 12, "ls_12", "ls[0]_12"),
    ],
)
def test_names(column, term, variable, name):
    h = Hyperparameter("ls", 1.0, 0.1, 10.0, column=column, term=term)
    assert (h.variable, h.name) == (variable, name)


def test_a_stem_is_not_read():
    """What looks like a column or a term in a stem is part of it."""
    h = Hyperparameter("rate_2[x]", 1.0, 0.1, 10.0)
    assert h.name == h.variable == "rate_2[x]"
    assert (h.column, h.term) == (None, 1)
    assert h._replace(column=4, term=3).name == "rate_2[x][4]_3"
