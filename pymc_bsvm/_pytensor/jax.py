"""How an Op states its JAX code; it imports JAX, which is an extra."""

# The table of Ops by type; PyTensor documents it for contributors and exports it nowhere else.
from pytensor.link.jax.dispatch.basic import jax_funcify

__all__ = ["jax_funcify"]
