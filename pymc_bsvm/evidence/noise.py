"""The noise of predictions, fitted to what the rows say of each other.

Hyperparameters by evidence are those of the function and of the noise together. The predictive
density of new targets asks for the noise alone: the one under which each target is most probable
given all the others. The function stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import logsumexp

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import positive
from pymc_bsvm.evidence.contaminated import ContaminatedNoise
from pymc_bsvm.evidence.posterior import Cavity, times
from pymc_bsvm.evidence.prediction import Noise
from pymc_bsvm.evidence.student import StudentNoise
from pymc_bsvm.losses.base import RegressionLoss
from pymc_bsvm.losses.gaussian import Gaussian
from pymc_bsvm.search.scoring import most_likely

__all__ = ["LeaveOneOut", "Noise", "NoiseKind", "check_kind", "fit_noise"]

type NoiseKind = Literal["auto", "loss", "student", "contaminated", "model"]

_REACH = 1000.0  # how far a parameter goes from its start, as a factor
_LEVEL = 1e-3  # nats: a gain that is nothing
_FEWEST = 10  # rows that tell of the shape of their noise
_NU_START, _NU_LOW, _NU_HIGH = 4.0, 1.5, 300.0
_SOME = 60  # rows of which a few may be gross errors
_FURTHER = 2.0  # nats that a third parameter has to gain
_ERRORS = ((0.05, 8.0), (0.2, 3.0), (0.02, 20.0))  # shares and factors from which to search
_MOST, _LEAST_FACTOR = 0.5, 2.0  # beyond them the two parts are not wide and narrow
_BLOCK = 2**16  # rows of several machines at a time
_MAD = 0.6745  # of a standard normal distribution


@dataclass(frozen=True)
class LeaveOneOut:
    """What all other rows say of each row, by one machine or by several that are averaged."""

    y: Array = field(repr=False)
    """Targets, of shape (n,)."""
    cavities: Sequence[Cavity] = field(repr=False)
    """The latent values without their own observation, for each machine."""
    sample_weight: Array | None = field(default=None, repr=False)

    @property
    def rows(self) -> float:
        """Number of rows, each as often as it counts."""
        return float(self.y.size if self.sample_weight is None else self.sample_weight.sum())

    def score(self, noise: Noise) -> float:
        """Return the sum of the leave-one-out log densities of the targets, in nats."""
        return float(times(self.sample_weight, self._by_row(noise)).sum())

    def _by_row(self, noise: Noise) -> Array:
        """Return the leave-one-out log density of each target, in nats, of shape (n,)."""
        logs = np.vstack([_log_densities(noise, d, v) for d, v in self._blocks])
        if len(logs) == 1:
            return np.asarray(logs[0])
        return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))

    @cached_property
    def _blocks(self) -> list[tuple[Array, Array]]:
        """Residuals and variances by some of the machines at a time, of shape (k, n)."""
        k = max(_BLOCK // self.y.size, 1)
        some = [self.cavities[i : i + k] for i in range(0, len(self.cavities), k)]
        return [
            (
                self.y - np.stack([c.mean for c in cavities]),
                np.stack([c.variance for c in cavities]),
            )
            for cavities in some
        ]

    @property
    def residual(self) -> float:
        """The median of the absolute residuals, each as often as it counts."""
        sizes = np.abs(self.y - np.mean([c.mean for c in self.cavities], axis=0))
        weights = self.sample_weight
        return float(np.quantile(sizes, 0.5, method="inverted_cdf", weights=weights))


def fit_noise(others: LeaveOneOut, loss: RegressionLoss, kind: NoiseKind) -> Noise:
    """Return the noise under which the targets are most probable, each given all the others.

    Parameters
    ----------
    others : LeaveOneOut
        What the other rows say of each.
    loss : RegressionLoss
        The noise of the model. Its parameters on the positive half line are fitted; others, such as
        ``beta``, are kept.
    kind : {"auto", "loss", "student", "contaminated", "model"}
        "loss" is the family of the loss, "student" that of Student's t, "contaminated" Gaussian
        noise that is at least twice as wide in at most half of the rows. "auto" is the one of the
        first two with the higher score, or, from 60 rows on, contaminated noise if that gains two
        nats more. "model" is the noise of the model as it stands; fewer than ten rows leave "auto"
        with that, too.

    Returns
    -------
    RegressionLoss, StudentNoise or ContaminatedNoise
        The best of the family; at worst the noise that was given.
    """
    check_kind(kind)
    if kind == "model" or (kind == "auto" and others.y.size < _FEWEST):
        return loss
    if kind == "student":
        return _of_student(others, loss).noise
    if kind == "contaminated":
        return _of_contaminated(others, loss).noise
    if kind == "loss":
        return _of_family(others, loss).noise
    return _of_any(others, loss)


def _of_any(others: LeaveOneOut, loss: RegressionLoss) -> Noise:
    """Return the best noise of the three families.

    The contaminated noise costs least, and what does not come near its score is not found out.
    """
    further = _of_contaminated(others, loss) if others.rows >= _SOME else None
    least = further.score - _FURTHER if further else -np.inf
    of_family = _of_family(others, loss, least)
    student = _of_student(others, of_family.noise, max(least, of_family.score))
    if further and max(of_family.score, student.score) < least:
        return further.noise
    if student.score <= of_family.score:
        return of_family.noise
    if of_family.score < least:  # it was left on its way
        sd, _ = _sizes(others, _of_family(others, loss).noise)
        return replace(student.noise, stand_in=sd)
    return student.noise


def _log_densities(noise: Noise, residual: Array, variance: Array) -> Array:
    """Return log densities of residuals with Gaussian uncertainty, of shape (k, n)."""
    added = noise.spread(residual.shape).convolution()
    return added.log_density(residual.ravel(), variance.ravel()).reshape(residual.shape)


def check_kind(kind: Any) -> None:
    """Raise unless it is a kind of noise."""
    if kind not in get_args(NoiseKind.__value__):
        raise ValueError(
            "noise must be 'auto', 'loss', 'student', 'contaminated' or 'model', but it is "
            f"{kind!r}. Pass one of them."
        )


@dataclass(frozen=True)
class _Fitted[N: Noise]:
    """The best noise of a family."""

    noise: N
    score: float


def _of_family(
    others: LeaveOneOut, loss: RegressionLoss, least: float = -np.inf
) -> _Fitted[RegressionLoss]:
    """Return the best noise of the loss's family."""
    if loss.n_rows is not None:
        raise ValueError(
            f"The noise of {loss!r} differs from row to row, so that no family can be fitted. "
            "Pass noise='student' or 'contaminated', or the noise of the new rows."
        )
    free = {name: loss.fields[name] for name, d in loss.domains.items() if d == positive}
    kept = {name: value for name, value in loss.fields.items() if name not in free}

    def noise(values: Array) -> RegressionLoss:
        return type(loss)(**dict(zip(free, values, strict=True)), **kept)

    start = np.array(list(free.values()), dtype=float)
    return _highest(others, noise, start, start / _REACH, start * _REACH, least)


