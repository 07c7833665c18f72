"""Covariance functions of the papers that PyMC does not have, beside those of `pm.gp.cov`.

They are multiplied and added like those, and their scales may be model variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import pymc as pm
import pytensor.tensor as pt

from pymc_bsvm.covariance.formulas import arcsine, bspline, check_order, check_p, dirichlet

__all__ = ["Arcsine", "BSpline", "Dirichlet"]


class _Product(pm.gp.cov.Covariance):
    """A product over columns of one function of scaled differences, which is one at zero."""

    def __init__(self, input_dim: int, scale: Any, active_dims: Sequence[int] | None) -> None:
        super().__init__(input_dim, active_dims=active_dims)
        self.scale = pt.as_tensor_variable(scale)

    def factor(self, u: Any) -> Any:
        """Return the function at differences in units of the scale."""
        raise NotImplementedError

    def full(self, X: Any, Xs: Any = None) -> Any:
        """Return the correlations of rows."""
        X, Xs = self._slice(X, Xs)
        Y = X / self.scale
        W = Y if Xs is None else Xs / self.scale
        differences = (Y[:, k][:, None] - W[:, k][None, :] for k in range(self.n_dims))
        return reduce(mul, map(self.factor, differences))

    def diag(self, X: Any) -> Any:
        """Return ones."""
        return self._alloc(1.0, X.shape[0])


class BSpline(_Product):
    r"""The B-spline covariance function.

    .. math::

        k(x, x') = \prod_k B_{2p+1}(u_k) / B_{2p+1}(0), \quad u = (x - x') / \mathit{ls}

    Rows further apart than ``(p + 1) ls`` in any column are independent.

    Parameters
    ----------
    input_dim : int
        Number of columns.
    ls : tensor_like
        One length-scale, or one for each active column.
    p : int
        Half the order, rounded down, from 1 (the cubic spline) to 10.
    active_dims : sequence of int, optional
        The columns that count.

    References
    ----------
    [Chu03]_, (3.47), as a product over columns.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_bsvm.gp import cov
    >>> K = 2.0**2 * cov.BSpline(1, ls=0.5)
    >>> K(np.array([[0.0], [2.0]])).eval()
    array([[4., 0.],
           [0., 4.]])
    """

    def __init__(
        self, input_dim: int, ls: Any, p: int = 1, active_dims: Sequence[int] | None = None
    ) -> None:
        check_p(p)
        super().__init__(input_dim, ls, active_dims)
        self.p = p

    def factor(self, u: Any) -> Any:
        """Return ``B(u) / B(0)``."""
        return bspline(pt, u, self.p)


class Dirichlet(_Product):
    r"""The Dirichlet covariance function.

    .. math::

        k(x, x') = \prod_k D(u_k) / D(0), \quad u = 2\pi (x - x') / \text{period}, \quad
        D(u) = \frac{\sin((\text{order} + 1/2) u)}{\sin(u / 2)}

    Its functions are trigonometric polynomials, which repeat after one period.

    Parameters
    ----------
    input_dim : int
        Number of columns.
    period : tensor_like
        One period, or one for each active column.
    order : int
        Number of harmonics, 1 or more.
    active_dims : sequence of int, optional
        The columns that count.

    References
    ----------
    [Chu03]_, (3.50), as a product over columns.
    """

    def __init__(
        self, input_dim: int, period: Any, order: int = 3, active_dims: Sequence[int] | None = None
    ) -> None:
        check_order(order)
        super().__init__(input_dim, period, active_dims)
        self.order = order

    def factor(self, u: Any) -> Any:
        """Return ``D(2 pi u) / D(0)``."""
        return dirichlet(pt, 2.0 * math.pi * u, self.order)


class Arcsine(pm.gp.cov.Covariance):
    r"""The arcsine covariance function, that of a network with infinitely many hidden units.

    .. math::

        k(x, x') = \frac{2}{\pi} \arcsin \frac{2\, \tilde x \cdot \tilde x'}
        {\sqrt{(1 + 2\, \tilde x \cdot \tilde x)(1 + 2\, \tilde x' \cdot \tilde x')}}, \quad
        \tilde x = (\mathit{bias}, x / \mathit{ls})

    The units are error functions of ``w·x + b``, with the standard deviations ``1 / ls`` of the
    weights w and ``bias`` of b. It is not stationary: functions vary near the origin, and are flat
    far from it.

    Parameters
    ----------
    input_dim : int
        Number of columns.
    ls : tensor_like
        One length-scale, or one for each active column.
    bias : tensor_like
        Standard deviation of the constants.
    active_dims : sequence of int, optional
        The columns that count.

    References
    ----------
    [RW06]_, (4.29); [PRML]_, section 6.4.7.
    """

    def __init__(
        self, input_dim: int, ls: Any, bias: Any = 1.0, active_dims: Sequence[int] | None = None
    ) -> None:
        super().__init__(input_dim, active_dims=active_dims)
        self.ls, self.bias = pt.as_tensor_variable(ls), pt.as_tensor_variable(bias)

    def full(self, X: Any, Xs: Any = None) -> Any:
        """Return the covariances of rows."""
        X, Xs = self._slice(X, Xs)
        Y = X / self.ls
        W = Y if Xs is None else Xs / self.ls
        left, right = self._squares(Y)[:, None], self._squares(W)[None, :]
        return arcsine(pt, self.bias**2 + pt.dot(Y, W.T), left, right)

    def diag(self, X: Any) -> Any:
        """Return the variances of rows."""
        X, _ = self._slice(X, None)
        squares = self._squares(X / self.ls)
        return arcsine(pt, squares, squares, squares)

    def _squares(self, Y: Any) -> Any:
        return self.bias**2 + pt.sum(Y**2, axis=1)
