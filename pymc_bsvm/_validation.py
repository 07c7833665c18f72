"""Errors for bad input: what is wrong with the value seen, then what to do."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Interval",
    "as_parameter",
    "as_real_array",
    "as_row_parameter",
    "check_finite",
    "check_labels",
    "check_mapping",
    "check_real",
    "check_size",
    "flag",
    "generator_of",
    "names_arguments",
    "positive",
    "shown",
    "whole_number",
]


@dataclass(frozen=True)
class Interval:
    """The values a parameter may take; the same object serves numbers and symbols.

    Parameters
    ----------
    low, high : float
        Ends of the interval; an infinite end is never included.
    includes_low, includes_high : bool
        Whether a finite end belongs to the interval.
    """

    low: float = -math.inf
    high: float = math.inf
    includes_low: bool = False
    includes_high: bool = False

    def conditions(self, value: Any) -> list[Any]:
        """Inequalities that hold inside, for an array or a symbolic ``value``."""
        conditions = []
        if math.isfinite(self.low):
            conditions.append(value >= self.low if self.includes_low else value > self.low)
        if math.isfinite(self.high):
            conditions.append(value <= self.high if self.includes_high else value < self.high)
        return conditions

    def describe(self, name: str) -> str:
        """Spell the interval out as an inequality, such as ``0 < beta <= 1``."""
        text = name
        if math.isfinite(self.low):
            text = f"{self.low:g} {'<=' if self.includes_low else '<'} {text}"
        if math.isfinite(self.high):
            text = f"{text} {'<=' if self.includes_high else '<'} {self.high:g}"
        return text if text != name else f"-inf < {name} < inf"

    def check(self, name: str, value: Any) -> None:
        """Raise unless every element of the array ``value`` is finite and inside.

        Raises
        ------
        ValueError
            With the argument's name, the first offending value and the remedy.
        """
        if isinstance(value, float) and math.isfinite(value) and all(self.conditions(value)):
            return  # what follows takes ten times as long
        array = np.asarray(value, dtype=float)
        inside = np.isfinite(array)
        for condition in self.conditions(array):
            inside &= condition
        if not inside.all():
            seen = array[~inside].flat[0]
            raise ValueError(
                f"{name} must satisfy {self.describe(name)}, but {_where(array, inside)}{seen!s}. "
                f"Pass a finite value with {self.describe(name)}."
            )


positive = Interval(low=0.0)


def as_parameter(name: str, value: Any, domain: Interval) -> float:
    """Return ``value`` as a float after checking that it is a real number in ``domain``."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf":
        is_number = True
    if not is_number:
        raise TypeError(
            f"{name} must be a real number, but got {value!r} of type {type(value).__name__}. "
            f"Pass a float with {domain.describe(name)}."
        )
    domain.check(name, value)
    return float(value)


def as_row_parameter(name: str, value: Any, domain: Interval) -> Any:
    """Return a number as a float, and a vector of one number for each row as a read-only array."""
    if not isinstance(value, np.ndarray) and hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        return as_parameter(name, value, domain)
    if value.ndim != 1 or value.dtype.kind not in "iuf":
        raise TypeError(
            f"{name} must be a number or a vector of one for each row, but it is an array of shape "
            f"{value.shape} and type {value.dtype}. Pass numbers with {domain.describe(name)}."
        )
    domain.check(name, value)
    rows = np.array(value, dtype=float)
    rows.flags.writeable = False
    return rows


def flag(name: str, value: Any) -> bool:
    """Return ``value`` after checking that it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, but it is {value!r}. Pass one of the two.")
    return bool(value)


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return ``value`` after checking that it is a whole number of at least ``least``."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(
            f"{name} must be an integer >= {least}, but it is {value!r}. Pass {least} or more."
        )
    return int(value)


def check_finite(name: str, value: Any, remedy: str = "Remove or impute these rows first.") -> None:
    """Raise ``ValueError`` unless every element of the array ``value`` is finite."""
    array = np.asarray(value, dtype=float)
    finite = np.isfinite(array)
    if not finite.all():
        seen = array[~finite].flat[0]
        raise ValueError(f"{name} must be finite, but {_where(array, finite)}{seen!s}. {remedy}")


def check_labels(name: str, value: Any, labels: tuple[int, int], hint: Callable[..., str]) -> None:
    """Raise ``ValueError`` unless every element of ``value`` is one of the two ``labels``.

    ``hint(unique)`` gives the remedy for the sorted distinct values that were seen.
    """
    array = np.asarray(value)
    known = np.isin(array, labels)
    if not known.all():
        raise ValueError(
            f"{name} must hold the labels {labels[0]} and {labels[1]} only, "
            f"but {_where(array, known)}{array[~known].flat[0]!s}. {hint(np.unique(array))}"
        )


def as_real_array(name: str, value: Any, remedy: str) -> np.ndarray:
    """Return real numbers as an array of floats; nothing is dropped on the way.

    Raises
    ------
    TypeError
        For text, objects, dates, complex numbers and what is masked, with the remedy.
    """
    if type(value) is np.ndarray and value.dtype == float:
        return value
    if np.ma.is_masked(value):
        raise TypeError(
            f"{name} has {int(np.ma.count_masked(value))} masked values. Remove these rows first."
        )
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "buifO" or value is None:
            raise TypeError(given.dtype)
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must hold real numbers, but it is {shown(value)}. {remedy}"
        ) from None


def shown(value: Any) -> str:
    """Return a value as an error shows it, arrays by their shape and type."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and type {value.dtype}"
    return reprlib.repr(value)


