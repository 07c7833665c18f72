"""Newton's method for the mode of the weights, one pass over the rows for each step.

The primal is ``P(w) = sum_i l(y_i, f_i) + |w|² / 2`` with ``f_i = phi_i'w``; losses include the
weights of their rows. A pass at w expands the loss of each row, at its latent value but for rows
in front of a wall (`pymc_bsvm.streamed.expansion`), and the step goes to the minimum of the sum,

    w⁺ = w - B⁻¹ (w - sum_i a_i phi_i),    B = I + sum_i W_i phi_i phi_i',

where W_i is the curvature and a_i what the expansion predicts for ``-dl/df`` at f_i. Where all rows
are expanded at their latent values, the duality gap is ``|w - sum_i a_i phi_i|² / 2``, exactly:
the dual objective is ``sum_i l*(-a_i) + |sum_i a_i phi_i|² / 2``, and ``l + l* + a f = 0`` in each
row. A step that does not lower the primal is shortened by a search along the latent values.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import Gaussian, Loss, RegressionLoss
from pymc_bsvm.solvers.line_search import make_zero
from pymc_bsvm.solvers.weighted import interpreted
from pymc_bsvm.streamed.expansion import expansion_points
from pymc_bsvm.streamed.features import Features, gathered, latent
from pymc_bsvm.streamed.mode import Ending, Mode, ModeError, ModeInterrupt
from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.rows import Block

__all__ = ["TOLERANCE", "check_shared", "find_mode"]

TOLERANCE = 1e-8
"""Duality gap in nats; weights with a gap of g are within ``sqrt(2 g)`` posterior standard
deviations of the mode."""
_LEAPS = 25  # steps with rows off their latent values, before all steps stay in front of the wall
_DETOUR = 10  # of them that lower the primal no further
_ASTRAY = 0.02  # of the rows: with more off their latent values, a start is worse than none
_DESCENT = 1e-4  # of the decrease that the expansion predicts: a step with less is shortened
_ROUNDING = 1e-12  # of the primal: what a smaller descent does to it cannot be seen
_ACCEPTED = 1e-5  # decrement in nats, where rounding keeps the gap above the tolerance
_HALF = 0.5  # of the least gap: what counts as lower
_BLURRED = 1e-9  # of the primal: where features are nearly dependent, up to there it is not sure
_PATIENCE = 5  # steps in a row that lower neither the primal nor the gap


class _Point(NamedTuple):
    """Weights, and the sums of a pass there."""

    w: Array
    f: Array
    z: Array
    """Where the rows are expanded."""
    off: int
    """Number of rows whose z is not f."""
    loss: float
    residual: Array
    """``w - sum_i a_i phi_i``."""
    gram: Array
    """``sum_i W_i phi_i phi_i'``."""
    bend: float
    """``sum_i W_i``."""

    @property
    def primal(self) -> float:
        """What is minimised."""
        return self.loss + 0.5 * float(self.w @ self.w)

    @property
    def gap(self) -> float:
        """The duality gap, known where all rows are expanded at their latent values."""
        known = not self.off and math.isfinite(self.loss)
        return 0.5 * float(self.residual @ self.residual) if known else math.inf

    def decrement(self, factor: Array) -> float:
        """Return how far the primal is from its minimum if it is quadratic."""
        half = solve_triangular(factor, self.residual, lower=True)
        return 0.5 * float(half @ half)


