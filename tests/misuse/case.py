"""What a misuse is: a call, and what its error must say."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Misuse"]


@dataclass(frozen=True)
class Misuse:
    """A mistake that a user makes, and the answer that the library owes."""

    name: str
    call: Callable[[], object]
    exception: type[Exception]
    sees: str
    """A regular expression of what the error says was seen."""
    remedy: str
    """A regular expression of what the error says to do."""
