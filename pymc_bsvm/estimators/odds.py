"""Probabilities of several classes from the odds of machines that know one from the rest each."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from pymc_bsvm._typing import Array

__all__ = ["log_share_of_only_one"]


def log_share_of_only_one(log_odds: Array) -> Array:
    """Return the log probability that it is k, given that just one of independent events happens.

    Events of the probabilities ``p_k`` have ``p_k prod_{j != k} (1 - p_j)`` for k alone, which is
    the odds ``p_k / (1 - p_k)`` times what all have in common.

    Parameters
    ----------
    log_odds : ndarray of shape (n, k)
        Log odds of each event. Where some are infinite, those events share the probability; where
        all are minus infinity, all do.

    Returns
    -------
    ndarray of shape (n, k)
        In nats; the exponentials of a row sum to one.
    """
    most = log_odds.max(axis=1, keepdims=True)
    below = np.zeros_like(log_odds)
    np.subtract(log_odds, most, out=below, where=log_odds < most)
    return np.asarray(below - logsumexp(below, axis=1, keepdims=True))
