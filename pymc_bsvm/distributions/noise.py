"""PyMC distributions of noise, made from losses."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from pymc import Continuous
from pytensor.tensor import TensorVariable

from pymc_bsvm import losses, symbolic
from pymc_bsvm._pymc import DistributionMeta
from pymc_bsvm._validation import Interval, check_finite
from pymc_bsvm.distributions.checked import (
    Checked,
    as_tensors,
    broadcast_support_point,
    guard,
    guard_quantile,
)
from pymc_bsvm.distributions.truncation import NoiseRV

__all__ = ["Noise", "noise_distribution"]

_MADE: dict[type[losses.NoiseLoss], type[Noise]] = {}


class _FromLoss(DistributionMeta):
    """Writes what PyMC registers with a class, for classes that name their loss."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        loss_type = namespace.get("loss_type")
        if loss_type is None:
            return super().__new__(mcs, name, bases, namespace)
        made = super().__new__(mcs, name, bases, {**_stated(loss_type, name), **namespace})
        _MADE[loss_type] = made
        return made


class Noise(Checked, Continuous, metaclass=_FromLoss):
    """Base of the distributions of ``mu + noise`` with the noise of a loss.

    A subclass names its loss. The log density is that of the loss, draws invert its quantiles, and
    the parameters follow ``mu`` in the order of the loss's, with its defaults.
    """

    loss_type: ClassVar[type[losses.NoiseLoss] | None] = None

    @classmethod
    def dist(cls, mu: Any, *args: Any, **kwargs: Any) -> TensorVariable:
        """Create the variable without registering it in a model."""
        own = {name: kwargs.pop(name) for name in cls.domains if name in kwargs}
        bound = inspect.signature(cls.loss_type).bind(*args, **own)  # type: ignore[arg-type]
        bound.apply_defaults()
        return super().dist(as_tensors(cls.domains, mu, *bound.args), **kwargs)

    @staticmethod
    def check_observed(name: str, data: np.ndarray) -> None:
        """Refuse data that are not finite."""
        check_finite(name, data, "Drop these values, or mask them to have PyMC impute them.")


def noise_distribution(loss_type: type[losses.NoiseLoss]) -> type[Noise]:
    """Return the PyMC distribution whose negative log density is a loss.

    Parameters
    ----------
    loss_type : type of NoiseLoss
        The class of the loss, such as `losses.Huber` or one of your own.

    Returns
    -------
    type
        A distribution with the parameters ``mu`` and those of the loss: exact draws, density,
        distribution function and quantiles. For `losses.SILF` it is `pymc_bsvm.SILF`; the same
        class for each call.

    Examples
    --------
    >>> import pymc as pm
    >>> from pymc_bsvm import losses
    >>> from pymc_bsvm.distributions import noise_distribution
    >>> Huber = noise_distribution(losses.Huber)
    >>> round(float(pm.logp(Huber.dist(mu=1.0, C=2.0, epsilon=0.5), 1.0).eval()), 4)
    -0.6214
    """
    if not (isinstance(loss_type, type) and issubclass(loss_type, losses.NoiseLoss)):
        raise TypeError(
            f"loss_type must be a class of losses of regression, but it is {loss_type!r}. "
            "Pass one derived from losses.NoiseLoss, such as losses.Huber."
        )
    if loss_type not in _MADE:
        summary = f"The location ``mu`` plus the noise of the loss `{loss_type.__qualname__}`."
        namespace = {"__doc__": summary, "__module__": __name__, "loss_type": loss_type}
        _FromLoss(loss_type.__name__, (Noise,), namespace)
    return _MADE[loss_type]


def _stated(loss_type: type[losses.NoiseLoss], name: str) -> dict[str, Any]:
    """Return what a distribution is made of, from the formulas of its loss."""
    stated, noise = losses.formulas(loss_type, symbolic), losses.noise_formulas(loss_type, symbolic)
    domains = MappingProxyType({"mu": Interval(), **loss_type.domains})
    log_normalizer: Any = stated.log_normalizer
    above: Any = noise.log_sf
    complete = loss_type.complete

    class RV(NoiseRV):
        extended_signature = f"[rng],[size],{','.join(['()'] * len(domains))}->[rng],()"
        _print_name = (name, f"\\operatorname{{{name}}}")
        symmetric = loss_type.noise(symbolic).log_sf is None

        @classmethod
        def from_uniform(cls, u: Any, mu: Any, *p: Any) -> Any:
            """Invert the distribution function."""
            return mu + noise.quantile(u, *complete(*p))

        @staticmethod
        def log_shares(x: Any, *p: Any) -> tuple[Any, Any]:
            """Return the log probabilities of noise below and above a value."""
            return noise.log_cdf(x, *complete(*p)), above(x, *complete(*p))

    RV.name = name
    RV.__name__ = RV.__qualname__ = f"{name}RV"

    def support_point(rv: Any, size: Any, mu: Any, *p: Any) -> Any:
        return broadcast_support_point(mu, size, *p)

    def logp(value: Any, mu: Any, *p: Any) -> Any:
        res = -stated.value(value, mu, *complete(*p)) - log_normalizer(*complete(*p))
        return guard(res, domains, mu, *p)

    def logcdf(value: Any, mu: Any, *p: Any) -> Any:
        return guard(noise.log_cdf(value - mu, *complete(*p)), domains, mu, *p)

    def logccdf(value: Any, mu: Any, *p: Any) -> Any:
        return guard(above(value - mu, *complete(*p)), domains, mu, *p)

    def icdf(value: Any, mu: Any, *p: Any) -> Any:
        return guard_quantile(mu + noise.quantile(value, *complete(*p)), value, domains, mu, *p)

    functions = (support_point, logp, logcdf, logccdf, icdf)
    named = {function.__name__: function for function in functions}
    return {"domains": domains, "rv_type": RV, "rv_op": RV.rv_op, **named}
