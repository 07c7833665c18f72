"""Predictions averaged over several modes of the evidence (section 4.3.2 of [Chu03]_)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymc import Model

from pymc_bsvm._typing import Array
from pymc_bsvm.gp.process import LaplaceProcess

__all__ = ["Committee"]


@dataclass(frozen=True)
class Committee:
    """Points of the hyperparameters with weights in proportion to their evidence."""

    points: list[dict[str, Array]]
    weights: Array
    """Of shape (number of points,), summing to one."""

    def predict(
        self,
        gp: LaplaceProcess,
        Xnew: Any,
        pred_noise: bool = False,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> tuple[Array, Array]:
        """Return mean and variance of the mixture of the members' predictions.

        Parameters
        ----------
        gp : LaplaceProcess
            The process to predict with.
        Xnew, pred_noise, given, model
            As for its method ``predict``.

        Returns
        -------
        mean, variance : ndarray of shape (n_new,)
            Moments of the mixture: its variance holds that between the members, too.
        """
        moments = [
            gp.predict(Xnew, point, diag=True, pred_noise=pred_noise, given=given, model=model)
            for point in self.points
        ]
        means, variances = (np.array(x) for x in zip(*moments, strict=True))
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    def predict_proba(
        self,
        gp: LaplaceProcess,
        Xnew: Any,
        given: Mapping[str, Any] | None = None,
        model: Model | None = None,
    ) -> Array:
        """Return the probability of label 1, averaged over the members.

        Parameters
        ----------
        gp, Xnew, given, model
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_new,)
            Probabilities.
        """
        members = [gp.predict_proba(Xnew, point, given, model) for point in self.points]
        return np.asarray(self.weights @ np.array(members))
