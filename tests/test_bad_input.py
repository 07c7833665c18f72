"""What users do by mistake: every error says what was seen and what to do, in few sentences."""

import re
import warnings

import pytest

from tests.misuse import estimators, models
from tests.misuse.case import Misuse

CASES = [*models.CASES, *estimators.CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_error_says_what_was_seen_and_what_to_do(case: Misuse):
    with warnings.catch_warnings():  # of searches that end early
        warnings.simplefilter("ignore")
        with pytest.raises(case.exception) as caught:
            case.call()
    message = str(caught.value)
    assert re.search(case.sees, message, re.DOTALL), message
    assert re.search(case.remedy, message, re.DOTALL), message
    assert len(re.findall(r"[.?!](?=\s|$)", message)) <= 3, message


def test_there_are_many():
    assert len({case.name for case in CASES}) == len(CASES) >= 150
    assert len(estimators.CASES) >= 70
    assert len(models.CASES) >= 90
