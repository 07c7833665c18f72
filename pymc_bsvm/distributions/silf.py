"""The SILF likelihood: robust noise that leaves small residuals alone."""

from __future__ import annotations

from typing import Any

from pytensor.tensor import TensorVariable

from pymc_bsvm import losses
from pymc_bsvm.distributions.noise import Noise

__all__ = ["SILF"]


class SILF(Noise):
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

    loss_type = losses.SILF

    @classmethod
    def dist(cls, mu: Any, C: Any, epsilon: Any, beta: Any = 0.3, **kwargs: Any) -> TensorVariable:
        """Create the variable without registering it in a model."""
        return super().dist(mu, C, epsilon, beta, **kwargs)
