"""What is said of arguments that an estimator does not have: those of its neighbours, mostly."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

__all__ = ["BY_NAME", "GIVEN", "LEARNED", "Estimator"]

_LEARNED = (
    "It is learned by the evidence, and hyperparameters_ has it after the fit. Leave it out, or "
    "use {other} to keep a value of your own."
)
_BY_NAME = "The kernel's numbers are passed by name. Pass hyperparameters, such as {{'ls': 0.5}}."
_OF_KERNEL = "The kernel itself says it. Pass a kernel object, such as kernels.Polynomial(3)."
_SILENT = "It says nothing while it works, and in n_iter_ how long that took. Leave it out."
_OF_ALL: Mapping[str, str] = {
    "probability": "Probabilities and error bars come with every prediction. Leave it out.",
    **dict.fromkeys(("degree", "coef0"), _OF_KERNEL),
    **dict.fromkeys(
        ("shrinking", "cache_size"),
        "The solver has the whole kernel matrix at hand. Leave it out.",
    ),
    **dict.fromkeys(
        ("decision_function_shape", "break_ties", "multi_class"),
        "Several classes always have a decision each. Leave it out.",
    ),
    **dict.fromkeys(("verbose", "progressbar"), _SILENT),
}
LEARNED: Mapping[str, str] = {
    **dict.fromkeys(("C", "epsilon", "nu", "sigma", "alpha"), _LEARNED),
    **dict.fromkeys(("gamma", "ls", "length_scale", "eta", "hyperparameters"), _LEARNED),
    "n_restarts_optimizer": "The search may start several times. Pass restarts instead.",
    "normalize_y": "Targets are standardised by default. Pass standardize instead.",
}
"""Advice for estimators that learn their hyperparameters."""
BY_NAME: Mapping[str, str] = dict.fromkeys(("gamma", "ls", "length_scale", "eta"), _BY_NAME)
"""Advice for estimators whose kernel has hyperparameters by name."""
GIVEN: Mapping[str, str] = {
    "probability": "A machine with given parameters has no probabilities. Use {other}.",
    **dict.fromkeys(("ls", "length_scale"), "Length-scales are ls = (2 gamma)^-0.5. Pass gamma."),
}
"""Advice for estimators whose parameters are given."""


class Estimator(BaseEstimator):
    """An estimator whose constructor says what to do about arguments that it does not have."""

    _advice: ClassVar[Mapping[str, str]] = {}
    """What to say of some arguments that it does not have."""
    _other: ClassVar[str] = ""
    """The estimator of the same task that has what is missing here."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse unknown arguments before ``__init__`` sees them."""
        unknown = _refusal(cls, kwargs)
        if unknown:
            raise TypeError(unknown)
        new: Self = super().__new__(cls)
        return new

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as everywhere in scikit-learn.

        Parameters
        ----------
        **params
            Parameters by name.
        """
        unknown = _refusal(type(self), [name for name in params if "__" not in name])
        if unknown:
            raise ValueError(unknown)
        super().set_params(**params)
        return self


def _refusal(cls: type[Estimator], names: Iterable[str]) -> str:
    """Return what to say of the first of the names that is no parameter; nothing if all are."""
    known = cls._get_param_names()
    for name in names:
        if name not in known:
            advice = {**_OF_ALL, **cls._advice}.get(name) or _nearest(name, known)
            return f"{cls.__name__} takes no {name}. {advice.format(other=cls._other)}"
    return ""


def _nearest(name: str, known: list[str]) -> str:
    """Return which parameters may be meant."""
    near = difflib.get_close_matches(name, known, 1)
    return f"Did you mean {near[0]}?" if near else f"Pass some of {', '.join(known)}."
