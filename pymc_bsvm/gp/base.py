"""What a process has before there are data."""

from __future__ import annotations

from typing import Any, NoReturn

import pymc as pm

from pymc_bsvm._pymc import Base

__all__ = ["Process"]


class Process(Base):
    """A Gaussian process whose latent values are integrated out."""

    def __init__(self, *, mean_func: Any = None, cov_func: Any = None) -> None:
        if cov_func is None:
            raise TypeError(
                f"{type(self).__name__} has no covariance function. Pass one, such as "
                "cov_func=eta**2 * pm.gp.cov.ExpQuad(1, ls=ls)."
            )
        mean_func = pm.gp.mean.Zero() if mean_func is None else mean_func
        super().__init__(mean_func=mean_func, cov_func=cov_func)

    def prior(self, name: str, X: Any, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise, because no variable of the model stands for the latent values."""
        raise NotImplementedError(
            f"{type(self).__name__} has no prior method, because it integrates the latent values "
            "out. Use marginal_likelihood, or pm.gp.Latent with a likelihood such as bsvm.SILF."
        )
