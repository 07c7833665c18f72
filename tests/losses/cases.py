"""The losses under test, one row each: a new loss is a new row of `CASES`.

What "accurate" means, in one place. The code receives floats, the oracle takes the same floats as
exact numbers, and an error is relative to the exact value, except:

- residuals: `y - f` rounds once in any implementation, and that rounding is not the loss's fault.
  Exact comparisons therefore use ``f = 0``, or give the oracle the rounded residual;
- near a knot the band term ``r - lo`` is a difference. Written as ``(r - epsilon) + beta epsilon``
  it is good to one rounding of ``beta epsilon`` - the loss's own length there - however small
  ``beta`` is. A tenth of `Case.floor`, the scale of loss (``C beta epsilon``) and of slope (``C``),
  is where errors start to count absolutely. At ``beta = 1`` the knot is zero, nothing is
  subtracted, and there is no floor: Huber's loss near zero is as exact as a Gaussian's;
- a tail ``exp(-t)`` turns one rounding of ``t`` into a relative error ``t`` (`Case.conditioning`);
- a knot itself is a rounded float: within a few ulps of it the curvature of either side is right;
- the conjugate is a sum of terms of both signs; its scale is the largest of them (`Case.terms`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pymc_bsvm import losses
from tests import oracle

EPS = float(np.finfo(float).eps)
NUDGES = (0.0, 1e-12, -1e-12, 1e-6, -1e-6)


@dataclass(frozen=True)
class Case:
    """One loss: how to build it, its oracle, its parameters and where to look at it."""

    name: str
    task: str
    parameters: tuple[dict[str, float], ...]
    lengths: Callable[..., list[float]]  # knots and band points, non-negative for regression
    differentiable: bool = True
    normalised: bool = True
    bounded: bool = True  # is the dual domain bounded by the slope C?
    floor: Callable[..., tuple[float, float]] = field(default=lambda **p: (0.0, 0.0))
    rtol: float = 5e-15
    distribution: bool = False  # has cdf, log_cdf and quantile
    conditioning: Callable[[np.ndarray], np.ndarray] = field(default=np.zeros_like)

    def loss(self, **p: float) -> Any:
        return getattr(losses, self.name)(**p)

    def oracle(self, **p: float) -> oracle.Loss:
        return getattr(oracle, self.name)(**p)

    def points(self, **p: float) -> np.ndarray:
        """Residuals or margins of interest, as floats that both sides take as exact."""
        xs = [x * (1 + n) for x in self.lengths(**p) for n in NUDGES]
        xs += [0.0, 1e-300, 1e-12, 1e-3, 0.1, 0.7, 1.0, 1.3, 10.0, 37.5, 1e3, 1e8]
        points = np.array(sorted({*xs, *(-x for x in xs)}))
        if self.name == "Trigonometric":
            points = points[points > -p["delta"]]
        return points

    def arguments(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Targets and latent values whose residual or margin is exactly ``x``."""
        if self.task == "regression":
            return x, np.zeros_like(x)
        y = np.where(np.arange(x.size) % 2 == 0, 1.0, -1.0)
        return y, y * x

    def duals(self, y: np.ndarray, **p: float) -> np.ndarray:
        """Signed duals inside the domain, one per target, from tiny to the bound."""
        top = p.get("C", 1.0)
        fractions = [0.0, 1e-12, 1e-6, 0.01, 0.3, 0.5, 0.77, 1 - 1e-6, 1 - 1e-12, 1.0]
        if not self.bounded:
            fractions += [1.5, 3.0, 5.2, 5.6, 6.5, 8.0, 12.0, 40.0, 1e4]
        if self.name in ("Logistic", "Probit", "Trigonometric"):
            top = 1.0
        if self.name == "Gaussian":
            top = 1.0 / p["sigma"]
        a = top * np.resize(fractions, y.shape)
        if self.task == "classification":
            return y * a
        return a * np.where(np.arange(y.size) % 3 == 0, -1.0, 1.0)

    def terms(self, y: np.ndarray, a: np.ndarray, **p: float) -> np.ndarray:
        """Size of the largest term of the conjugate."""
        if self.task == "regression":
            return np.abs(a * y)
        return np.abs(a) * p.get("delta", 1.0)


def _silf_floor(C: float, epsilon: float, beta: float = 1.0) -> tuple[float, float]:
    if beta == 1.0:
        return 0.0, 0.0  # the knot is zero: nothing to subtract
    return C * beta * epsilon, C


def _silf_lengths(C: float, epsilon: float, beta: float = 1.0) -> list[float]:
    lo, hi = (1 - beta) * epsilon, (1 + beta) * epsilon
    band = [lo + k / 8 * 2 * beta * epsilon for k in range(9)]
    return [*band, hi, epsilon, epsilon / 3, 1 / C, hi + 1 / C, 3 * epsilon]


_WALL = (1e-12, 1e-9, 1e-6, 1e-3, 1e-2, 1e-1)

