"""Checks of arguments that every generator shares.

Each function returns the checked value, converted, or raises an error of two sentences: what is
wrong with the value seen, and what to pass instead.
"""

from numbers import Integral

import numpy as np

from pymc_bsvm._validation import Interval, as_parameter

_SCALE = Interval(low=0.0, includes_low=True)
_SHARE = Interval(0.0, 1.0, includes_low=True, includes_high=True)

type RandomState = int | np.integer | np.random.Generator | None
"""A seed, a generator to continue, or None for a fresh seed of the operating system."""


def integer(name: str, value: object) -> int:
    """Return an integer as an int; True and False are not integers here."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} = {value!r} is not an integer. Pass one, such as {name}=1.")
    return int(value)


def rows(n: int) -> int:
    """Return `n`, the number of rows to draw, as a positive int."""
    if integer("n", n) < 1:
        raise ValueError(f"n = {n!r} is not positive. Pass the number of rows, such as n=100.")
    return int(n)


def real(name: str, value: object) -> float:
    """Return a finite real number as a float."""
    return as_parameter(name, value, Interval())


def scale(name: str, value: object) -> float:
    """Return a scale, a finite number that is zero or larger."""
    return as_parameter(name, value, _SCALE)


def share(name: str, value: object) -> float:
    """Return a share, a number in [0, 1]."""
    return as_parameter(name, value, _SHARE)


def choice[T](name: str, value: T, allowed: tuple[T, ...]) -> T:
    """Return `value` if it is one of the values in `allowed`."""
    if isinstance(value, bool) or value not in allowed:
        options = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} = {value!r} is not known. Pass one of {options}.")
    return value


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator for a seed; a generator is returned as it is."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    message = (
        f"random_state = {random_state!r} is not a seed. "
        "Pass an integer that is zero or larger, a numpy Generator or None."
    )
    try:
        seed = integer("random_state", random_state)
    except TypeError as error:
        raise TypeError(message) from error
    if seed < 0:
        raise ValueError(message)
    return np.random.default_rng(seed)
