"""The covariance that inducing points explain, beside the variances that they leave out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.low_rank import LowRank

__all__ = ["Inducing"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Inducing(LowRank):
    """The covariance ``Q = A A'`` of features ``A = K_nz L⁻ᵀ`` with ``K_zz = L L'``.

    Parameters
    ----------
    A : array_like of shape (n, m)
        Features, as for `LowRank`; there is nothing on the diagonal.
    left_out : array_like of shape (n,)
        The variances ``k_ii - |A_i|²`` that the inducing points do not explain.
    charge : float
        Share of these variances that an evidence is charged for: zero for the deterministic
        training conditional, one for the variational free energy.
    """

    left_out: Array = field(kw_only=True)
    charge: float = field(kw_only=True)

    def __init__(self, A: ArrayLike, left_out: ArrayLike, charge: float) -> None:
        super().__init__(A)
        object.__setattr__(self, "left_out", np.asarray(left_out, dtype=float))
        object.__setattr__(self, "charge", charge)
