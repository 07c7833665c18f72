"""Expectation propagation on inducing points, one pass over the rows for each sweep.

The inducing points carry the function ``phi'w`` with ``w ~ N(0, I)``, and each copy of a row has a
rest of its own beside it, of the variance ``d_i`` that they leave out. The sites are those of
``phi_i'w``, and make the posterior ``w ~ N(B⁻¹ sum_i w_i b_i phi_i, B⁻¹)`` with
``B = I + sum_i w_i tau_i phi_i phi_i'``, for rows that count w times. Where that says of
``phi_i'w`` the mean f_i and the variance q_i, a row without one copy of its observation has

    v_i = q_i / (1 - tau_i q_i),    c_i = f_i - v_i (b_i - tau_i f_i),

and the likelihood times ``N(c_i, v_i + d_i)`` has the moments that ask for other sites. A pass adds
these up, so that the next one has its posterior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.iteration import (
    FAR,
    GROWTH,
    LEAST_DAMPING,
    LEAST_FAR,
    NEAR,
    SHORTEST_REST,
    WORSE,
)
from pymc_bsvm.evidence.mixing import mixed
from pymc_bsvm.evidence.propagation import PropagationStatus
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.weighted import interpreted
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.newton import find_mode
from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.sites import Cavity, Sites, account_of, matched

__all__ = ["Propagated", "Sweep", "first_sites", "propagate", "summed"]

# Earlier steps that are mixed with the last one. The sweep of each is kept: its sites, what they
# should be and the residuals, with log Z_i 56 bytes for each row, and three matrices of r x r.
_WINDOW = 2
_ROUGH = 1e-6  # nats for each row, which the gap of the mode may have where the sweeps start


@dataclass(frozen=True)
class Largest:
    """A number that is not added to others but compared with them."""

    value: float

    def __add__(self, other: Largest) -> Largest:
        """Return the larger one."""
        return self if self.value >= other.value else other


class Sweep(NamedTuple):
    """A pass over all rows: their sites, and those that match the moments."""

    sites: Sites
    posterior: InducingPosterior
    matched: Sites
    error: float
    """The largest over the rows of the change of precision in units of the marginal one, and of
    the change of the dual in units of one over the standard deviation."""
    residuals: Array
    """These changes of all rows, those of a row that counts w times sqrt(w) of them, so that sums
    of squares are those of w rows, of shape (2 n,)."""
    fit: float
    """``sum_i w_i (log Z_i + v_i a_i² / 2)`` with the dual ``a_i = b_i - tau_i f_i`` of a copy."""
    overlap: float
    """``sum_i w_i log(1 + tau_i v_i) / 2``."""
    log_predictive: Array
    """``log Z_i``, of shape (n,)."""


class Propagated(NamedTuple):
    """Where expectation propagation ended."""

    sweep: Sweep | None
    """The best one; None if there was no proper one."""
    n_iter: int
    """Number of sweeps."""
    status: PropagationStatus


def propagate(
    passes: Passes, features: Features, loss: Loss, sites: Sites, *, tol: float, max_iter: int
) -> Propagated:
    """Iterate ``sites <- matched sites`` by Anderson mixing; a step too far is taken back.

    The rules are those of `pymc_bsvm.evidence.iteration`.
    """
    sweep = _sweep(passes, features, loss, sites)
    n_iter, share, rest, plain = 1, 1.0, SHORTEST_REST, 0
    if sweep is None:
        return Propagated(None, n_iter, PropagationStatus.IMPROPER)
    best, kept = sweep, list[Sweep]()
    while best.error > tol and n_iter < max_iter and share > LEAST_DAMPING:
        passes.stage = f"Sweep {n_iter + 1}, residual {sweep.error:.2g}"
        far = sweep.error > FAR or plain > 0
        kept = [*([] if far else kept[-_WINDOW:]), sweep]
        after = _sweep(passes, features, loss, _next(kept, share))
        n_iter, plain = n_iter + 1, max(plain - 1, 0)
        if after is not None and after.error <= WORSE * sweep.error:
            share, sweep = min(1.0, GROWTH * share), after
        else:
            if len(kept) > 1:  # the mixture is to blame, not the length
                plain, rest = rest, 2 * rest
            else:
                share *= 0.5
            kept = []
            if after is not None and sweep.error >= NEAR:
                share, sweep = max(share, LEAST_FAR), after
        if sweep.error < best.error:
            best = sweep
    if best.error <= tol:
        return Propagated(best, n_iter, PropagationStatus.CONVERGED)
    ended = n_iter >= max_iter
    return Propagated(
        best, n_iter, PropagationStatus.MAX_ITER if ended else PropagationStatus.STALLED
    )


def _next(kept: Sequence[Sweep], share: float) -> Sites:
    """Return the sites to look at after some sweeps, of which the last is the last."""
    points = np.stack([each.sites.vector for each in kept])
    steps = np.stack([each.matched.vector for each in kept]) - points
    sites = kept[-1].sites
    new = sites.at(mixed(points, steps, np.stack([each.residuals for each in kept]), share))
    proper = new.precision.min(initial=0.0) >= 0.0
    return new if proper else sites.at(points[-1] + share * steps[-1])


def _sweep(passes: Passes, features: Features, loss: Loss, sites: Sites) -> Sweep | None:
    """Return the sweep of sites, unless they are no approximation."""
    try:
        posterior = sites.posterior(features)
    except (LinAlgError, ValueError):
        return None
    of_rows = sites.precision, sites.shift
    sums, rows = passes.run(_match, posterior, loss, of_rows=of_rows)
    largest, fit, overlap, gram, pull = sums
    precision, shift, of_precision, of_dual, log_z = rows
    if not math.isfinite(largest.value + fit):
        return None
    new, residuals = Sites.of(precision, shift, gram, pull), np.concatenate([of_precision, of_dual])
    error: float = largest.value
    return Sweep(sites, posterior, new, error, residuals, float(fit), float(overlap), log_z)


def first_sites(
    passes: Passes, features: Features, loss: Loss, begin: InducingPosterior | None
) -> Sites:
    """Return sites to start from, near a posterior that is known, if there is one.

    They are those of Laplace's approximation. For a loss with a kink they are what the rows ask for
    after that posterior, or after the prior.
    """
    if loss.differentiable:
        start = None if begin is None else begin.weights_on(features)
        mode = find_mode(passes, features, loss, start, tol=_ROUGH * passes.rows.n)
        sums, of_rows = passes.run(_of_mode, features, loss, of_rows=(mode.f,))
    else:
        r = features.size
        known = begin or InducingPosterior(features, np.zeros(r), np.eye(r))
        sums, of_rows = passes.run(_foresee, features, loss, known)
    return Sites.of(*of_rows, *sums)


def summed(passes: Passes, features: Features, precision: Array, shift: Array) -> Sites:
    """Return sites with their sums over the rows."""
    sums = passes.run(_add, features, of_rows=(precision, shift)).sums
    return Sites.of(precision, shift, *sums)


def _match(
    block: Block, of_rows: tuple[Array, ...], posterior: InducingPosterior, loss: Loss
) -> Partial:
    """Match the moments of the rows of a block, and add up the sites that do."""
    precision, shift = of_rows
    look = posterior.look(block.X)
    cavity = Cavity.of(look, precision, shift)
    improper = bool(np.isnan(cavity.variance).any())
    if improper:  # nothing else matters
        cavity = Cavity.of(look, 0.0 * precision, 0.0 * shift)
    new = matched(loss, block, cavity)
    residuals, fit, overlap = account_of(look, precision, cavity, new, block.weight)
    error = np.inf if improper else float(np.abs(residuals).max())
    largest = Largest(error if np.isfinite(error) else np.inf)
    residuals *= np.sqrt(block.weight)
    sums = _sums(posterior.features, look.phi, block, new.precision, new.shift)
    return Partial((largest, fit, overlap, *sums), (*new[:2], *residuals, new.log_z))


def _of_mode(block: Block, of_rows: tuple[Array, ...], features: Features, loss: Loss) -> Partial:
    """Return the sites of Laplace's approximation at latent values, and add them up."""
    (f,) = of_rows
    functions, one = interpreted(type(loss)), np.ones(f.shape)
    with np.errstate(all="ignore"):
        a = -functions.slope(block.y, f, one, loss.parameters)
        if loss.ramp_width > 0.0:
            W = loss.smooth_curvature(block.y, f)
        else:
            W = functions.curve(block.y, f, one, loss.parameters)
        shift = W * f + a
    known = (block.weight > 0.0) & np.isfinite(shift)
    W, shift = np.where(known, W, 0.0), np.where(known, shift, 0.0)
    phi = features.whiten(features.cross(block.X))
    return Partial(_sums(features, phi, block, W, shift), (W, shift))


def _foresee(
    block: Block,
    of_rows: tuple[Array, ...],
    features: Features,
    loss: Loss,
    known: InducingPosterior,
) -> Partial:
    """Return the sites of rows that a posterior does not know, and add them up."""
    mean, variance = known.moments(block.X)
    phi = features.whiten(features.cross(block.X))
    left = np.clip(features.diagonal(block.X) - np.einsum("ij,ij->i", phi, phi), 0.0, variance)
    nothing = np.zeros(mean.shape)
    new = matched(loss, block, Cavity(mean, variance - left, left, nothing, nothing))
    return Partial(_sums(features, phi, block, new.precision, new.shift), new[:2])


def _add(block: Block, of_rows: tuple[Array, ...], features: Features) -> Partial:
    """Add up sites."""
    phi = features.whiten(features.cross(block.X))
    return Partial(_sums(features, phi, block, *of_rows))


def _sums(
    features: Features, phi: Array, block: Block, precision: Array, shift: Array
) -> tuple[Array, Array]:
    """Return the sums of all copies of sites; the features are overwritten."""
    b = block.weight * shift
    pull = np.append(phi.T @ b, np.sqrt(features.offset) * b.sum())[: features.size]
    return features.gram_of(phi, block.weight * precision), pull
