"""A product over columns as a covariance function of PyMC, with derivatives; imports PyMC."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import pymc as pm
import pytensor.tensor as pt

from pymc_bsvm.estimators.kernels.product import Product

__all__ = ["ColumnProduct"]


class ColumnProduct(pm.gp.cov.Covariance):
    """The correlation function of a `Product`.

    Parameters
    ----------
    input_dim : int
        Number of columns.
    scale : tensor_like
        One scale, or one for each column; model variables if they are to be inferred.
    product : Product
        The kernel with the formula of one factor.
    """

    def __init__(self, input_dim: int, scale: Any, product: Product) -> None:
        super().__init__(input_dim)
        self.scale = pt.as_tensor_variable(scale)
        self.product = product

    def full(self, X: Any, Xs: Any = None) -> Any:
        """Return the correlations of rows."""
        X, Xs = self._slice(X, Xs)
        Y = X * (self.product.unit / self.scale)
        W = Y if Xs is None else Xs * (self.product.unit / self.scale)
        differences = (Y[:, k][:, None] - W[:, k][None, :] for k in range(self.input_dim))
        return reduce(mul, (self.product.formula(pt, u) for u in differences))

    def diag(self, X: Any) -> Any:
        """Return ones."""
        return self._alloc(1.0, X.shape[0])
