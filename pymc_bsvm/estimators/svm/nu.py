"""The nu forms: the width of the tube, or the margin, as an unknown.

Both are a level u, the half width of the tube in regression and minus the margin in classification:

    min  T u + sum_i C_i max(e_i - u, 0) + a'Ka / 2,    T = nu sum_i C_i,    f = K a + b,

with ``e = |y - f|`` or ``e = -y f``. For a given level it is the problem of the solver. The mass
``sum |a|`` of its dual never increases in u, and is T at the optimum. Of a level with more and one
with less, the duals have a mean whose mass is T: a feasible dual, whose gap certifies it. Where
both have the same sets of support vectors, that mean is the solution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval
from pymc_bsvm.estimators.svm.machine import Machine, solve_machine
from pymc_bsvm.losses import EpsilonInsensitive, Laplace, Loss, SoftMarginL1

__all__ = ["Margin", "NuForm", "Tube", "share"]

share = Interval(0.0, 1.0, includes_high=True)

_INNER = 1e-2  # of the tolerance: that of the problems with a given level
_ROUNDING = 1e-12  # relative; what may lack of the mass
_MOST = 100  # levels
_NARROW = 1e-2  # of the range of the targets: a tube after which there is none
_VANISHING = 1e-10  # of the form a'Ka of the means of the classes


class Trial(NamedTuple):
    """What is known at a level."""

    level: float
    a: Array
    f: Array
    b: float

    @property
    def mass(self) -> float:
        """Sum of the absolute duals."""
        return float(np.abs(self.a).sum())


class NuForm(ABC):
    """A problem whose level is sought, of targets ``y`` with weights ``C``."""

    def __init__(self, K: Array, y: Array, C: Array, nu: float) -> None:
        self.K, self.y, self.C, self.nu = K, y, C, nu
        self.mass = float(nu * C.sum())
        self.bias = True

    def solve(self, tol: float, max_iter: int) -> tuple[Machine, float]:
        """Return the machine, and its level.

        Raises
        ------
        ValueError
            If no function but a constant is best.
        """
        self.steps = 0
        low, high = self._bracket(tol, max_iter)
        stale, fell = 1.0, None  # the Illinois method: an end that stays counts for less
        for _ in range(_MOST):
            found = low if low.mass <= self.mass else self._between(low, high)
            machine = self._certify(found)
            if machine.certified(tol) or low.mass <= self.mass:
                break
            self.check(machine)
            above, below = low.mass - self.mass, self.mass - high.mass
            above, below = (above, stale * below) if fell else (stale * above, below)
            level = (below * low.level + above * high.level) / (below + above)
            trial = self._trial(level, found.a, tol, max_iter)
            falls = trial.mass >= self.mass
            stale, fell = (0.5 * stale if falls == fell else 1.0), falls
            low, high = (trial, high) if falls else (low, trial)
        return machine, found.level

    def _bracket(self, tol: float, max_iter: int) -> tuple[Trial, Trial]:
        """Return trials of which the first has the mass or is at the last level."""
        high = self.empty()
        trial = self._trial(self.first(), high.a, tol, max_iter)
        for _ in range(_MOST):
            if trial.mass >= (1.0 - _ROUNDING) * self.mass or trial.level == 0.0:
                break
            high, trial = trial, self._trial(self.further(trial), trial.a, tol, max_iter)
        return trial, high

    def _trial(self, level: float, start: Array, tol: float, max_iter: int) -> Trial:
        """Solve for a given level."""
        loss, unit = self.at(level)
        machine = solve_machine(
            *(self.K, self.y, loss),
            start=start / unit,
            bias=self.bias,
            tol=_INNER * tol,
            max_iter=max_iter,
        )
        self.steps += machine.steps
        return Trial(level, unit * machine.a, unit * machine.f, unit * machine.offset)

    def _between(self, low: Trial, high: Trial) -> Trial:
        """Return the mean that has the mass."""
        t = min(max((self.mass - high.mass) / (low.mass - high.mass), 0.0), 1.0)
        level, b = (t * x + (1.0 - t) * z for x, z in ((low.level, high.level), (low.b, high.b)))
        a, f = (t * x + (1.0 - t) * z for x, z in ((low.a, high.a), (low.f, high.f)))
        return Trial(level, a, f, b)

    def _certify(self, trial: Trial) -> Machine:
        """Return the machine of a dual with at most the mass, with its gap.

        The dual objective is ``a'Ka / 2 - sum(a y)`` in regression, ``a'Ka / 2`` in classification.
        """
        excess, signed = self.excess(trial.f)
        linear = self.mass * trial.level + self.C @ np.maximum(excess - trial.level, 0.0)
        objective = float(linear + 0.5 * (trial.a @ (trial.f - trial.b)))
        gap = max(float(linear - trial.a @ signed), 0.0)
        return Machine(trial.a, trial.f, trial.b, objective, gap, self.steps)

    @abstractmethod
    def check(self, machine: Machine) -> None:
        """Raise ``ValueError`` if the problem has no solution."""

    @abstractmethod
    def empty(self) -> Trial:
        """Return the solution at a level where the dual is zero."""

    @abstractmethod
    def first(self) -> float:
        """Return a guess of the level."""

    @abstractmethod
    def further(self, trial: Trial) -> float:
        """Return a lower level than that of a trial with too little mass; zero is the last."""

    @abstractmethod
    def at(self, level: float) -> tuple[Loss, float]:
        """Return the loss for a level, and the unit of its dual and latent values."""

    @abstractmethod
    def excess(self, f: Array) -> tuple[Array, Array]:
        """Return what is compared with the level, and minus what is paired with the dual."""


class Tube(NuForm):
    """Regression, with the half width of the tube as the level."""

    def empty(self) -> Trial:
        """Return the constant in the narrowest tube that holds all targets."""
        middle = 0.5 * (self.y.max() + self.y.min())
        n = self.y.size
        return Trial(0.5 * np.ptp(self.y), np.zeros(n), np.full(n, middle), float(middle))

    def first(self) -> float:
        """Return half of what holds all but a share nu of the targets about their median."""
        return float(0.5 * np.quantile(np.abs(self.y - np.median(self.y)), 1.0 - self.nu))

    def further(self, trial: Trial) -> float:
        """Return half of the width, or zero below a share of the range of the targets."""
        return 0.5 * trial.level if trial.level > _NARROW * np.ptp(self.y) else 0.0

    def at(self, level: float) -> tuple[Loss, float]:
        """Return the loss; it has no tube at level zero."""
        return EpsilonInsensitive(self.C, level) if level > 0.0 else Laplace(self.C), 1.0

    def check(self, machine: Machine) -> None:
        """Do nothing: there is always a solution."""

    def excess(self, f: Array) -> tuple[Array, Array]:
        """Return the absolute residuals and the residuals."""
        residual = self.y - f
        return np.abs(residual), residual


class Margin(NuForm):
    """Classification, with minus the margin as the level; with one class there is no offset."""

    def __init__(self, K: Array, y: Array, C: Array, nu: float) -> None:
        super().__init__(K, y, C, nu)
        self.bias = bool((y < 0.0).any())

    def empty(self) -> Trial:
        """Return the zero function, whose margin is zero."""
        zero = np.zeros(self.y.size)
        return Trial(0.0, zero, zero, 0.0)

    def first(self) -> float:
        """Return the level of the means of the classes.

        Raises
        ------
        ValueError
            If the means are the same up to rounding; no dual has a smaller form than zero.
        """
        natural = self._natural()
        largest = self.mass**2 * float(np.diagonal(self.K).max())
        if natural <= self.y.size * np.finfo(float).eps * largest:
            cause = "the classes have the same mean" if self.bias else "the rows have the mean zero"
            raise self._vain(f"{cause} in the kernel's space", "another kernel")
        return -natural / self.mass

    def further(self, trial: Trial) -> float:
        """Return the level at which the mass would be enough if no dual met its bound."""
        return trial.level * max(2.0, self.mass / trial.mass)

    def _natural(self) -> float:
        """Return ``a'Ka`` where the rows of a class share the mass by their weights."""
        positive = self.y > 0.0
        of_class = np.where(positive, self.C[positive].sum(), self.C[~positive].sum())
        a = self.y * self.C / of_class * (0.5 * self.mass if self.bias else self.mass)
        return float(a @ self.K @ a)

    def check(self, machine: Machine) -> None:
        """Raise ``ValueError`` if the margin, and with it the function, vanishes."""
        if machine.a @ (machine.f - machine.offset) <= _VANISHING * self._natural():
            raise self._vain(
                "more rows than that are on the wrong side of any", "a larger nu, or another kernel"
            )

    def _vain(self, cause: str, remedy: str) -> ValueError:
        """Return the error of a problem without a solution."""
        none = "a constant" if self.bias else "zero"
        return ValueError(
            f"With nu = {self.nu} no function but {none} is best, as {cause}. Pass {remedy}."
        )

    def at(self, level: float) -> tuple[Loss, float]:
        """Return the hinge of margin one, for functions in units of the margin."""
        return SoftMarginL1(self.C / -level), -level

    def excess(self, f: Array) -> tuple[Array, Array]:
        """Return minus the margins and minus the latent values."""
        return -self.y * f, -f
