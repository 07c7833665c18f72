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
from pymc_bsvm.estimators.odds import averaged_log_odds, log_share_of_only_one
from pymc_bsvm.estimators.trained import Trained
from pymc_bsvm.evidence.noise import LeaveOneOut
from pymc_bsvm.evidence.posterior import times
from pymc_bsvm.evidence.prediction import ClassPredictive

__all__ = ["fit_sharpness", "left_out_log_odds", "log_probabilities", "sharpness_of"]

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


def left_out_log_odds(trained: Trained) -> tuple[Array, LeaveOneOut]:
    """Return the log odds of rows of the fit by a machine that leaves the row's label out.

    Parameters
    ----------
    trained : Trained
        Of labels -1 and 1.

    Returns
    -------
    log_odds : ndarray of shape (n,)
        Of all rows; with inducing points, of a random share of them.
    left_out : LeaveOneOut
        Their labels and weights, with the latent values that the odds are of.
    """
    assert trained.objective is not None
    left_out = trained.objective.left_out(trained.members)
    losses = [machine.loss for machine in trained.members]
    parts = [
        ClassPredictive(cavity.mean, cavity.variance, loss)  # type: ignore[arg-type]
        for cavity, loss in zip(left_out.cavities, losses, strict=True)
    ]
    return averaged_log_odds(parts), left_out


def sharpness_of(trained: Sequence[Trained], labels: NDArray[np.intp] | None) -> float:
    """Return the power of the odds of all classes.

    Parameters
    ----------
    trained : sequence of Trained
        One for two classes, or one for each class.
    labels : ndarray of int of shape (n,), optional
        The class of each row, from zero, if machines know all rows. Each of several machines knows
        a random share of its own else, so that the classes of a row cannot be compared: the power
        is that of each class against the rest.
    """
    seen = [left_out_log_odds(each) for each in trained]
    weight = seen[0][1].sample_weight
    if len(seen) > 1 and labels is not None:
        return fit_sharpness(np.stack([odds for odds, _ in seen], axis=1), labels, weight)
    odds = np.concatenate([odds for odds, _ in seen])
    y = np.concatenate([left_out.y for _, left_out in seen])
    if len(seen) > 1 and weight is not None:
        weight = np.concatenate([left_out.sample_weight for _, left_out in seen])
    return fit_sharpness(odds, (y > 0.0).astype(np.intp), weight)


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