class _Search:
    """What a search for the mode knows beside the point where it is."""

    def __init__(self, passes: Passes, features: Features, loss: Loss) -> None:
        self.passes, self.features, self.loss = passes, features, loss
        self.leaps = bool(np.isfinite(loss.wall))
        """Whether rows may be expanded off their latent values."""
        self.h = 0.0
        """Typical posterior variance of a latent value."""
        self.idle = 0
        """Steps since the primal or the gap was lowered; beyond rounding, each step lowers one."""
        self._least = math.inf, math.inf
        self._best = np.zeros(features.size)
        """The weights of the least primal, in front of all walls."""
        self._best_primal, self._best_step = math.inf, 0
        self._targets: tuple[Array, ...] | None = None

    def begin(self, start: Array | None, around: Array | None) -> _Point:
        """Return the first point: of no weights, if the start puts too many rows behind a wall.

        Losses of residuals are then expanded as Gaussian noise of their variance: where rows lie
        beyond the part of their loss that bends, its curvature knows nothing of the way.
        """
        if around is not None:
            return self.around(around)
        if start is not None and start.any():
            self.h = _first_variance(self.loss, self.features.size, self.passes.rows.n)
            point = self.point(start)
            if point.off <= _ASTRAY * point.f.size:
                return point
        nothing = np.zeros(self.features.size)
        if not isinstance(self.loss, RegressionLoss):
            return self.point(nothing)
        alike = Gaussian(float(np.sqrt(self.loss.variance())))
        point = _Search(self.passes, self.features, alike).point(nothing)
        return point._replace(off=point.f.size)

    def point(self, w: Array, last: Array | None = None) -> _Point:
        """Return a point; its rows were expanded at ``last`` before."""
        h = self.h if self.leaps and (w.any() or last is not None) else 0.0
        c = self.features.coefficients(w)
        rows = () if last is None or h == 0.0 else (last,)
        sums, (f, z) = self.passes.run(_expand, self.features, self.loss, c, h, of_rows=rows)
        total, gradient, gram, bend, off = sums
        return _Point(w, f, z, off, total, w - self.features.whitened(gradient), gram, bend)

    def around(self, z: Array) -> _Point:
        """Return the point of no weights with the rows expanded at given latent values."""
        sums, (f, z) = self.passes.run(_expand_at, self.features, self.loss, of_rows=(z,))
        total, gradient, gram, bend, off = sums
        nothing = np.zeros(self.features.size)
        return _Point(nothing, f, z, off, total, -self.features.whitened(gradient), gram, bend)

    def after(self, point: _Point, factor: Array) -> _Point:
        """Return the point after a Newton step."""
        dw = -cho_solve((factor, True), point.residual)
        inverse = solve_triangular(factor, np.eye(dw.size), lower=True)
        self.h = (dw.size - float((inverse * inverse).sum())) / max(point.bend, 1e-300)
        full = self.point(point.w + dw, point.z)
        slope = float(point.residual @ dw)
        if point.off or full.off:
            return full
        self._remember(point)
        if full.primal <= point.primal + _DESCENT * slope:
            return full
        relative = -slope / (1.0 + abs(point.primal))
        if relative <= (_BLURRED if full.gap < _HALF * self._least[1] else _ROUNDING):
            return full
        t = self.line_search(slope, point, dw, full.f - point.f)
        return self.point(point.w + t * dw, point.z)

    def ending(self, point: _Point, factor: Array, tol: float) -> Ending | None:
        """Return how the search has ended, if it has."""
        if point.gap <= tol:
            return Ending.CONVERGED
        if self.idle < _PATIENCE:
            return None
        near = math.isfinite(point.gap) and point.decrement(factor) <= max(tol, _ACCEPTED)
        return Ending.ROUNDED if near else Ending.STALLED

    def next(self, point: _Point, factor: Array, steps: int) -> _Point:
        """Return the point after so many steps and one more, found by leaps while they help."""
        point = self.after(point, factor)
        if point.primal < self._best_primal:
            self._best, self._best_primal, self._best_step = point.w, point.primal, steps
        if self.leaps and (steps == _LEAPS or steps - self._best_step == _DETOUR):
            self.leaps = False
            return self.point(self._best)
        return point

    def _remember(self, point: _Point) -> None:
        """Count the steps that lead nowhere."""
        primal, gap = self._least
        seen = _ROUNDING * (1.0 + abs(point.primal))
        lower = point.primal < primal - seen or point.gap < _HALF * gap
        self.idle = 0 if lower else self.idle + 1
        self._least = min(primal, point.primal), min(gap, point.gap)

    def line_search(self, slope: float, point: _Point, dw: Array, df: Array) -> float:
        """Return where the primal is least along a step, in front of all walls."""
        if self._targets is None:
            self._targets = self.passes.run(_read).of_rows
        y, weight = self._targets
        derivative, p = interpreted(type(self.loss)).slope, self.loss.parameters

        def along(t: float) -> float:
            with np.errstate(all="ignore"):
                total = derivative(y, point.f + t * df, weight, p) @ df + (point.w + t * dw) @ dw
            return float(total) if math.isfinite(total) else math.inf

        search: Any = make_zero(along, lambda function: function)  # type: ignore[no-untyped-call]
        return float(search(slope))


