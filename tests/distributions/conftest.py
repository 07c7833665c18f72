"""Shared fixtures of the distribution tests."""

from collections.abc import Iterator

import numpy as np
import pytensor
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20030815)


@pytest.fixture
def quick() -> Iterator[None]:
    """Interpret where shapes, names or formulas are compared that other tests compile."""
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield
