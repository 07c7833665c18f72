"""What fitted machines say of rows of the fit, with and without their own targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.scale import Scale
from pymc_bsvm.estimators.warning import warn
from pymc_bsvm.evidence.noise import LeaveOneOut, Noise, NoiseKind, fit_noise
from pymc_bsvm.evidence.posterior import Cavity
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["Hindsight", "Sight"]

_NEARLY_ALL, _LITTLE = 0.95, 0.5


class Sight(NamedTuple):
    """What the machine at values of the hyperparameters says of the rows of its fit."""

    values: Array
    mean: Array
    cavity: Cavity


@dataclass(frozen=True)
class Hindsight:
    """Rows of the fit, or a random share of them, as machines with one loss see them."""

    left_out: LeaveOneOut = field(repr=False)
    loss: RegressionLoss
    f: Array = field(repr=False)
    """Latent values of the first machine."""

    def noise(self, kind: NoiseKind) -> Noise:
        """Return the noise under which each target is most probable given all the others."""
        return fit_noise(self.left_out, self.loss, kind)

    def warn_of_wide_tube(self) -> None:
        """Warn if nearly all targets are inside of a tube around a function that says little."""
        y, weight = self.left_out.y, self.left_out.sample_weight
        residual, epsilon = y - self.f, self.loss.fields.get("epsilon", 0.0)
        total, left = (Scale.of(t[:, None], weight).spread[0] for t in (y, residual))
        inside = np.average(np.abs(residual) <= epsilon, weights=weight)
        explained = 1.0 - (left / total) ** 2
        if epsilon > 0.5 * total and inside > _NEARLY_ALL and explained < _LITTLE:
            warn(
                f"The tube holds {inside:.0%} of the targets, and the function explains "
                f"{explained:.0%} of their variance: predictions are hardly more than a constant. "
                "Set max_epsilon=0.5, and see whether the errors get smaller.",
                UserWarning,
            )