CASES = (
    Case(
        "SILF",
        "regression",
        (
            {"C": 1.0, "epsilon": 0.1, "beta": 0.3},
            {"C": 10.0, "epsilon": 0.1, "beta": 0.3},
            {"C": 37.0, "epsilon": 0.05, "beta": 0.1},
            {"C": 2.0, "epsilon": 0.5, "beta": 1.0},
            {"C": 5.0, "epsilon": 0.2, "beta": 0.9},
            {"C": 1.0, "epsilon": 0.1, "beta": 1e-8},
            {"C": 1e-3, "epsilon": 10.0, "beta": 0.5},
            {"C": 1e-3, "epsilon": 1e-6, "beta": 1e-8},
            {"C": 1e-3, "epsilon": 1e-6, "beta": 1.0},
            {"C": 1e6, "epsilon": 1e-6, "beta": 1e-8},
            {"C": 1e6, "epsilon": 10.0, "beta": 1.0},
            {"C": 1e6, "epsilon": 10.0, "beta": 1e-8},
            {"C": 1e6, "epsilon": 0.05, "beta": 0.3},
        ),
        _silf_lengths,
        floor=_silf_floor,
        distribution=True,
    ),
    Case(
        "Huber",
        "regression",
        (
            {"C": 2.0, "epsilon": 0.5},
            {"C": 1e-3, "epsilon": 1e-6},
            {"C": 1e6, "epsilon": 10.0},
            {"C": 10.0, "epsilon": 0.03},
        ),
        _silf_lengths,
        floor=_silf_floor,
        distribution=True,
    ),
    Case(
        "EpsilonInsensitive",
        "regression",
        (
            {"C": 1.0, "epsilon": 0.1},
            {"C": 1e-3, "epsilon": 10.0},
            {"C": 1e6, "epsilon": 1e-6},
            {"C": 1e6, "epsilon": 10.0},
            {"C": 7.0, "epsilon": 0.3},
        ),
        lambda C, epsilon: [epsilon, epsilon / 3, 1 / C, epsilon + 1 / C, 3 * epsilon],
        differentiable=False,
        distribution=True,
    ),
    Case(
        "Laplace",
        "regression",
        ({"C": 1.0}, {"C": 1e-3}, {"C": 1e6}, {"C": 3.7}),
        lambda C: [1 / C, 1e-6, 30 / C],
        differentiable=False,
        distribution=True,
    ),
    Case(
        "Gaussian",
        "regression",
        ({"sigma": 1.0}, {"sigma": 1e-3}, {"sigma": 0.37}, {"sigma": 1e3}),
        lambda sigma: [sigma, 6 * sigma],
        bounded=False,
    ),
    Case(
        "Trigonometric",
        "classification",
        ({"delta": 1.0}, {"delta": 0.1}, {"delta": 0.37}, {"delta": 10.0}),
        lambda delta: [delta, delta / 2, *(delta * (1 - w) for w in _WALL)],
        bounded=False,
    ),
    Case(
        "Logistic",
        "classification",
        ({},),
        lambda: [0.5, 2.0, 36.0, 37.0, 700.0, 710.0, 745.0, 800.0],
        conditioning=np.abs,
    ),
    Case(
        "Probit",
        "classification",
        ({},),
        lambda: [0.5, 2.0, 5.0, 6.0, 8.0, 9.0, 20.0, 27.0, 36.0, 37.0, 38.0, 39.0, 1e4, 1e6],
        bounded=False,
        rtol=5e-14,  # the curvature h (h + z) cancels: z^2 roundings before an asymptotic form
        conditioning=np.square,
    ),
    Case(
        "SoftMarginL1",
        "classification",
        ({"C": 1.0}, {"C": 1e-3}, {"C": 1e6}),
        lambda C: [1.0, 0.5, 2.0],
        differentiable=False,
        normalised=False,
    ),
    Case(
        "SoftMarginL2",
        "classification",
        ({"C": 1.0}, {"C": 1e-3}, {"C": 1e6}),
        lambda C: [1.0, 0.5, 2.0],
        bounded=False,
        normalised=False,
    ),
    Case(
        "SoftMarginLe",
        "classification",
        (
            {"C": 1.0, "epsilon": 0.25},
            {"C": 1e-3, "epsilon": 10.0},
            {"C": 1e6, "epsilon": 1e-6},
            {"C": 3.0, "epsilon": 0.1},
        ),
        lambda C, epsilon: [1.0, 1 - 2 * epsilon, 1 - epsilon, 1 - epsilon / 4, 1 - 3 * epsilon],
        floor=lambda C, epsilon: (C * epsilon, C),
        normalised=False,
    ),
)

BY_NAME = {case.name: case for case in CASES}


def label(value: Any) -> str:
    """Test id of a case or of its parameters."""
    if isinstance(value, Case):
        return value.name
    if isinstance(value, dict):
        return ",".join(f"{k}={v:g}" for k, v in value.items()) or "-"
    return str(value)


def rows(keep: Callable[[Case], bool] = lambda case: True) -> list[tuple[Case, dict[str, float]]]:
    """Every (case, parameters) of the cases kept, for ``pytest.mark.parametrize``."""
    return [(case, p) for case in CASES if keep(case) for p in case.parameters]
