"""Bayesian trigonometric support vector classification."""

from __future__ import annotations

from typing import Any

from pymc_bsvm import losses
from pymc_bsvm._validation import names_arguments
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.evidence.laplace import Curvature
from pymc_bsvm.gp.process import MarginalProcess

__all__ = ["BTSVC"]


class BTSVC(MarginalProcess):
    """Gaussian process classification with the trigonometric loss: sparse, with probabilities.

    Parameters
    ----------
    mean_func : pymc.gp.mean.Mean, default pm.gp.mean.Zero()
        Mean function.
    cov_func : pymc.gp.cov.BaseCovariance
        Covariance function.

    See Also
    --------
    pymc_bsvm.gp.Laplace : the methods, copies by cloudpickle, and what the marginal likelihood is.
    pymc_bsvm.Trigonometric : the likelihood alone, for a `pm.gp.Latent` process.

    References
    ----------
    [CKO03]_; [Chu03]_, chapter 5.

    Examples
    --------
    .. code-block:: python

        with pm.Model() as model:
            ls = pm.InverseGamma("ls", 3, 3, shape=2)
            amplitude = pm.HalfNormal("amplitude", 5)
            cov = amplitude**2 * pm.gp.cov.ExpQuad(2, ls=ls)
            gp = bsvm.gp.BTSVC(cov_func=cov)
            gp.marginal_likelihood("y", X=X, y=labels)
            idata = pm.sample()
    """

    _loss_type = losses.Trigonometric

    @names_arguments
    def marginal_likelihood(
        self,
        name: str,
        X: Any,
        y: Any,
        delta: Any = 1.0,
        curvature: Curvature | None = None,
        jitter: float = 0.0,
        approximation: str | Approximation = "laplace",
        **kwargs: Any,
    ) -> Any:
        """Register the observed labels; their log probability is the evidence.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : array_like or tensor of shape (n, d)
            Inputs; a `pm.Data` container can be changed later.
        y : array_like or tensor of shape (n,)
            Labels 0 and 1.
        delta : float, array, variable or callable, default 1
            Half width of the link, in units of the latent function; delta > 0. It scales with the
            amplitude of the covariance function: leave one of the two fixed. It is a number for all
            rows, a vector of one for each row, or a function that takes inputs of shape (n, d) and
            returns either, which predictions of new labels need if it varies.
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
        loss = losses.Trigonometric(delta)
        chosen = approximation_of(approximation, curvature)
        return self._register(name, X, y, loss, chosen, jitter, **kwargs)
