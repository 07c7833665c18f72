"""What a process has before there are data."""

from __future__ import annotations

from typing import Any, NoReturn

import pymc as pm

from pymc_bsvm._pymc import Base
from pymc_bsvm._validation import names_arguments

__all__ = ["Process"]


class Process(Base):
    """A Gaussian process whose latent values are integrated out."""

    @names_arguments
    def __init__(self, *, mean_func: Any = None, cov_func: Any = None) -> None:
        if cov_func is None:
            raise TypeError(
                f"{type(self).__name__} has no covariance function. Pass one, such as "
                "cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)."
            )
        if not isinstance(cov_func, pm.gp.cov.BaseCovariance):
            raise TypeError(
                f"cov_func must be a covariance function, but it is of type "
                f"{type(cov_func).__name__}. Pass one of pm.gp.cov, or derive yours from "
                "pm.gp.cov.Covariance."
            )
        if mean_func is not None and not callable(mean_func):
            raise TypeError(
                f"mean_func must be a mean function, but it is {mean_func!r}. "
                "Pass one of pm.gp.mean, such as pm.gp.mean.Constant(c)."
            )
        mean_func = pm.gp.mean.Zero() if mean_func is None else mean_func
        super().__init__(mean_func=mean_func, cov_func=cov_func)

    def __add__(self, other: Any) -> Any:
        """Return the sum of two processes of the same kind."""
        if type(other) is not type(self):
            raise TypeError(
                f"A {type(self).__name__} has no sum with an object of type "
                f"{type(other).__name__}. Add a process of the same kind, or covariance functions."
            )
        return super().__add__(other)

    def prior(self, name: str, X: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because no variable of the model stands for the latent values."""
        raise NotImplementedError(
            f"{type(self).__name__} has no prior method, because it integrates the latent values "
            "out. Use marginal_likelihood, or pm.gp.Latent with a likelihood such as bsvm.SILF."
        )
