"""What JAX is told of checks that it cannot make."""

from __future__ import annotations

import warnings
from typing import Any

from pymc_bsvm._pytensor.jax import jax_funcify
from pymc_bsvm.gp.prior import PairCheck

__all__: list[str] = []


@jax_funcify.register(PairCheck)
def _leave_out(op: PairCheck, **_: Any) -> Any:
    warnings.warn(
        "JAX does not check whether the covariance of two rows depends on other rows. For a "
        "function of your own, evaluate model.point_logps() once, which does.",
        UserWarning,
        stacklevel=2,
    )
    return lambda x, *conditions: x
