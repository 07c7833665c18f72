"""Exact draws as symbolic random variables, compiled by every PyTensor backend."""

from __future__ import annotations

from typing import Any

import pytensor.tensor as pt
from pymc import SymbolicRandomVariable

from pymc_bsvm._pymc import implicit_size_from_params, normalize_rng_param, rv_size_is_none
from pymc_bsvm._pytensor import normalize_size_param
from pymc_bsvm._pytensor.interpretable import Interpretable

__all__ = ["InverseCdfRV"]


class InverseCdfRV(Interpretable, SymbolicRandomVariable):
    """A random variable drawn by inverting its distribution function at uniform numbers."""

    @classmethod
    def from_uniform(cls, u: Any, *parameters: Any) -> Any:
        """Turn uniform numbers into draws."""
        raise NotImplementedError

    @classmethod
    def rv_op(cls, *parameters: Any, size: Any = None, rng: Any = None) -> Any:
        """Build the random variable."""
        tensors = [pt.as_tensor(parameter) for parameter in parameters]
        rng, size = normalize_rng_param(rng), normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(*tensors, ndims_params=cls.ndims_params)
        next_rng, u = pt.random.uniform(size=size, rng=rng, return_next_rng=True)
        u = pt.maximum(u, 2.0**-54)  # the generator can return 0, whose quantile is infinite
        draws = cls.from_uniform(u, *tensors)
        return cls(inputs=[rng, size, *tensors], outputs=[next_rng, draws])(rng, size, *tensors)
