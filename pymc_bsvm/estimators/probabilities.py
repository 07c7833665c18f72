"""What a classifier says about new rows, whatever its predictive distributions come from."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.odds import log_share_of_only_one
from pymc_bsvm.evidence.prediction import ClassPredictive

__all__ = ["ClassPredictions"]


class ClassPredictions(ClassifierMixin):
    """Predictions of a classifier that has `_predictives`."""

    @abstractmethod
    def _predictives(self, X: ArrayLike) -> list[ClassPredictive]:
        """Check new rows, and return the predictive distribution of each machine.

        There is one machine for two classes, or else one for each class.
        """

    def decision_function(self, X: ArrayLike) -> Array:
        """Return how clearly rows belong to the classes.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Log odds of the second of two classes, or of each of several against the rest, in nats.
        """
        odds = [_log_odds(each) for each in self._predictives(X)]
        return odds[0] if len(odds) == 1 else np.stack(odds, axis=1)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the log probabilities of the classes, of shape (n, n_classes).

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        first, *others = self._predictives(X)
        if not others:
            return np.stack([first.log_probability(sign) for sign in (-1, 1)], axis=1)
        odds = [_log_odds(each) for each in (first, *others)]
        return log_share_of_only_one(np.stack(odds, axis=1))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes, of shape (n, n_classes).

        Those of several classes follow from their machines as `BayesianSVC.predict_proba` says.

        Parameters
        ----------
        X : array_like of shape (n, d)
            New inputs.
        """
        return np.exp(self.predict_log_proba(X))


def _log_odds(predictive: ClassPredictive) -> Array:
    return predictive.log_probability(1) - predictive.log_probability(-1)
