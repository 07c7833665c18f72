"""What the tests of several layers share."""

import pytest

from tests.refusal import Refuses, refused


@pytest.fixture
def refuses() -> Refuses:
    """Expect an error of exactly two sentences that contains the given words."""
    return refused
