"""The SILF likelihood: robust noise that leaves small residuals alone."""

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

__all__ = ["SILF", "SILFRV"]

_DOMAINS = MappingProxyType({"mu": Interval(), **losses.SILF.domains})
_LOSS = losses.formulas(losses.SILF, symbolic)
_log_normalizer: Any = _LOSS.log_normalizer
_NOISE = losses.noise_formulas(losses.SILF, symbolic)


class SILFRV(InverseCdfRV):
    """Draws of the SILF distribution."""

    name = "silf"
    extended_signature = "[rng],[size],(),(),(),()->[rng],()"
    _print_name = ("SILF", "\\operatorname{SILF}")

    @classmethod
    def from_uniform(cls, u: Any, mu: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        """Invert (F.1) of [Chu03]_."""
        return mu + _NOISE.quantile(u, C, epsilon, beta)


class SILF(Checked, Continuous):
    r"""The distribution whose negative log density is the soft insensitive loss.

    .. math::

        f(x \mid \mu, C, \epsilon, \beta) = \frac1Z e^{-\ell(x - \mu)}, \qquad
        \ell(r) = C \begin{cases} 0 & |r| \le (1-\beta)\epsilon \\
        (|r| - (1-\beta)\epsilon)^2 / (4\beta\epsilon) & \text{between} \\
        |r| - \epsilon & |r| \ge (1+\beta)\epsilon \end{cases}

    The density is flat on top, Gaussian on its shoulders and exponential in its tails, so that an
    observation pulls at ``mu`` with a force of at most ``C``.

    ========  ==========================================
    Support   :math:`x \in \mathbb{R}`
    Mean      :math:`\mu`
    Variance  (2.33) of [Chu03]_; `losses.SILF.variance`
    ========  ==========================================

    Parameters
    ----------
    mu : tensor_like of float
        Location.
    C : tensor_like of float
        Rate of the exponential tails, in units of 1/x; C > 0.
    epsilon : tensor_like of float
        Half width of the flat top together with half of each shoulder, in units of x; epsilon > 0.
    beta : tensor_like of float, default 0.3
        Share of epsilon taken by the shoulders; 0 < beta <= 1. One is Huber's density.

    See Also
    --------
    EpsilonInsensitive : the limit as beta -> 0.
    pymc_bsvm.losses.SILF : the same loss in plain NumPy, with its variance and mixing density.

    References
    ----------
    [Chu03]_, (2.28)-(2.33) and appendix F; [CKO04]_.

    Examples
    --------
    .. code-block:: python

        with pm.Model():
            slope = pm.Normal("slope", 0, 1)
            C = pm.LogNormal("C", 1, 1)
            epsilon = pm.HalfNormal("epsilon", 0.3)
            bsvm.SILF("y", mu=slope * x, C=C, epsilon=epsilon, observed=y)
    """

    domains = _DOMAINS
    rv_type = SILFRV
    rv_op = SILFRV.rv_op

    @classmethod
    def dist(cls, mu: Any, C: Any, epsilon: Any, beta: Any = 0.3, **kwargs: Any) -> TensorVariable:
        """Create the variable without registering it in a model."""
        return super().dist(as_tensors(_DOMAINS, mu, C, epsilon, beta), **kwargs)

    @staticmethod
    def check_observed(name: str, data: np.ndarray) -> None:
        """Refuse data that are not finite."""
        check_finite(name, data, "Drop these values, or mask them to have PyMC impute them.")

    def support_point(rv, size: Any, mu: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        """Return the location."""
        return broadcast_support_point(mu, size, C, epsilon, beta)

    def logp(value: Any, mu: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        """Return the log density."""
        loss = _LOSS.value(value, mu, C, epsilon, beta)
        res = -loss - _log_normalizer(C, epsilon, beta)
        return guard(res, _DOMAINS, mu, C, epsilon, beta)

    def logcdf(value: Any, mu: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        """Return the log probability of a draw of at most ``value``."""
        res = _NOISE.log_cdf(value - mu, C, epsilon, beta)
        return guard(res, _DOMAINS, mu, C, epsilon, beta)

    def logccdf(value: Any, mu: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        """Return the log probability of a draw above ``value``."""
        res = _NOISE.log_cdf(mu - value, C, epsilon, beta)
        return guard(res, _DOMAINS, mu, C, epsilon, beta)

    def icdf(value: Any, mu: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        """Return the quantile."""
        res = mu + _NOISE.quantile(value, C, epsilon, beta)
        return guard_quantile(res, value, _DOMAINS, mu, C, epsilon, beta)
