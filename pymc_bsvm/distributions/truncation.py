"""Draws of truncated noise, which stay inside of the bounds in both tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt

from pymc_bsvm._pymc import TruncatedRV, _truncated, change_dist_size
from pymc_bsvm.distributions.draws import InverseCdfRV

__all__ = ["NoiseRV"]

_STEPS = 10_000  # of rejection sampling, which is never needed here


class NoiseRV(InverseCdfRV):
    """A location plus noise whose distribution function has a closed form.

    PyMC inverts the distribution function between its values at the bounds. They round to one in
    the upper tail, where draws were infinite or outside. Here a bound above the location counts
    from that end.
    """

    symmetric: bool
    """Whether the noise has the same tails on both sides."""

    @staticmethod
    def log_shares(x: Any, *parameters: Any) -> tuple[Any, Any]:
        """Return the log probabilities of noise below and above a value."""
        raise NotImplementedError


@_truncated.register(NoiseRV)
def _truncate(op: NoiseRV, lower: Any, upper: Any, size: Any, *inputs: Any) -> Any:
    low = pt.constant(-np.inf) if lower is None else pt.as_tensor_variable(lower)
    high = pt.constant(np.inf) if upper is None else pt.as_tensor_variable(upper)
    dist = op.make_node(*inputs).outputs[1]
    if size is None:
        size = pt.broadcast_shape(dist, low, high)
    _, *own = change_dist_size(dist, new_size=size).owner.inputs
    outer = [pt.random.shared_rng(seed=None), *own, low, high]
    rng, *inner = (x.type() for x in outer)
    shape, mu, *parameters, low, high = inner
    below_low, above_low = op.log_shares(low - mu, *parameters)
    below_high, above_high = op.log_shares(high - mu, *parameters)
    # a draw as a share of what is below it, or above it where both bounds are high
    turned = pt.and_(np.array(op.symmetric), low > mu)
    start = pt.exp(pt.switch(turned, above_high, below_low))
    end = pt.exp(pt.switch(turned, above_low, below_high))
    next_rng, u = pt.random.uniform(0.0, 1.0, size=tuple(shape), rng=rng, return_next_rng=True)
    share = pt.maximum(start + (end - start) * u, 2.0**-1074)
    noise = op.from_uniform(share, pt.zeros_like(mu), *parameters)
    draws = pt.clip(mu + pt.switch(turned, -noise, noise), low, high)
    return TruncatedRV(
        base_rv_op=op,
        inputs=[rng, *inner],
        outputs=[draws, next_rng],
        ndim_supp=0,
        max_n_steps=_STEPS,
    )(*outer)
