"""Expectation propagation one row after the other, in multiple precision.

Nothing here imports the library. It is Algorithm 3.5 of [RW06] with the exact moments of the
tilted densities and plain matrices; the evidence is (3.65) with its site normalisers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.oracle.base import Loss, Number, mp
from tests.oracle.predictive import tilted


@dataclass
class FixedPoint:
    """What the sites have come to."""

    log_evidence: Number
    mean: list[Number]
    variance: list[Number]
    precision: list[Number]


def propagate(K: Any, y: Sequence[float], loss: Loss, task: str, sweeps: int = 12) -> FixedPoint:
    """Update each site in turn, with a fresh posterior after each update."""
    n = len(y)
    K = mp.matrix(K.tolist())
    precision, shift = [mp.mpf(0)] * n, [mp.mpf(0)] * n
    log_moment, cavities = [mp.mpf(0)] * n, [(mp.mpf(0), mp.mpf(1))] * n
    for _ in range(sweeps):
        for i in range(n):
            mean, Sigma = posterior(K, precision, shift)
            left = 1 / Sigma[i, i] - precision[i]
            v, c = 1 / left, (mean[i] / Sigma[i, i] - shift[i]) / left
            log_moment[i], mu, s = moments(loss, task, mp.mpf(y[i]), c, v)
            cavities[i] = (c, v)
            precision[i], shift[i] = 1 / s - 1 / v, mu / s - c / v
    mean, Sigma = posterior(K, precision, shift)
    log_evidence = -mp.log(mp.det(K + mp.diag([1 / t for t in precision]))) / 2
    centres = mp.matrix([b / t for b, t in zip(shift, precision, strict=True)])
    inverse = mp.inverse(K + mp.diag([1 / t for t in precision]))
    log_evidence -= (centres.T * inverse * centres)[0] / 2
    for i, (c, v) in enumerate(cavities):
        spread = v + 1 / precision[i]
        log_evidence += log_moment[i] + mp.log(spread) / 2 + (c - centres[i]) ** 2 / (2 * spread)
    variance = [Sigma[i, i] for i in range(n)]
    return FixedPoint(log_evidence, list(mean), variance, precision)


def posterior(K: Any, precision: list[Number], shift: list[Number]) -> tuple[Any, Any]:
    """Mean and covariance, (3.53)."""
    Sigma = mp.inverse(mp.inverse(K) + mp.diag(precision))
    return Sigma * mp.matrix(shift), Sigma


def moments(
    loss: Loss, task: str, y: Number, c: Number, v: Number
) -> tuple[Number, Number, Number]:
    """Log of the average of the likelihood, mean and variance of the tilted density of f."""
    if task == "classification":
        log_z, shift, s = tilted(loss, y * c, v)
        return log_z, c + y * shift, s
    log_z, shift, s = tilted(loss, y - c, v)
    return log_z - mp.log(loss.normaliser()), c - shift, s
