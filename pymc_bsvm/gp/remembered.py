"""What a process was conditioned on, as PyMC's processes remember it, with a text for each."""

from __future__ import annotations

from collections.abc import Callable

from pymc_bsvm._pymc import conditioned_vars

__all__ = ["remembered"]


def remembered[T: type](**texts: str) -> Callable[[T], T]:
    """Return a decorator that gives a class documented properties, unset until it has data."""

    def decorate(cls: T) -> T:
        conditioned_vars(list(texts))(cls)
        for name, text in texts.items():
            vars(cls)[name].__doc__ = text
        return cls

    return decorate
