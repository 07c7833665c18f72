"""Covariance functions of PyMC as functions of arrays; imports PyMC."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.graph import Constant, ancestors

from pymc_bsvm._pytensor import RNGConsumerOp
from pymc_bsvm._typing import Array

__all__ = ["Compiled", "check_fixed"]


def check_fixed(cov: Any) -> None:
    """Raise ``ValueError`` unless the matrix of ``cov`` is a function of the rows alone."""
    if not isinstance(cov, pm.gp.cov.Covariance):
        raise ValueError(
            f"{type(cov).__name__} alone does not say how many columns it takes. "
            "Add it to a covariance function that does."
        )
    X = pt.dmatrix("X")
    reached = list(ancestors([cov(X)]))
    random = [x for x in reached if x.owner is not None and isinstance(x.owner.op, RNGConsumerOp)]
    unknown = [
        x
        for x in reached
        if x.owner is None
        and x is not X
        and not isinstance(x, Constant | pytensor.compile.SharedVariable)
    ]
    if random or unknown:
        names = ", ".join(sorted({x.name or "an unnamed one" for x in (*random, *unknown)}))
        raise ValueError(
            f"The covariance function depends on free variables: {names}. Pass numbers, or a "
            "kernel of pymc_bsvm.estimators.kernels, whose hyperparameters are learned."
        )


class Compiled:
    """A covariance function as three functions of arrays, each compiled when it is needed.

    Parameters
    ----------
    cov : pm.gp.cov.Covariance
        A function without random variables.
    """

    def __init__(self, cov: Any) -> None:
        self.cov = cov

    def full(self, X: Array) -> Array:
        """Return the covariances of the rows with each other."""
        return np.array(self._full(self._checked(X)))

    def cross(self, X: Array, Z: Array) -> Array:
        """Return the covariances of the rows of X with those of Z."""
        return np.array(self._cross(self._checked(X), self._checked(Z)))

    def diagonal(self, X: Array) -> Array:
        """Return the variances of the rows."""
        return np.array(self._diagonal(self._checked(X)))

    def _checked(self, X: Array) -> Array:
        if X.shape[1] != self.cov.input_dim:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the covariance function takes "
                f"{self.cov.input_dim}. Set input_dim, and active_dims to leave columns out."
            )
        return np.asarray(X, dtype=float)

    @cached_property
    def _full(self) -> Any:
        X = pt.dmatrix("X")
        return _compile([X], self.cov(X))

    @cached_property
    def _cross(self) -> Any:
        X, Z = pt.dmatrix("X"), pt.dmatrix("Z")
        return _compile([X, Z], self.cov(X, Z))

    @cached_property
    def _diagonal(self) -> Any:
        X = pt.dmatrix("X")
        return _compile([X], self.cov(X, diag=True))


def _compile(inputs: list[Any], output: Any) -> Any:
    return pytensor.function(inputs, output, mode="FAST_COMPILE", on_unused_input="ignore")
