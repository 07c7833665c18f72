import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

Refuses = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def refuses() -> Refuses:
    """Expect an error of exactly two sentences that contains the given words."""

    @contextmanager
    def expect(error: type[Exception], *words: str) -> Iterator[None]:
        with pytest.raises(error) as caught:
            yield
        message = str(caught.value)
        assert type(caught.value) is error
        assert len(re.findall(r"\.(?=\s|$)", message)) == 2, message
        assert message.endswith("."), message
        for word in words:
            assert word in message, message

    return expect
