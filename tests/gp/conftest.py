"""Shared fixtures of the tests of the Gaussian process models."""

import numpy as np
import pytest

from tests.gp import cases


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20030815)


@pytest.fixture(scope="module")
def data() -> cases.Data:
    return cases.plane(25)
