"""The amplitude that multiplies a covariance function."""

from __future__ import annotations

from pymc_bsvm.search import Hyperparameter

__all__ = ["AMPLITUDE"]

AMPLITUDE = Hyperparameter("eta", 1.0, 1e-2, 1e2, unit=(0, 1))
