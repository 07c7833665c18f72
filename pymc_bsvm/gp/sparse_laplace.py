"""Gaussian process models on inducing points with any loss that has a curvature."""

from __future__ import annotations

from typing import Any

from pymc_bsvm._pymc import JITTER_DEFAULT
from pymc_bsvm._validation import names_arguments
from pymc_bsvm.evidence.approximation import Approximation, approximation_of
from pymc_bsvm.evidence.laplace import Curvature
from pymc_bsvm.gp.sparse_process import SparseProcess
from pymc_bsvm.losses import Loss

__all__ = ["SparseLaplace"]


class SparseLaplace(SparseProcess):
    r"""A Gaussian process on inducing points, integrated out by Laplace's method.

    It has the methods of `pm.gp.MarginalApprox`, for any likelihood of `pymc_bsvm.losses` that has
    a curvature, and those of `Laplace`. Time grows as ``n m²`` and memory as ``n m`` for n rows and
    m inducing points.

    Parameters
    ----------
    approx : {"VFE", "DTC"}
        Whether the evidence is charged for the variances that the inducing points leave out.
    mean_func : pymc.gp.mean.Mean, default pm.gp.mean.Zero()
        Mean function.
    cov_func : pymc.gp.cov.BaseCovariance
        Covariance function. The covariance of two rows may depend on these two rows only.

    See Also
    --------
    Laplace : the methods, copies by cloudpickle, and the model without inducing points, for up to a
        few thousand rows.
    SparseBSVR, SparseBTSVC : the same on the losses of the papers.
    pymc.gp.MarginalApprox : the same for Gaussian noise.

    Notes
    -----
    The latent values are ``f = m + A w`` with a standard normal w of m elements and the features
    ``A = K_xu L⁻ᵀ``, where ``L L'`` is the covariance of the inducing points. Laplace's method
    finds the mode of w and has the evidence

    .. math::

        \log p(y) \approx -\sum_i \ell(y_i, f_i) - \tfrac12 w'w
        - \tfrac12 \log\bigl|I + A'WA\bigr| - \tfrac{\tau}{2} \sum_i W_i d_i - \sum_i \log Z_i

    with the curvatures W of the loss and the variances ``d_i = k_ii - |A_i|²`` that the inducing
    points leave out. "DTC" is :math:`\tau = 0`, the deterministic training conditional: it is the
    evidence of the model with these latent values, and inducing points that are free variables may
    overfit. "VFE" is :math:`\tau = 1`: under Gaussian noise the bound of Titsias (2009), which
    such points cannot overfit; for other losses it is no bound, but the second order of the
    expected loss under what is left out. Both predict new latent values with the variances that
    the inducing points leave out there.

    Draws of the observed variable have independent latent values left out with "VFE", none with
    "DTC". `log_predictive` is of the training rows, of which the inducing points leave out nothing.

    Examples
    --------
    .. code-block:: python

        with pm.Model() as model:
            ls = pm.InverseGamma("ls", 3, 1)
            gp = bsvm.gp.SparseLaplace(cov_func=pm.gp.cov.Matern52(1, ls=ls))
            gp.marginal_likelihood("y", X=X, Xu=X[::50], y=labels, loss=bsvm.losses.Logistic())
            idata = pm.sample()
    """

    @names_arguments
    def marginal_likelihood(
        self,
        name: str,
        X: Any,
        Xu: Any,
        y: Any,
        loss: Loss,
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
            Targets; for classification the labels 0 and 1.
        loss
            As for `Laplace.marginal_likelihood`.
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
        chosen = approximation_of(approximation, curvature)
        return self._register(name, X, y, loss, chosen, jitter, Xu, **kwargs)
