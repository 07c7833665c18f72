"""Kernels by name."""

from __future__ import annotations

from typing import Any

from pymc_bsvm.estimators.kernels.arcsine import Arcsine
from pymc_bsvm.estimators.kernels.base import Kernel
from pymc_bsvm.estimators.kernels.dirichlet import Dirichlet
from pymc_bsvm.estimators.kernels.frozen import Frozen, is_pymc_covariance
from pymc_bsvm.estimators.kernels.linear import Linear
from pymc_bsvm.estimators.kernels.matern import Matern32, Matern52
from pymc_bsvm.estimators.kernels.periodic import Periodic
from pymc_bsvm.estimators.kernels.polynomial import Polynomial
from pymc_bsvm.estimators.kernels.precomputed import Precomputed
from pymc_bsvm.estimators.kernels.rbf import RBF
from pymc_bsvm.estimators.kernels.spline import BSpline

__all__ = ["kernel_of"]

_NAMED: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "matern32": Matern32,
    "matern52": Matern52,
    "linear": Linear,
    "poly": Polynomial,
    "periodic": Periodic,
    "bspline": BSpline,
    "dirichlet": Dirichlet,
    "arcsine": Arcsine,
    "precomputed": Precomputed,
}


def kernel_of(kernel: Any, ard: bool = False) -> Kernel:
    """Return the kernel that an estimator's argument means.

    Parameters
    ----------
    kernel : str, Kernel, pm.gp.cov.Covariance or callable
        A name; a kernel, which is returned as it is; or a fixed function, of which only the
        amplitude is learned.
    ard : bool
        Whether each column has a scale of its own, for kernels by name.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        If there is no such kernel, or if it cannot have a scale for each column.
    """
    if isinstance(kernel, str) and kernel in _NAMED:
        if kernel == "precomputed":
            _refuse(ard, "A precomputed Gram matrix has no length-scales.", "Set ard=False.")
            return Precomputed()
        return _NAMED[kernel](ard=ard)  # type: ignore[call-arg]
    if isinstance(kernel, Kernel):
        _refuse(ard, f"ard=True has no effect on {kernel!r}.", "Set ard in the kernel itself.")
        return kernel
    if is_pymc_covariance(kernel) or (callable(kernel) and not isinstance(kernel, type)):
        _refuse(ard, f"The length-scales of {kernel!r} are fixed.", "Set ard=False.")
        return Frozen(kernel)
    raise ValueError(
        f"kernel must be a covariance function, but it is {kernel!r}. Pass one of "
        f"{', '.join(map(repr, _NAMED))}, an object of pymc_bsvm.estimators.kernels or of "
        "pm.gp.cov, or a function k(X, Z)."
    )


def _refuse(ard: bool, wrong: str, remedy: str) -> None:
    if ard:
        raise ValueError(f"{wrong} {remedy}")
