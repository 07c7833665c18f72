"""Losses of the residual that are the negative logarithm of a noise density."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.losses import numpy_language
from pymc_bsvm.losses.base import LEAST_UNIFORM, RegressionLoss

__all__ = ["NoiseFormulas", "NoiseLoss", "noise_formulas"]


def _zero(*parameters: Any) -> float:
    return 0.0


class NoiseFormulas(NamedTuple):
    """The noise density ``exp(-l) / Z`` of a loss in one array language.

    Closures, as in `Formulas`: cloudpickle and joblib carry them to other processes.
    """

    variance: Callable[..., Any]
    """``(*parameters)``: the variance."""
    log_cdf: Callable[..., Any]
    """``(r, *parameters)``: log P(noise <= r), precise in both tails."""
    quantile: Callable[..., Any]
    """``(u, *parameters)``: the value below which a share u of the noise lies."""
    mean: Callable[..., Any] = _zero
    """``(*parameters)``: the mean; symmetric noise need not state it."""
    log_sf: Callable[..., Any] | None = None
    """``(r, *parameters)``: log P(noise > r), precise in both tails; symmetric noise need not."""


class NoiseLoss(RegressionLoss):
    """A regression loss whose noise has a closed-form distribution function."""

    @staticmethod
    @abstractmethod
    def noise(xp: Any) -> NoiseFormulas:
        """State the noise in the array language ``xp``."""

    def mean(self) -> Parameter:
        """Return the mean of the noise: a float, or one by row."""
        return self._of_parameters(noise_formulas(type(self)).mean)

    def variance(self) -> Parameter:
        """Return the variance of the noise: a float, or one by row."""
        return self._of_parameters(noise_formulas(type(self)).variance)

    def log_cdf(self, r: ArrayLike) -> Array:
        """Return the log probability that the noise is at most ``r``."""
        r = np.asarray(r, dtype=float)
        self.shape_with(r.shape)
        return np.asarray(noise_formulas(type(self)).log_cdf(r, *self.parameters))

    def log_sf(self, r: ArrayLike) -> Array:
        """Return the log probability that the noise is above ``r``."""
        r = np.asarray(r, dtype=float)
        self.shape_with(r.shape)
        log_sf: Any = noise_formulas(type(self)).log_sf
        return np.asarray(log_sf(r, *self.parameters))

    def cdf(self, r: ArrayLike) -> Array:
        """Return the probability that the noise is at most ``r``."""
        return np.exp(self.log_cdf(r))

    def quantile(self, u: ArrayLike) -> Array:
        """Return the value below which a share ``u`` of the noise lies.

        Uniform ``u`` give exact draws of the noise (appendix F of [Chu03]_).
        """
        u = np.asarray(u, dtype=float)
        self.shape_with(u.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.asarray(noise_formulas(type(self)).quantile(u, *self.parameters))
        return np.where((u >= 0) & (u <= 1), inside, np.nan)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw noise; the parameters are for the last axis."""
        return self.quantile(np.maximum(rng.random(shape), LEAST_UNIFORM))


@functools.cache
def noise_formulas(loss_type: type[NoiseLoss], xp: Any = numpy_language) -> NoiseFormulas:
    """Return the noise of a loss in an array language, stating it only once."""
    stated = loss_type.noise(xp)
    log_cdf = xp.function(stated.log_cdf)

    def mirrored(r: Any, *parameters: Any) -> Any:
        return log_cdf(-r, *parameters)

    stated = stated._replace(log_cdf=log_cdf, log_sf=stated.log_sf or mirrored)
    return NoiseFormulas(*map(xp.function, stated))
