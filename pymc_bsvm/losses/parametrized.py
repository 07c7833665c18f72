"""Parameters of losses: shared by all rows, or one number for each row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

import numpy as np

from pymc_bsvm._validation import Interval, as_row_parameter

__all__ = ["Parametrized", "is_symbolic"]


class Parametrized:
    """An immutable object with parameters that are checked when it is made.

    Subclasses are frozen dataclasses whose fields are the keys of `domains`. A parameter is

    - a number that all rows share;
    - a vector of one number for each row, which is kept as a read-only array;
    - a scalar or a vector variable of a model graph;
    - a function of the inputs that returns one of these; see `at`.
    """

    domains: ClassVar[Mapping[str, Interval]] = MappingProxyType({})
    """The parameters and their domains."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Keep `dataclass` from writing methods that cannot compare, hash or print vectors."""
        super().__init_subclass__(**kwargs)
        for name in ("__eq__", "__hash__", "__repr__"):
            if name not in cls.__dict__:
                setattr(cls, name, getattr(Parametrized, name))

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Answer unknown and missing parameters by those that there are."""
        unknown = kwargs.keys() - cls.domains.keys()
        needed = [x.name for x in fields(cast("Any", cls)) if x.default is MISSING]
        missing = [x for x in needed[len(args) :] if x not in kwargs]
        if unknown or missing:
            seen = f"has no parameter {min(unknown)!r}" if unknown else f"lacks {missing[0]}"
            raise TypeError(
                f"{cls.__name__} {seen}. Its parameters are {', '.join(cls.domains) or 'none'}."
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Check numbers, and store them as floats or read-only arrays; the rest is the model's."""
        for name, domain in self.domains.items():
            value = getattr(self, name)
            if value is None:
                raise TypeError(
                    f"{name} is None, but it has no default. Pass a number with "
                    f"{domain.describe(name)}, or a variable with a prior to learn it."
                )
            if is_symbolic(value):
                if value.type.ndim > 1:
                    raise TypeError(
                        f"{name} must be a scalar or a vector, but the variable has "
                        f"{value.type.ndim} dimensions. Pass one number, or one for each row."
                    )
            elif not _is_function(value):
                object.__setattr__(self, name, as_row_parameter(name, value, domain))
        lengths = self._lengths
        for (one, length), (other, another) in itertools.pairwise(lengths.items()):
            if length != another:
                raise ValueError(
                    f"{one} has {length} values, but {other} has {another}. "
                    "Pass one number, or one for each row."
                )

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Parametrized) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        with np.printoptions(threshold=10):
            fields = ", ".join(f"{k}={v!r}" for k, v in self.fields.items())
        return f"{type(self).__qualname__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Build copies anew, which keeps their vectors read-only."""
        return type(self), tuple(self.fields.values())

    @property
    def fields(self) -> dict[str, Any]:
        """The object's own parameters by name."""
        return {name: getattr(self, name) for name in self.domains}

    @cached_property
    def symbolic(self) -> bool:
        """Whether a parameter is a model variable rather than a number."""
        return any(map(is_symbolic, self.fields.values()))

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """Names of the parameters that are functions of the inputs."""
        return tuple(name for name, value in self.fields.items() if _is_function(value))

    @cached_property
    def n_rows(self) -> int | None:
        """Number of rows that the parameters are for; None if all rows share them.

        None as well for variables whose length is not known yet.
        """
        return next(iter(self._lengths.values()), None)

    def check_rows(self, n: int) -> None:
        """Raise ``ValueError`` unless the parameters are for n rows, or for any number."""
        for name, length in self._lengths.items():
            if length != n:
                raise ValueError(
                    f"{name} of {type(self).__name__} has {length} values, but there are {n} rows. "
                    "Pass one number, or one for each row."
                )

    def at(self, X: Any) -> Self:
        """Return the object at inputs X, where functions of the inputs have values.

        Parameters
        ----------
        X : array_like or tensor of shape (n, d)
            What the functions are called with.

        Returns
        -------
        Self
            The object itself if no parameter is a function.
        """
        return self._map(lambda value: value(X) if _is_function(value) else value)

    def take(self, rows: Any) -> Self:
        """Return the object of some rows: of an index or a mask."""
        return self._map(lambda value: value[rows] if np.ndim(value) else value)

    def spread(self, shape: tuple[int, ...]) -> Self:
        """Return the object of each element of a raveled array, whose last axis are the rows."""
        self.shape_with(shape)
        return self._map(lambda x: np.broadcast_to(x, shape).ravel() if np.ndim(x) else x)

    def shape_with(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        """Return what shapes broadcast to when the parameters' rows are their last axis.

        Raises
        ------
        ValueError
            If the last axis is not one of as many rows.
        """
        n = self.n_rows
        if n is None:
            return np.broadcast_shapes(*shapes)
        try:
            shape = np.broadcast_shapes(*shapes, (n,))
        except ValueError:
            shape = ()
        if shape[-1:] != (n,):
            raise ValueError(
                f"The parameters of {type(self).__name__} are for {n} rows, but the arguments have "
                f"shape {' and '.join(map(str, shapes))}. Pass arguments whose last axis has one "
                "element for each row."
            )
        return shape

    def _map(self, change: Callable[[Any], Any]) -> Self:
        """Return the object with its own parameters changed; itself if none is."""
        changed = {name: change(value) for name, value in self.fields.items()}
        same = all(changed[name] is value for name, value in self.fields.items())
        return self if same else type(self)(**changed)

    def _key(self) -> tuple[Any, ...]:
        """Return what tells objects apart."""
        values = self.fields.values()
        return (type(self), *(x.tobytes() if isinstance(x, np.ndarray) else x for x in values))

    @cached_property
    def _lengths(self) -> dict[str, int]:
        """The lengths, as far as they are known, of the parameters that are vectors."""
        fields = {k: x.type if is_symbolic(x) else x for k, x in self.fields.items()}
        shapes = {k: x.shape for k, x in fields.items() if getattr(x, "shape", ())}
        return {k: shape[0] for k, shape in shapes.items() if shape[0] is not None}


def is_symbolic(*values: Any) -> bool:
    """Return whether a value is a variable of a PyTensor graph; this layer does not import it."""
    return any(hasattr(value, "owner") and hasattr(value, "type") for value in values)


def _is_function(value: Any) -> bool:
    """Return whether a parameter is a function of the inputs."""
    return callable(value) and not is_symbolic(value)
