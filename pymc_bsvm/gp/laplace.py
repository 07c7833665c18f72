"""Gaussian process models with any loss that has a curvature."""

from __future__ import annotations

from typing import Any

from pymc_bsvm._validation import names_arguments
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.evidence.laplace import Curvature
from pymc_bsvm.gp.process import MarginalProcess
from pymc_bsvm.losses import Loss

__all__ = ["Laplace"]


class Laplace(MarginalProcess):
    """A Gaussian process with the latent values integrated out by Laplace's method.

    It has the methods of `pm.gp.Marginal`, for any likelihood of `pymc_bsvm.losses` that has a
    curvature: SILF, Huber, Trigonometric, Logistic, Probit and Gaussian.

    Parameters
    ----------
    mean_func : pymc.gp.mean.Mean, default pm.gp.mean.Zero()
        Mean function.
    cov_func : pymc.gp.cov.BaseCovariance
        Covariance function. The covariance of two rows may depend on these two rows only.

    See Also
    --------
    BSVR, BTSVC : the regression and the classification model of the papers.
    pymc_bsvm.laplace_evidence : the same evidence for a given covariance matrix.

    Notes
    -----
    It refers to variables of its model, so that ``cloudpickle.dumps((model, gp))`` copies the two
    together. PyMC's models cannot be pickled otherwise.

    Examples
    --------
    .. code-block:: python

        with pm.Model() as model:
            ls = pm.InverseGamma("ls", 3, 1)
            gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.Matern52(1, ls=ls))
            gp.marginal_likelihood("y", X=X, y=labels, loss=bsvm.losses.Logistic())
            idata = pm.sample()
    """

    @names_arguments
    def marginal_likelihood(
        self,
        name: str,
        X: Any,
        y: Any,
        loss: Loss,
        curvature: Curvature | None = None,
        jitter: float = 0.0,
        approximation: str | Approximation = "laplace",
        **kwargs: Any,
    ) -> Any:
        """Register the observed targets; their log probability is the evidence.

        Draws of the variable, as in prior predictive sampling, are draws of the model: latent
        values from the Gaussian process, targets from the likelihood.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : array_like or tensor of shape (n, d)
            Inputs; a `pm.Data` container can be changed later.
        y : array_like or tensor of shape (n,)
            Targets; for classification the labels 0 and 1.
        loss : Loss
            A loss of `pymc_bsvm.losses`, whose parameters may be variables of the model, such as
            ``losses.SILF(C=C, epsilon=epsilon, beta=0.3)``. A parameter may be one for all rows, a
            vector of one for each row, or a function that takes inputs of shape (n, d) and returns
            either. Only a function is known at new rows as well.
        curvature : {"smooth", "exact"}, optional
            Of Laplace's approximation, smooth by default; refused with any other. The exact
            evidence of a sparse loss jumps whenever a row enters or leaves the free set, by tenths
            of nats; its gradient does not see the jumps. An optimiser stops at them with an
            abnormal line search, and NUTS takes steps so small that every draw costs the largest
            number of leapfrogs. "smooth" replaces the steps of the curvature in the determinant by
            ramps; the MAP estimate and the predictions are the same. Use "exact" for the papers'
            values at given hyperparameters.
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

        Notes
        -----
        Where the solver fails, the log probability is NaN: a divergence for a sampler, an error at
        a starting point. `evidence` at that point says why.

        Linear algebra on matrices of some hundred rows is slower on many threads than on one. For
        several chains at a time, sample inside ``threadpoolctl.threadpool_limits(1)``, or set the
        environment variable ``OPENBLAS_NUM_THREADS`` to 1.
        """
        chosen = approximation_of(approximation, curvature)
        return self._register(name, X, y, loss, chosen, jitter, **kwargs)
