"""Random numbers for the tests of the evidence."""

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.default_rng(20261119)
