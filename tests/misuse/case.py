"""One misuse of the library, and the error that it has to give."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Misuse:
    """What a user may do by mistake, and what the error says; regular expressions."""

    name: str
    call: Callable[[], object]
    exception: type[Exception]
    sees: str
    """What was wrong, with the value seen."""
    remedy: str
    """What to do."""