def _of_student(
    others: LeaveOneOut, loss: RegressionLoss, least: float = -np.inf
) -> _Fitted[StudentNoise]:
    """Return the best noise of Student's family; ``loss`` stands in for its variance."""
    sd, unit = _sizes(others, loss)

    def noise(values: Array) -> StudentNoise:
        nu, scale = values
        return StudentNoise(nu, scale, stand_in=sd)

    return _highest(
        others,
        noise,
        np.array([_NU_START, unit]),
        np.array([_NU_LOW, unit / _REACH]),
        np.array([_NU_HIGH, unit * _REACH]),
        least,
    )


def _of_contaminated(others: LeaveOneOut, loss: RegressionLoss) -> _Fitted[ContaminatedNoise]:
    """Return the best Gaussian noise of which a share is wider; ``loss`` gives a size to it."""

    def noise(values: Array) -> ContaminatedNoise:
        sigma, share, factor = values
        return ContaminatedNoise(Gaussian(sigma), share, factor)

    _, unit = _sizes(others, loss)
    rarest = min(1.0 / others.rows, _ERRORS[-1][0])
    low = np.array([unit / _REACH, rarest, _LEAST_FACTOR])
    high = np.array([unit * _REACH, _MOST, _REACH])
    starts = [np.array([unit / _MAD, *errors]) for errors in _ERRORS]
    start = max(starts, key=lambda values: others.score(noise(values)))
    return _highest(others, noise, start, low, high)


def _sizes(others: LeaveOneOut, loss: RegressionLoss) -> tuple[float, float]:
    """Return the standard deviation of noise, and the size of a residual that is not zero."""
    sd = float(np.sqrt(np.max(loss.variance())))
    return sd, max(others.residual, sd / _REACH)


def _highest[N: Noise](
    others: LeaveOneOut,
    noise: Callable[[Array], N],
    start: Array,
    low: Array,
    high: Array,
    least: float = -np.inf,
) -> _Fitted[N]:
    """Return the noise of the highest score, its values within bounds; or one below `least`."""
    weight = 1.0 if others.sample_weight is None else others.sample_weight
    logs, score = most_likely(
        lambda logs: others._by_row(noise(np.exp(logs))),
        np.log(start),
        np.log(np.stack([low, high], axis=1)),
        weight,
        _LEVEL,
        least,
    )
    return _Fitted(noise(np.exp(logs)), score)
