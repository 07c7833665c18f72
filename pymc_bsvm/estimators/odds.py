"""Odds of machines that know one class from the rest each, and what they say of several classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.prediction import ClassPredictive

__all__ = ["averaged_log_odds", "log_share_of_only_one"]


def averaged_log_odds(parts: Sequence[ClassPredictive]) -> Array:
    """Return the log odds of the label 1, of shape (n,), with probabilities averaged over parts."""
    against, for_it = (
        logsumexp([part.log_probability(sign) for part in parts], axis=0) for sign in (-1, 1)
    )
    return np.asarray(for_it - against)


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
