"""The likelihoods of the estimators: which parameters of a loss are free, and where they start."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm import losses
from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm._validation import Interval, as_parameter, positive
from pymc_bsvm.losses.base import Loss, RegressionLoss
from pymc_bsvm.search import Hyperparameter

__all__ = [
    "Likelihood",
    "betas_of",
    "check_likelihood",
    "classification_likelihood",
    "noise_in",
    "regression_likelihood",
    "silf_likelihood",
    "trigonometric_likelihood",
]

_FAMILIES: dict[str, Any] = {
    "regression": {
        "silf": losses.SILF,
        "huber": losses.Huber,
        "laplace": losses.Laplace,
        "gaussian": losses.Gaussian,
        "squared": losses.Gaussian,  # as in `SVMRegressor`
        "epsilon_insensitive": losses.EpsilonInsensitive,
    },
    "classification": {
        "trigonometric": losses.Trigonometric,
        "logistic": losses.Logistic,
        "probit": losses.Probit,
    },
}

# Starts and bounds for standardised targets, of rates such as C and lengths such as sigma, from
# section 4.4 of [Chu03]_.
_SEARCHED = {-1: (1.0, 0.01, 1000.0), 1: (0.05, math.exp(-5.0), 2.0)}
_WIDEST = 0.5  # tube; exp(-0.7) in section 4.4 of [Chu03]_
# Targets with next to no noise widen the bounds of lengths down to this, of rates to its inverse.
# Narrower noise is lost in the rounding of the latent values.
_NARROWEST = 3e-6
_REACH = 100.0  # of the search around a parameter that has no unit of the targets
_BETA = Interval(0.0, 1.0, includes_high=True)


@dataclass(frozen=True)
class Likelihood:
    """A loss with some fields free and the others fixed."""

    loss_type: type[Loss]
    free: tuple[Hyperparameter, ...]
    fixed: Mapping[str, float]

    def loss(self, values: Any) -> Loss:
        """Return the loss at values of the free fields; they may be model variables."""
        chosen = {h.stem: value for h, value in zip(self.free, values, strict=True)}
        return self.loss_type(**chosen, **self.fixed)

    def slopes(self, values: Array, of_fields: Sequence[Parameter]) -> Array:
        """Turn derivatives with respect to all fields into those of the logs of the free ones."""
        order = list(self.loss_type.domains)
        return np.array(
            [
                of_fields[order.index(h.stem)] * value
                for h, value in zip(self.free, values, strict=True)
            ]
        )


def silf_likelihood(beta: float, widest: float = _WIDEST) -> Likelihood:
    """Return SILF with C and epsilon free, the tube at most so wide in the machine's units."""
    return _searched(losses.SILF, {"beta": beta}, widest)


def trigonometric_likelihood() -> Likelihood:
    """Return the trigonometric likelihood with a margin of one; the amplitude takes its place."""
    return classification_likelihood("trigonometric")


def regression_likelihood(loss: Any, unit: float, widest: float = _WIDEST) -> Likelihood:
    """Return the likelihood of a family by name, or around the parameters of a loss.

    Parameters
    ----------
    loss : str or RegressionLoss
        A name other than "silf", which has a beta to choose, or a loss in the units of the data.
    unit : float
        The unit of the machine's targets, in units of the data.
    widest : float
        Largest epsilon, in the machine's units.

    Returns
    -------
    Likelihood
        Parameters on the positive half line are free; a loss says where they start. Others, such as
        shares, are fixed.
    """
    if isinstance(loss, str):
        return _searched(_family(loss, "regression"), {}, widest)
    check_likelihood(loss, "regression", _FAMILIES["regression"])
    given = loss.scaled(1.0 / unit).fields
    free = {name for name, domain in loss.domains.items() if domain == positive}
    starts = {name: value for name, value in given.items() if name in free}
    fixed = {name: value for name, value in given.items() if name not in free}
    return _searched(type(loss), fixed, widest, starts)


def classification_likelihood(loss: Any) -> Likelihood:
    """Return the likelihood of a family by name, or of a loss; the amplitude alone is learned."""
    given = _family(loss, "classification")() if isinstance(loss, str) else loss
    check_likelihood(given, "classification", _FAMILIES["classification"])
    return Likelihood(type(given), (), given.fields)


def betas_of(beta: Any, n: int) -> tuple[float, ...]:
    """Return the shares of the tube over which SILF may bend; the first is that of [Chu03]_."""
    if not isinstance(beta, str):
        return (as_parameter("beta", beta, _BETA),)
    if beta not in ("auto", "evidence", "papers"):
        raise ValueError(
            "beta must be 'auto', 'evidence', 'papers' or a number in (0, 1], but it is "
            f"{beta!r}. Pass, for example, 0.3."
        )
    by_size = 0.3 if n < 2000 else 0.1 if n <= 4000 else 0.05
    return (by_size,) if beta == "papers" else (by_size, 1.0)


def noise_in(unit: float, loss: Loss) -> RegressionLoss:
    """Return the noise of standardised targets in the units of the targets."""
    assert isinstance(loss, RegressionLoss)
    return loss.scaled(unit)


def _searched(
    loss_type: type[RegressionLoss],
    fixed: Mapping[str, float],
    widest: float,
    starts: Mapping[str, float] | None = None,
) -> Likelihood:
    """Return a likelihood with all fields free that are not fixed."""
    free = []
    for name in loss_type.domains:
        if name not in fixed:
            power = loss_type.units[name]
            given = (starts or {}).get(name)
            start, low, high = _SEARCHED.get(power, (1.0, 1.0 / _REACH, _REACH))
            if name == "epsilon":
                high = widest
                low = min(low, 0.1 * widest)
                start = min(start, widest)
            if given is not None:
                start, low, high = given, min(low, given / _REACH), max(high, given * _REACH)
            least = _NARROWEST if power == 1 else None
            most = 1.0 / _NARROWEST if power == -1 else None
            free.append(Hyperparameter(name, start, low, high, (0, power), least=least, most=most))
    return Likelihood(loss_type, tuple(free), fixed)


def _family(name: str, task: str) -> Any:
    """Return the loss of a name."""
    known: dict[str, Any] = _FAMILIES[task]
    if name not in known:
        raise ValueError(
            f"loss must be one of {_listed(known)} or a loss object, but it is {name!r}. "
            "Pass one of them."
        )
    return known[name]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def check_likelihood(loss: Any, task: str, names: Iterable[str]) -> None:
    """Refuse what is no likelihood of the task with one number for each parameter.

    The names are those that may stand in the place of an object.
    """
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a name or an object of pymc_bsvm.losses, but it is {loss!r}. "
            f"Pass a name: {_listed(names)}."
        )
    if loss.task != task or not loss.normalized:
        raise ValueError(
            f"loss must be a likelihood of {task}, but it is {loss!r}. "
            f"Pass another, or a name: {_listed(names)}."
        )
    if loss.n_rows is not None or loss.symbolic or loss.functions:
        raise ValueError(
            f"Each parameter of the loss must be a number here, but loss is {loss!r}. "
            "Use gp.Laplace for parameters that vary with the rows or are variables."
        )
