"""What JAX is told of approximations that it cannot compile."""

from __future__ import annotations

from typing import Any

from pymc_bsvm._pytensor.jax import jax_funcify
from pymc_bsvm.graph.integrate import Integrate
from pymc_bsvm.graph.propagate import Propagate

__all__: list[str] = []


@jax_funcify.register(Integrate)
@jax_funcify.register(Propagate)
def _refuse(op: Integrate | Propagate, **_: Any) -> Any:
    raise NotImplementedError(
        f"The approximation {str(op.approximation)!r} has no form in JAX. Sample with PyMC's own "
        "sampler or nutpie, or use approximation='laplace'."
    )