def find_mode(
    passes: Passes,
    features: Features,
    loss: Loss,
    start: Array | None = None,
    *,
    around: Array | None = None,
    tol: float = TOLERANCE,
    max_iter: int = 200,
) -> Mode:
    """Find the most probable weights.

    Parameters
    ----------
    passes : Passes
        Over the rows.
    features : Features
        The prior.
    loss : Loss
        A differentiable loss with parameters that all rows share.
    start : ndarray of shape (r,), optional
        Weights to start from; they may put rows behind a wall. Zero by default.
    around : ndarray of shape (n,), optional
        Latent values of the rows to start from, such as those of neighbouring hyperparameters, in
        the place of weights.
    tol : float
        Largest duality gap, in nats. Where rounding keeps it above, a Newton decrement of 1e-5 is
        accepted, which the ending tells.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    Mode

    Raises
    ------
    ModeError
        If the gap stays above the tolerance.
    ModeInterrupt
        If a step is interrupted after the first gap is known.
    """
    check_loss(loss)
    search = _Search(passes, features, loss)
    point, steps = search.begin(start, around), 0
    while True:
        if not math.isfinite(point.primal) and not point.w.any():
            raise _failure(point, steps, Ending.INFEASIBLE)
        try:
            factor = cholesky(point.gram + np.eye(point.w.size), lower=True)
        except (LinAlgError, ValueError):
            raise _failure(point, steps, Ending.INDEFINITE) from None
        ending = search.ending(point, factor, tol)
        if ending in (Ending.CONVERGED, Ending.ROUNDED):
            return _mode(point, factor, steps, ending)
        if ending is not None or steps == max_iter:
            raise _failure(point, steps, ending or Ending.MAX_ITER, factor)
        passes.stage = f"Newton step {steps + 1}, gap {point.gap:.2g}"
        try:
            point, steps = search.next(point, factor, steps), steps + 1
        except KeyboardInterrupt:
            if math.isinf(point.gap):
                raise
            raise ModeInterrupt(_mode(point, factor, steps, Ending.INTERRUPTED)) from None


def check_loss(loss: Loss) -> None:
    """Raise unless sums over rows can find the mode of the loss."""
    if not loss.differentiable:
        raise ValueError(
            f"{type(loss).__name__} has a kink, at which Newton's method on inducing points stops. "
            "Use SILF with a beta of 0.05 or more, or another differentiable loss."
        )
    check_shared(loss)


def check_shared(loss: Loss) -> None:
    """Raise unless all rows share the parameters of the loss."""
    if loss.n_rows is not None:
        raise ValueError(
            f"{type(loss).__name__} has parameters by row, but rows are read in blocks here. "
            "Pass one number for each parameter."
        )


def _expand(
    block: Block, of_rows: tuple[Array, ...], features: Features, loss: Loss, c: Array, h: float
) -> Partial:
    """Expand the losses of a block at its latent values; near walls, with h, elsewhere."""
    K = features.cross(block.X)
    f = z = latent(K, c)
    if h > 0.0:
        z = expansion_points(loss, block.y, block.weight, f, of_rows[0] if of_rows else None, h)
    return _expanded(block, features, loss, K, f, z)


def _expand_at(block: Block, of_rows: tuple[Array, ...], features: Features, loss: Loss) -> Partial:
    """Expand the losses of a block at given latent values, for weights of zero."""
    (z,) = of_rows
    return _expanded(block, features, loss, features.cross(block.X), np.zeros(z.shape), z)


def _expanded(
    block: Block, features: Features, loss: Loss, K: Array, f: Array, z: Array
) -> Partial:
    """Sum the losses at f, and what the Newton step needs of their expansions at z."""
    y, weight = block.y, block.weight
    functions, p = interpreted(type(loss)), loss.parameters
    off = z != f
    with np.errstate(all="ignore"):
        values = functions.loss(y, f, weight, p)
        inside = off | np.isfinite(values)
        a = np.where(inside, -functions.slope(y, z, weight, p), 0.0)
        W = np.where(inside, functions.curve(y, z, weight, p), 0.0)
    bend = np.minimum(W, functions.curve(y, np.zeros(y.shape), weight, p)).sum()
    gradient, curved = gathered(K, a + W * (z - f)), W > 0.0
    gram = features.gram(K if curved.all() else K[curved], W[curved])
    return Partial((values.sum(), gradient, gram, bend, np.count_nonzero(off)), (f, z))


def _read(block: Block, of_rows: tuple[Array, ...]) -> Partial:
    """Return the targets and weights."""
    return Partial((), (block.y, block.weight))


def _first_variance(loss: Loss, size: int, n: int) -> float:
    """Return about what `_Search.h` will be, before anything is known."""
    bend = float(loss.curvature(1.0, 0.0))
    return size / (n * bend) if bend > 0.0 else 1.0


def _mode(point: _Point, factor: Array, steps: int, ending: Ending) -> Mode:
    return Mode(point.w, point.f, float(point.loss), point.gap, steps, ending, factor)


def _failure(point: _Point, steps: int, ending: Ending, factor: Array | None = None) -> ModeError:
    """Return the error of a search that found no mode."""
    mode = _mode(point, np.zeros((0, 0)) if factor is None else factor, steps, ending)
    return ModeError(f"The duality gap is {point.gap:.3g} nats. {ending.value}", mode)
