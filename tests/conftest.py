"""What the tests of several layers share."""

import gc
import signal
from collections.abc import Iterator

import pytest

from tests.refusal import Refuses, refused


def pytest_configure() -> None:
    """Compilers make objects by the million: collect young ones seldom, old ones after a file.

    With 100,000 in the place of two million, it took a tenth of the tests of models and fits.
    """
    gc.set_threshold(2_000_000, 20, 1000)


@pytest.fixture
def refuses() -> Refuses:
    """Expect an error of exactly two sentences that contains the given words."""
    return refused


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c() -> None:
    """Let Ctrl-C interrupt, also where a shell has started the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def _set_aside() -> Iterator[None]:
    """Spare the garbage collector the millions of objects of what earlier files compiled."""
    yield
    gc.collect()
    gc.freeze()
