"""What the three distributions share: arguments are checked as early as their values are known."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytensor.tensor as pt
from pytensor.graph import Constant, Variable
from pytensor.tensor import TensorVariable

from pymc_bsvm._pymc import (
    check_icdf_parameters,
    check_icdf_value,
    check_parameters,
    convert_observed_data,
    floatX,
    rv_size_is_none,
)
from pymc_bsvm._validation import Interval, shown

__all__ = ["Checked", "as_tensors", "broadcast_support_point", "guard", "guard_quantile"]

_OF_PYMC = {"shape", "size", "rng", "return_next_rng", "dims", "initval"}
"""Keyword arguments of `dist`; PyMC itself says that two of them are for models only."""
_OF_MODELS = {"observed", "total_size", "transform", "default_transform"}


class Checked:
    """A PyMC distribution that checks its observed data when it enters a model."""

    domains: ClassVar[Mapping[str, Interval]]
    """The parameters, in their order, and their domains."""

    def __new__(cls, name: str, *args: Any, observed: Any = None, **kwargs: Any) -> TensorVariable:
        """Check the arguments and the observed data, then register the variable as PyMC does."""
        cls._check_arguments(name, args, kwargs)
        if observed is not None:
            _check_numbers(f"observed of {name!r}", observed)
            data = _known_data(observed)
            if data is not None:
                shown = data
                if isinstance(data, np.ma.MaskedArray):
                    shown = data.compressed()
                    observed = np.ma.masked_array(data.filled(0), data.mask)  # casts to integers
                cls.check_observed(f"observed of {name!r}", shown)
                given = {**kwargs, **dict(zip(cls.domains, args, strict=False))}
                shapes = {
                    key: _tensor(key, given[key], domain).type.shape
                    for key, domain in cls.domains.items()
                    if key in given
                }
                _check_broadcast({**shapes, "observed": data.shape}, whole=data.shape)
        return super().__new__(cls, name, *args, observed=observed, **kwargs)  # type: ignore[call-arg]

    @classmethod
    def _check_arguments(cls, name: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise ``TypeError`` for a name that is none, and for unknown or missing parameters."""
        if not isinstance(name, str):
            raise TypeError(
                f"The first argument of {cls.__name__} is the name of the variable, but it is "
                f"{reprlib.repr(name)}. Pass a string first, or use {cls.__name__}.dist."
            )
        unknown = sorted(set(kwargs) - _OF_PYMC - _OF_MODELS - set(cls.domains))
        needed = [
            x.name
            for x in inspect.signature(cls.dist).parameters.values()
            if x.default is x.empty and x.name in cls.domains
        ]
        missing = [x for x in needed[len(args) :] if x not in kwargs]
        if unknown or missing:
            seen = f"has no argument {unknown[0]!r}" if unknown else f"lacks {missing[0]}"
            raise TypeError(
                f"{cls.__name__} {seen}. Use {', '.join(cls.domains)}, or those of PyMC, such as "
                "shape and dims."
            )

    @classmethod
    def dist(cls, *args: Any, **kwargs: Any) -> TensorVariable:
        """Create the variable, after checking that PyMC knows all keyword arguments."""
        unknown = sorted(set(kwargs) - _OF_PYMC)
        if unknown:
            raise TypeError(
                f"{cls.__name__} has no argument {unknown[0]!r}. Use {', '.join(cls.domains)}, or "
                "those of PyMC, such as shape and dims."
            )
        return super().dist(*args, **kwargs)  # type: ignore[misc]

    @staticmethod
    def check_observed(name: str, data: np.ndarray) -> None:
        """Raise ``ValueError`` for data that the distribution cannot have produced."""
        raise NotImplementedError


def as_tensors(domains: Mapping[str, Interval], *values: Any) -> list[TensorVariable]:
    """Return the parameters as tensors after checking those whose value is known.

    Raises
    ------
    ValueError
        If a known value is not finite or lies outside its domain, or if shapes do not broadcast.
    """
    tensors = []
    for (name, domain), value in zip(domains.items(), values, strict=True):
        tensor = _tensor(name, value, domain)
        if isinstance(tensor, Constant):
            domain.check(name, tensor.data)
        tensors.append(tensor)
    shapes = {name: tensor.type.shape for name, tensor in zip(domains, tensors, strict=True)}
    _check_broadcast(shapes)
    return tensors


def _tensor(name: str, value: Any, domain: Interval) -> TensorVariable:
    """Return a parameter as a tensor."""
    try:
        return pt.as_tensor_variable(floatX(value))
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be a number, an array or a variable, but it is {shown(value)}. "
            f"Pass a number with {domain.describe(name)}, or a variable with a prior to learn it."
        ) from error


def broadcast_support_point(point: Any, size: Any, *parameters: Any) -> Any:
    """Give a support point the shape of the variable."""
    if rv_size_is_none(size):
        return pt.broadcast_arrays(point, *parameters)[0]
    return pt.full(size, point)


def guard(expression: Any, domains: Mapping[str, Interval], *parameters: Any) -> Any:
    """Let PyMC refuse parameters outside their domains in a log probability."""
    conditions = _conditions(domains, parameters)
    return check_parameters(expression, *conditions, msg=_describe(domains))


def guard_quantile(
    expression: Any, value: Any, domains: Mapping[str, Interval], *parameters: Any
) -> Any:
    """Let PyMC refuse parameters outside their domains, and shares outside [0, 1], in an icdf."""
    conditions = _conditions(domains, parameters)
    return check_icdf_parameters(
        check_icdf_value(expression, value), *conditions, msg=_describe(domains)
    )


def _conditions(domains: Mapping[str, Interval], parameters: tuple[Any, ...]) -> list[Any]:
    pairs = zip(domains.values(), parameters, strict=True)
    return [condition for domain, value in pairs for condition in domain.conditions(value)]


def _describe(domains: Mapping[str, Interval]) -> str:
    bounded = {name: domain for name, domain in domains.items() if domain != Interval()}
    return ", ".join(domain.describe(name) for name, domain in bounded.items())


def _check_numbers(name: str, observed: Any) -> None:
    """Raise ``TypeError`` for observed data that are neither symbolic nor an array of numbers."""
    if isinstance(observed, Variable):
        return
    values = observed.to_numpy() if hasattr(observed, "to_numpy") else observed
    try:
        np.asarray(values).astype(float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} must be an array of numbers, but got {shown(observed)}. "
            "Encode or convert the values to numbers first."
        ) from error


def _known_data(observed: Any) -> np.ndarray | None:
    """Return observed data whose value is known; what PyMC will impute is masked."""
    data = convert_observed_data(convert_observed_data(observed))  # lists at the second time
    if hasattr(data, "get_value"):
        return np.asarray(data.get_value(borrow=True))
    if isinstance(data, Constant):
        return np.asarray(data.data)
    return data if isinstance(data, np.ndarray) else None


def _check_broadcast(
    shapes: Mapping[str, tuple[int | None, ...]], whole: tuple[int, ...] | None = None
) -> None:
    """Raise unless the shapes, as far as they are known, broadcast (to ``whole`` if given)."""
    known = {
        name: tuple(1 if length is None else length for length in shape)
        for name, shape in shapes.items()
    }
    try:
        fits = whole in (None, np.broadcast_shapes(*known.values()))
    except ValueError:
        fits = False
    if not fits:
        listed = ", ".join(f"{name} {shape}" for name, shape in known.items() if shape)
        raise ValueError(
            f"The shapes {listed} do not broadcast against each other. "
            "Pass parameters and data of equal length, or scalars."
        )
