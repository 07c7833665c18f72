"""The width of a posterior at whose mode the loss of no row is curved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.posterior import Posterior
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["flat", "with_width"]

_SETTLED = 0.05  # relative change of the precisions
_LONGEST = np.log(4.0)  # change of their logarithms in a step
_STEPS = 100


def flat(posterior: Posterior) -> bool:
    """Return whether Laplace's method takes the prior's width for that of the posterior.

    It does where all rows are on flat or straight parts of the loss: all inside the tube, as for
    constant targets, or all beyond it, as two rows may be. The likelihood is not flat there: it
    falls off where the latent values leave the tube.
    """
    return isinstance(posterior.loss, RegressionLoss) and not posterior.precision.any()


def with_width(posterior: Posterior, sample_weight: Array | None) -> Posterior:
    """Return the posterior with the same mean, and with a width from the whole likelihood.

    The precision S_i of a row is that of expectation propagation with the means held at the mode,

        S_i = nu_i / (1 - v_i nu_i),    nu_i = -d² log E[exp(-l(u))] / dc²  for  u ~ N(c, v_i)

    at the residual ``c = y_i - f_i``, with the variance v_i of the latent value given all other
    rows. It falls as the others' precisions rise, so that there is one fixed point; steps on the
    logarithms, halved where they change their direction, find it. A row that counts w times is w
    rows, each of which leaves the others in its v_i.

    Parameters
    ----------
    posterior : Posterior
        The mean, the loss and the prior covariance.
    sample_weight : ndarray of shape (n,), optional
        How often each row counts, all positive.
    """
    loss, y = posterior.loss, posterior.y
    assert isinstance(loss, RegressionLoss)
    weight = np.ones(y.shape) if sample_weight is None else sample_weight
    log_s = np.log(np.broadcast_to(1.0 / loss.variance(), y.shape))
    step, before = np.ones(y.shape), np.zeros(y.shape)
    for _ in range(_STEPS):
        found = replace(posterior, precision=weight * np.exp(log_s))
        move = np.log(_site(found, weight)) - log_s
        if np.abs(move).max() <= _SETTLED:
            break
        step = np.where(move * before < 0.0, 0.5 * step, step)
        log_s = log_s + np.clip(step * move, -_LONGEST, _LONGEST)
        before = move
    return found


def _site(posterior: Posterior, weight: Array) -> Array:
    """Return the precision that each row's likelihood has beside the others."""
    left = posterior.conditioned.inverse_diagonal  # 1 - w S q with the posterior variance q
    variance = posterior.variance / np.maximum((weight - 1.0 + left) / weight, left)
    nu = posterior.loss.blurred(posterior.y - posterior.mean, variance).nu
    tiny = np.finfo(float).tiny
    return np.asarray(np.maximum(nu / np.maximum(1.0 - variance * nu, 1e-16), tiny))
