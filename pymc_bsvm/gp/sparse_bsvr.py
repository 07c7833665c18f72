"""Bayesian support vector regression on inducing points."""

from __future__ import annotations

from typing import Any

from pymc_bsvm import losses
from pymc_bsvm._pymc import JITTER_DEFAULT
from pymc_bsvm._validation import names_arguments
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.evidence.laplace import Curvature
from pymc_bsvm.gp.sparse_process import SparseProcess

__all__ = ["SparseBSVR"]


class SparseBSVR(SparseProcess):
    """Regression with the soft insensitive loss for many rows: its cost grows linearly with them.

    Parameters
    ----------
    approx : {"VFE", "DTC"}
        Whether the evidence is charged for the variances that the inducing points leave out; see
        `SparseLaplace`.
    mean_func : pymc.gp.mean.Mean, default pm.gp.mean.Zero()
        Mean function.
    cov_func : pymc.gp.cov.BaseCovariance
        Covariance function.

    See Also
    --------
    SparseLaplace : the methods, copies by cloudpickle, and what the approximations are.
    BSVR : the model without inducing points, for up to a few thousand rows.

    Examples
    --------
    .. code-block:: python

        with pm.Model() as model:
            ls = pm.InverseGamma("ls", 3, 1)
            C = pm.LogNormal("C", 2, 1)
            epsilon = pm.HalfNormal("epsilon", 0.3)
            gp = bsvm.gp.SparseBSVR(cov_func=y.var() * pm.gp.cov.ExpQuad(1, ls=ls))
            gp.marginal_likelihood("y", X=X, Xu=X[::100], y=y, C=C, epsilon=epsilon)
            fit = bsvm.fit_evidence()
    """

    _loss_type = losses.SILF

    @names_arguments
    def marginal_likelihood(
        self,
        name: str,
        X: Any,
        Xu: Any,
        y: Any,
        C: Any,
        epsilon: Any,
        beta: Any = 0.3,
        curvature: Curvature | None = None,
        jitter: float = JITTER_DEFAULT,
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
        Xu : array_like or tensor of shape (m, d)
            Inducing points: numbers, data, or a variable of the model, with respect to which the
            evidence differentiates as well.
        y : array_like or tensor of shape (n,)
            Targets.
        C, epsilon, beta
            As for `BSVR.marginal_likelihood`.
        curvature : {"smooth", "exact"}
            See `Laplace.marginal_likelihood`.
        jitter : float, default 1e-6
            Added to the diagonal of the covariance of the inducing points, as in
            `pm.gp.MarginalApprox`.
        approximation : str or Approximation, default "laplace"
            That of the evidence; sparse models have Laplace's.
        **kwargs
            Passed on to the variable, such as ``dims``.

        Returns
        -------
        TensorVariable
            The observed variable.
        """
        loss = losses.SILF(C, epsilon, beta)
        chosen = approximation_of(approximation, curvature)
        return self._register(name, X, y, loss, chosen, jitter, Xu, **kwargs)
