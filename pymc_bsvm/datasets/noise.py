"""Additive noise of the simulated regression sets, one function for each distribution.

Every function returns an array of shape (n,) with mean zero and takes its `random_state` as
:func:`numpy.random.default_rng` does.
"""

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm.datasets import check
from pymc_bsvm.datasets.check import RandomState
from pymc_bsvm.losses import SILF


def silf(
    n: int,
    *,
    C: float = 10.0,
    epsilon: float = 0.1,
    beta: float = 0.3,
    random_state: RandomState = 0,
) -> NDArray[np.float64]:
    r"""Draw from the density of the soft insensitive loss function, (2.31) of [Chu03]_.

    .. math:: p(δ) = \exp(-C ℓ_{ε,β}(δ)) / Z_S

    The draw is δ = F⁻¹(u), with u uniform on (0, 1) and F the distribution function (F.1).

    Parameters
    ----------
    n : int
        Number of draws.
    C, epsilon, beta : float
        Parameters of the loss, with `C` > 0, `epsilon` > 0 and 0 < `beta` <= 1. The variance is
        (2.33); it is 0.026785 at the default values, those of section 4.5.1.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n,)
        Independent draws.

    References
    ----------
    [Chu03]_, section 2.2.4 and appendix F.
    """
    n, rng = check.rows(n), check.generator(random_state)
    loss = SILF(C=C, epsilon=epsilon, beta=beta)
    # F⁻¹(0) is minus infinity, so u starts at the smallest normal number above 0.
    u = rng.uniform(np.finfo(np.float64).tiny, 1.0, n)
    return np.asarray(loss.quantile(u), dtype=np.float64)


def gaussian(n: int, *, sigma: float = 0.2, random_state: RandomState = 0) -> NDArray[np.float64]:
    """Draw from the normal distribution N(0, σ²).

    Parameters
    ----------
    n : int
        Number of draws.
    sigma : float
        Standard deviation σ. The default gives the variance 0.04 that section 4.5.1 of [Chu03]_
        uses to compare methods.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n,)
        Independent draws.

    References
    ----------
    [Chu03]_, section 4.5.1.
    """
    n, rng = check.rows(n), check.generator(random_state)
    return check.scale("sigma", sigma) * rng.standard_normal(n)


def student(
    n: int, *, df: float = 4.0, scale: float = 0.1, random_state: RandomState = 0
) -> NDArray[np.float64]:
    """Draw s t, where t has Student's t distribution with ν degrees of freedom.

    Parameters
    ----------
    n : int
        Number of draws.
    df : float
        Degrees of freedom ν > 0.
    scale : float
        Scale s. It is not the standard deviation: the variance is s² ν / (ν - 2) for ν > 2, which
        is 0.02 at the default values.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n,)
        Independent draws.
    """
    n, rng = check.rows(n), check.generator(random_state)
    if check.scale("df", df) == 0:
        raise ValueError(f"df = {df!r} is not positive. Pass a positive number, such as df=4.0.")
    return check.scale("scale", scale) * rng.standard_t(df, n)


def replace(
    noise: NDArray[np.float64],
    share: float,
    *,
    scale: float = 1.0,
    random_state: RandomState = 0,
) -> NDArray[np.float64]:
    """Replace a share of the draws by outliers from N(0, s²).

    Parameters
    ----------
    noise : ndarray of shape (n,)
        Draws to contaminate; the array is left as it is.
    share : float
        Share of the draws in [0, 1]. Exactly ``round(share * n)`` of them are replaced, at
        positions chosen at random without repetition.
    scale : float
        Standard deviation s of the outliers.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    ndarray of shape (n,)
        Copy of `noise` with the outliers in their places.
    """
    rng, n = check.generator(random_state), len(noise)
    where = rng.permutation(n)[: round(check.share("share", share) * n)]
    contaminated = noise.copy()
    contaminated[where] = check.scale("scale", scale) * rng.standard_normal(len(where))
    return contaminated
