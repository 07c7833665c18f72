"""The distribution of targets given their latent values, for any likelihood."""

from __future__ import annotations

from typing import Any

import pymc as pm

from pymc_bsvm import losses, symbolic
from pymc_bsvm.distributions.noise import noise_distribution
from pymc_bsvm.distributions.trigonometric import Trigonometric

__all__ = ["likelihood"]

_NAMED: dict[type[losses.Loss], Any] = {
    losses.Gaussian: pm.Normal,
    losses.Trigonometric: Trigonometric,
}


def likelihood(loss: losses.Loss, f: Any) -> Any:
    """Return the distribution of the targets given the latent values.

    Parameters
    ----------
    loss : Loss
        A `losses.NoiseLoss`, or a loss of classification with a normaliser. Its parameters may be
        variables.
    f : tensor_like of shape (n,)
        Latent values, in units of the targets for regression.

    Returns
    -------
    TensorVariable
        An unregistered random variable of shape (n,), as ``.dist`` methods return. Labels are 0
        and 1.

    Raises
    ------
    NotImplementedError
        If the loss is no likelihood, or does not know the quantiles of its noise.
    """
    if not isinstance(loss, losses.Loss):
        raise TypeError(
            f"loss must be a loss of pymc_bsvm.losses, but it is {loss!r}. "
            "Pass, for example, losses.SILF(C=10, epsilon=0.1)."
        )
    named = _NAMED.get(type(loss))
    if named is not None:
        return named.dist(f, **loss.fields)
    if isinstance(loss, losses.NoiseLoss):
        return noise_distribution(type(loss)).dist(f, **loss.fields)
    if loss.task == "classification" and loss.normalized:
        value = losses.formulas(type(loss), symbolic).value
        against, agreed = (value(sign, f, *loss.parameters) for sign in (-1.0, 1.0))
        return pm.Bernoulli.dist(logit_p=against - agreed)
    raise NotImplementedError(
        f"There is no likelihood for the loss {type(loss).__name__}, whose noise has no quantiles. "
        "Derive the loss from losses.NoiseLoss, or use a loss that is a log likelihood."
    )
