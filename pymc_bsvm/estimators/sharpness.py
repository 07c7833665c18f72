"""How sharp the probabilities of classes are, learned from what the rows say of each other.

Hyperparameters by evidence may leave a model whose probabilities are all too near one half, or all
too far from it: in many dimensions a stationary covariance does not let a function grow as fast as
the log odds do. Leave-one-out probabilities tell. The odds are raised to the one power, [GPSW17]_,
under which each label is most probable given all the others; the order of the classes stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_expit

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import MachineEvidence
from pymc_bsvm.estimators.odds import averaged_log_odds, log_share_of_only_one
from pymc_bsvm.estimators.trained import Trained
from pymc_bsvm.evidence.posterior import times
from pymc_bsvm.evidence.prediction import ClassPredictive

__all__ = ["fit_sharpness", "left_out_log_odds", "log_probabilities"]

# benchmarks/sharpness.md
_WIDTH = 0.35  # standard deviation of the logarithm of the power about zero, beforehand
_PRICE = 1.0  # nats that another power than one has to gain
_REACH = 10.0  # the power and its inverse


def log_probabilities(log_odds: Array) -> Array:
    """Return log probabilities of classes from log odds, a row for each row.

    Parameters
    ----------
    log_odds : ndarray of shape (n,) or (n, n_classes)
        Those of the second of two classes, or of each of several against the rest.

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    if log_odds.ndim == 1:
        return np.stack([log_expit(-log_odds), log_expit(log_odds)], axis=1)
    return log_share_of_only_one(log_odds)


def left_out_log_odds(trained: Sequence[Trained]) -> Array:
    """Return the log odds of the rows of the fit by machines that leave the row's label out.

    Parameters
    ----------
    trained : sequence of Trained
        One for two classes, or one for each class; with the whole kernel matrix.

    Returns
    -------
    ndarray of shape (n,) or (n, n_classes)
    """
    columns = []
    for each in trained:
        objective = each.objective
        assert isinstance(objective, MachineEvidence)
        parts = []
        for machine, sight in zip(each.members, objective.sights(each.members), strict=True):
            f, loss = sight.cavity, machine.loss
            parts.append(ClassPredictive(f.mean, f.variance, loss))  # type: ignore[arg-type]
        columns.append(averaged_log_odds(parts))
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def fit_sharpness(
    log_odds: Array, labels: NDArray[np.intp], sample_weight: Array | None = None
) -> float:
    """Return the power of the odds under which the labels are most probable.

    Parameters
    ----------
    log_odds : ndarray of shape (n,) or (n, n_classes)
        As for `log_probabilities`, of rows without their own labels.
    labels : ndarray of int of shape (n,)
        The class of each row, from zero.
    sample_weight : ndarray of shape (n,), optional
        How often each row counts.

    Returns
    -------
    float
        The mode with a normal prior of the logarithm; one, unless the mode gains more than a nat.
    """

    def surprise(log_power: float) -> float:
        logs = log_probabilities(np.exp(log_power) * log_odds)
        own = np.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
        return 0.5 * (log_power / _WIDTH) ** 2 - float(times(sample_weight, own).sum())

    reach = np.log(_REACH)
    found = minimize_scalar(surprise, bounds=(-reach, reach), method="bounded")
    return float(np.exp(found.x)) if surprise(0.0) - found.fun > _PRICE else 1.0