def check_mapping(name: str, value: Any, remedy: str) -> None:
    """Raise ``TypeError`` unless a value looks up others by their names."""
    if not hasattr(value, "keys") or not hasattr(value, "__getitem__"):
        raise TypeError(
            f"{name} must be a mapping, but it is of type {type(value).__name__}. {remedy}"
        )


def generator_of(random_seed: Any) -> np.random.Generator:
    """Return the generator of a seed."""
    try:
        return np.random.default_rng(random_seed)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_seed is {random_seed!r}, which is no seed. "
            "Pass an integer that is not negative, a numpy Generator, or None."
        ) from error


def names_arguments[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Answer a call with unknown or missing arguments by the arguments that there are."""
    known = [x for x in inspect.signature(function).parameters if x not in ("self", "kwargs")]

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            inside = error.__traceback__ and error.__traceback__.tb_next
            if inside is not None:  # the call itself was right
                raise
            seen = str(error).rstrip(".?")
            raise TypeError(f"{seen}. Its arguments are {', '.join(known)}.") from None

    return wrapper


def check_real(name: str, value: Any, dates: bool = False) -> None:
    """Raise ``ValueError`` for masked and complex values, and for dates unless they will do."""
    if np.ma.is_masked(value):
        count = int(np.ma.count_masked(value))
        raise ValueError(
            f"{name} must be known everywhere, but {count} of its elements are masked. "
            "Leave out or impute these rows first."
        )
    for dtype in _dtypes(value):
        kind = getattr(dtype, "kind", "O")
        if kind == "c":
            raise ValueError(
                f"Complex data not supported: {name} is of type {dtype}. "
                "Pass real numbers, such as absolute values."
            )
        if kind in "mM" and not dates:
            raise ValueError(
                f"{name} must hold numbers, but it holds times of type {dtype}. Pass numbers, such "
                "as the time since the first one divided by np.timedelta64(1, 'D')."
            )


def _dtypes(value: Any) -> list[Any]:
    """Return the types of an array, or of the columns of a data frame."""
    if isinstance(value, list | tuple):
        return [np.asarray(value).dtype] if _regular(value) else []
    dtypes = getattr(value, "dtypes", None)
    if dtypes is None:
        return [getattr(value, "dtype", None)]
    return [dtypes] if hasattr(dtypes, "kind") else list(dtypes)


def _regular(value: Any) -> bool:
    """Return whether nested lists are those of an array."""
    try:
        np.asarray(value)
    except (TypeError, ValueError):
        return False
    return True


_LEAST, _MOST = 1e-100, 1e100  # whose squares, and their sums, are numbers


def check_size(name: str, largest: Any, least: bool = True) -> None:
    """Raise ``ValueError`` where squares would be lost; zero is no size.

    Parameters
    ----------
    name : str
        Of the values.
    largest : array_like
        The largest absolute value of each column, or of a vector.
    least : bool
        Whether columns may not be too small either.
    """
    largest = np.asarray(largest, dtype=float)
    good = largest <= _MOST
    if least:
        good &= (largest == 0.0) | (largest >= _LEAST)
    if not good.all():
        where = f" in column {int(np.argmin(good))}" if largest.ndim else ""
        raise ValueError(
            f"{name} must be of a size from {_LEAST:g} to {_MOST:g}, but the largest{where} is "
            f"{largest[~good].flat[0]:.3g}. Pass it in another unit."
        )


def _where(array: np.ndarray, good: np.ndarray) -> str:
    """Say where the first bad element of ``array`` stands, as the start of a clause."""
    if array.ndim == 0:
        return "it is "
    index = tuple(int(i) for i in np.argwhere(~good)[0])
    return f"element {index[0] if len(index) == 1 else index} is "
