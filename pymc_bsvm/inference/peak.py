"""Whether the evidence at a fit is a peak of the model or a spike of Laplace's approximation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import hadamard

from pymc_bsvm._typing import Array
from pymc_bsvm.approximations import EP, Approximation, Evidence, Laplace
from pymc_bsvm.inference.objective import LogPosterior, Marginal, marginals_of
from pymc_bsvm.solvers import DualSolveError

__all__ = ["Check", "Peak", "check_of", "peak_at"]

type Check = Literal["auto"] | bool

_SPIKE = 1.0  # nats
_STEP = 0.2  # of all coordinates at once, on the unconstrained space
_FALL, _SHORTER = 4.0, 8  # nats: where the evidence falls by more, steps are shorter; how often
_ROUGH = EP(tol=1e-2)  # whose evidence is off by the square of that
_SHARE, _COST, _PAIRS = 0.2, 3.0, 4  # of the search; an EP in its evaluations; the most pairs
_FEW, _MANY = 200, 1000  # rows to which a pair costs next to nothing, and above which too much


@dataclass(frozen=True)
class Peak:
    """The fall of the log evidence from a fit to its neighbours, by two approximations.

    The neighbours lie in pairs on both sides of the fit, so that a difference of the two that
    grows steadily along the hyperparameters cancels. What is left is the height by which Laplace's
    approximation stands out at the fit alone.
    """

    laplace: float
    """Mean fall of the evidence of Laplace's approximation, in nats."""
    ep: float
    """Mean fall of the evidence of expectation propagation, in nats."""
    neighbours: int
    """Number of neighbours."""

    @property
    def height(self) -> float:
        """By how much more Laplace's evidence falls, in nats."""
        return self.laplace - self.ep

    @property
    def is_spike(self) -> bool:
        """Whether that is more than one nat."""
        return self.height > _SPIKE

    def __str__(self) -> str:
        return (
            f"To {self.neighbours} neighbours of the fit Laplace's evidence falls by "
            f"{self.laplace:.2f} nats on average, that of expectation propagation by {self.ep:.2f}"
        )


def check_of(check: Check) -> Check:
    """Return what `fit_evidence` takes for ``check``, or raise."""
    if not (isinstance(check, bool) or check == "auto"):
        raise ValueError(
            f"check must be 'auto', True or False, but it is {check!r}. Choose one of the three."
        )
    return check


def peak_at(
    x: Array,
    objective: LogPosterior,
    evidences: Mapping[str, Evidence],
    check: Check,
    evaluations: int,
) -> Peak | None:
    """Compare the evidences at a fit with those of its neighbours.

    Parameters
    ----------
    x : ndarray of shape (k,)
        The fit, on the unconstrained space.
    objective : LogPosterior
        What was maximised.
    evidences : mapping
        The evidences at the fit by name; only those by Laplace's approximation are looked at.
    check : {"auto", True, False}
        As for `fit_evidence`.
    evaluations : int
        Number of evaluations that the search took.

    Returns
    -------
    Peak or None
        None if there is nothing to compare, or where expectation propagation fails.
    """
    known = {k: e for k, e in evidences.items() if isinstance(e.approximation, Laplace)}
    rows = max((evidence.problem.y.size for evidence in known.values()), default=0)
    pairs = min(_PAIRS, x.size)
    if check == "auto":
        pairs = 0 if rows > _MANY else min(pairs, _afforded(rows, evaluations))
    if not (known and check and pairs):
        return None
    signs = hadamard(1 << (x.size - 1).bit_length())[:pairs, : x.size]
    try:
        around = _Surroundings(x, objective, known)
        laplace, ep = np.mean([around.fall(row) for row in signs], axis=0)
    except (DualSolveError, ValueError):
        return None
    return Peak(float(laplace), float(ep), 2 * pairs)


def _afforded(rows: int, evaluations: int) -> int:
    """Return the number of pairs that a share of the search pays for."""
    left = _SHARE * evaluations - _COST  # after an EP at the fit
    return max(int(rows <= _FEW), int(left / (2.0 * (_COST + 1.0))))


class _Surroundings:
    """The log evidences of a model around a point, by both approximations."""

    def __init__(
        self, x: Array, objective: LogPosterior, evidences: Mapping[str, Evidence]
    ) -> None:
        self.x, self.objective = x, objective
        self.marginals = [m for m in marginals_of(objective.model) if m.name in evidences]
        self.laplace_here = sum(map(_uncharged, evidences.values()))
        point = objective.point(x)
        found = [self._at(marginal, point, _ROUGH) for marginal in self.marginals]
        self.starts = [evidence.start for evidence in found]
        self.ep_here = sum(evidence.log_evidence for evidence in found)

    def fall(self, signs: Array) -> tuple[float, float]:
        """Return the mean falls of Laplace's evidence and of EP's to two opposite neighbours."""
        step = _STEP
        for _ in range(_SHORTER):
            points = [self.objective.point(self.x + side * step * signs) for side in (1.0, -1.0)]
            ep = [self.ep_here - self._ep(point) for point in points]
            if max(ep) <= _FALL:
                break
            step *= 0.5 * (_FALL / max(ep)) ** 0.5
        laplace = [self.laplace_here - self._laplace(point) for point in points]
        return float(np.mean(laplace)), float(np.mean(ep))

    def _ep(self, point: Mapping[str, Array]) -> float:
        pairs = zip(self.marginals, self.starts, strict=True)
        return sum(self._at(m, point, _ROUGH, start).log_evidence for m, start in pairs)

    def _laplace(self, point: Mapping[str, Array]) -> float:
        return sum(_uncharged(self._at(m, point, m.approximation)) for m in self.marginals)

    def _at(
        self,
        marginal: Marginal,
        point: Mapping[str, Array],
        approximation: Approximation,
        start: Array | None = None,
    ) -> Evidence:
        evaluator = marginal.evaluator(self.objective.model)
        return evaluator.at(point, approximation, start, check_input=False).evidence


def _uncharged(evidence: Evidence) -> float:
    """Return the log evidence without the charge for what inducing points leave out.

    Expectation propagation knows of no such charge.
    """
    return evidence.log_evidence - evidence.terms.get("trace", 0.0)
