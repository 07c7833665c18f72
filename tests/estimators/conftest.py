"""Fixtures of the tests of the estimators."""

import pytensor
import pytest


@pytest.fixture(scope="module")
def quick():
    """Compile in a second what Numba compiles in half a minute."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield
