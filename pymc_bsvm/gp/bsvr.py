"""Bayesian support vector regression."""

from __future__ import annotations

from typing import Any

from pymc_bsvm import losses
from pymc_bsvm._validation import names_arguments
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.evidence.laplace import Curvature
from pymc_bsvm.gp.process import MarginalProcess

__all__ = ["BSVR"]


class BSVR(MarginalProcess):
    """Gaussian process regression with the soft insensitive loss: robust and sparse.

    Parameters
    ----------
    mean_func : pymc.gp.mean.Mean, default pm.gp.mean.Zero()
        Mean function.
    cov_func : pymc.gp.cov.BaseCovariance
        Covariance function.

    See Also
    --------
    pymc_bsvm.gp.Laplace : the methods, copies by cloudpickle, and what the marginal likelihood is.
    pymc_bsvm.SILF : the likelihood alone, for a `pm.gp.Latent` process.

    References
    ----------
    [CKO04]_; [Chu03]_, chapter 4.

    Examples
    --------
    .. code-block:: python

        with pm.Model() as model:
            ls = pm.InverseGamma("ls", 3, 1)
            C = pm.LogNormal("C", 2, 1)
            epsilon = pm.HalfNormal("epsilon", 0.3)
            cov = y.var() * pm.gp.cov.ExpQuad(1, ls=ls) + pm.gp.cov.Constant(100.0)
            gp = bsvm.gp.BSVR(cov_func=cov)
            gp.marginal_likelihood("y", X=X, y=y, C=C, epsilon=epsilon, beta=0.3)
            idata = pm.sample()
    """

    _loss_type = losses.SILF

    @names_arguments
    def marginal_likelihood(
        self,
        name: str,
        X: Any,
        y: Any,
        C: Any,
        epsilon: Any,
        beta: Any = 0.3,
        curvature: Curvature | None = None,
        jitter: float = 0.0,
        approximation: str | Approximation = "laplace",
        **kwargs: Any,
    ) -> Any:
        """Register the observed targets; their log probability is the evidence.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : array_like or tensor of shape (n, d)
            Inputs; a `pm.Data` container can be changed later.
        y : array_like or tensor of shape (n,)
            Targets.
        C : float, array, variable or callable
            Slope of the loss, in nats per unit of y; C > 0. Like the other two, it is a number for
            all rows, a vector of one for each row, or a function that takes inputs of shape (n, d)
            and returns either: ``C=lambda X: pt.exp(c - 0.1 * X[:, 0])``. Only a function is known
            at new rows as well, which predictions of new targets need.
        epsilon : float, array, variable or callable
            Half width of the tube, in units of y; epsilon > 0.
        beta : float, array, variable or callable, default 0.3
            Share of the tube over which the loss bends; 0 < beta <= 1. The papers use 0.3 below
            2000 rows, 0.1 to 4000 and 0.05 beyond: fewer free support vectors, hence faster.
        curvature : {"smooth", "exact"}
            See `Laplace.marginal_likelihood`.
        jitter : float, default 0
            Added to the diagonal of the prior covariance. It is not needed for stability.
        approximation : str or Approximation, default "laplace"
            How the evidence and the posterior of the latent values are approximated: a name, or an
            object of `pymc_bsvm.approximations`.
        **kwargs
            Passed on to the variable, such as ``dims``.

        Returns
        -------
        TensorVariable
            The observed variable.
        """
        loss = losses.SILF(C, epsilon, beta)
        chosen = approximation_of(approximation, curvature)
        return self._register(name, X, y, loss, chosen, jitter, **kwargs)
