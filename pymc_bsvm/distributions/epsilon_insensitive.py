"""The likelihood of classical support vector regression."""

from __future__ import annotations

from typing import Any

from pytensor.tensor import TensorVariable

from pymc_bsvm import losses
from pymc_bsvm.distributions.noise import Noise

__all__ = ["EpsilonInsensitive"]


class EpsilonInsensitive(Noise):
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

    loss_type = losses.EpsilonInsensitive

    @classmethod
    def dist(cls, mu: Any, C: Any, epsilon: Any, **kwargs: Any) -> TensorVariable:
        """Create the variable without registering it in a model."""
        return super().dist(mu, C, epsilon, **kwargs)
