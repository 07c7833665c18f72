"""The form of an error: one sentence says what is wrong, a second one what to do about it."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

Refuses = Callable[..., AbstractContextManager[None]]


@contextmanager
def refused(error: type[Exception], *words: str) -> Iterator[None]:
    """Expect an error of exactly two sentences that contains the given words."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    assert type(caught.value) is error, repr(caught.value)
    assert len(re.findall(r"\.(?=\s|$)", message)) == 2, message
    assert message.endswith("."), message
    for word in words:
        assert word in message, message
