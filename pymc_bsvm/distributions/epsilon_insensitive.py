"""The likelihood of classical support vector regression."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from pymc.distributions.distribution import Continuous
from pytensor.tensor.variable import TensorVariable

from pymc_bsvm import losses, symbolic
from pymc_bsvm._validation import Interval, check_finite
from pymc_bsvm.distributions.checked import (
    Checked,
    as_tensors,
    broadcast_support_point,
    guard,
    guard_quantile,
)
from pymc_bsvm.distributions.draws import InverseCdfRV

__all__ = ["EpsilonInsensitive", "EpsilonInsensitiveRV"]

_DOMAINS = MappingProxyType({"mu": Interval(), **losses.EpsilonInsensitive.domains})
_LOSS = losses.formulas(losses.EpsilonInsensitive, symbolic)
_log_normalizer: Any = _LOSS.log_normalizer
_NOISE = losses.noise_formulas(losses.EpsilonInsensitive, symbolic)


class EpsilonInsensitiveRV(InverseCdfRV):
    """Draws of the epsilon-insensitive distribution."""

    name = "epsilon_insensitive"
    extended_signature = "[rng],[size],(),(),()->[rng],()"
    _print_name = ("EpsilonInsensitive", "\\operatorname{EpsilonInsensitive}")

    @classmethod
    def from_uniform(cls, u: Any, mu: Any, C: Any, epsilon: Any) -> Any:
        """Invert the distribution function."""
        return mu + _NOISE.quantile(u, C, epsilon)


class EpsilonInsensitive(Checked, Continuous):
    r"""The distribution whose negative log density is Vapnik's epsilon-insensitive loss.

    .. math::

        f(x \mid \mu, C, \epsilon) =
        \frac{C}{2 (C\epsilon + 1)} e^{-C \max(|x - \mu| - \epsilon, 0)}

    Uniform within the tube, exponential tails beyond. The log density has a kink at the edges of
    the tube and no curvature anywhere; `SILF` with a small beta is its smooth neighbour.

    ========  ===========================================================================
    Support   :math:`x \in \mathbb{R}`
    Mean      :math:`\mu`
    Variance  :math:`\frac{2}{C^2} + \frac{\epsilon^2 (C\epsilon + 3)}{3 (C\epsilon + 1)}`
    ========  ===========================================================================

    Parameters
    ----------
    mu : tensor_like of float
        Location.
    C : tensor_like of float
        Rate of the exponential tails, in units of 1/x; C > 0.
    epsilon : tensor_like of float
        Half width of the tube, in units of x; epsilon > 0.

    See Also
    --------
    SILF : the smooth version.
    pymc_bsvm.losses.EpsilonInsensitive : the same loss in plain NumPy.

    References
    ----------
    [Chu03]_, (2.27); [GGHB02]_, (29).

    Examples
    --------
    .. code-block:: python

        with pm.Model():
            location = pm.Normal("location", 0, 1)
            bsvm.EpsilonInsensitive("y", mu=location, C=5.0, epsilon=0.1, observed=y)
    """

    domains = _DOMAINS
    rv_type = EpsilonInsensitiveRV
    rv_op = EpsilonInsensitiveRV.rv_op

    @classmethod
    def dist(cls, mu: Any, C: Any, epsilon: Any, **kwargs: Any) -> TensorVariable:
        """Create the variable without registering it in a model."""
        return super().dist(as_tensors(_DOMAINS, mu, C, epsilon), **kwargs)

    @staticmethod
    def check_observed(name: str, data: np.ndarray) -> None:
        """Refuse data that are not finite."""
        check_finite(name, data, "Drop these values, or mask them to have PyMC impute them.")

    def support_point(rv, size: Any, mu: Any, C: Any, epsilon: Any) -> Any:
        """Return the location."""
        return broadcast_support_point(mu, size, C, epsilon)

    def logp(value: Any, mu: Any, C: Any, epsilon: Any) -> Any:
        """Return the log density."""
        res = -_LOSS.value(value, mu, C, epsilon) - _log_normalizer(C, epsilon)
        return guard(res, _DOMAINS, mu, C, epsilon)

    def logcdf(value: Any, mu: Any, C: Any, epsilon: Any) -> Any:
        """Return the log probability of a draw of at most ``value``."""
        return guard(_NOISE.log_cdf(value - mu, C, epsilon), _DOMAINS, mu, C, epsilon)

    def logccdf(value: Any, mu: Any, C: Any, epsilon: Any) -> Any:
        """Return the log probability of a draw above ``value``."""
        return guard(_NOISE.log_cdf(mu - value, C, epsilon), _DOMAINS, mu, C, epsilon)

    def icdf(value: Any, mu: Any, C: Any, epsilon: Any) -> Any:
        """Return the quantile."""
        res = mu + _NOISE.quantile(value, C, epsilon)
        return guard_quantile(res, value, _DOMAINS, mu, C, epsilon)
