"""The sinc function with noise, section 4.5.1 of [Chu03]_."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._validation import names_arguments
from pymc_bsvm.datasets import check
from pymc_bsvm.datasets import noise as noises
from pymc_bsvm.datasets.check import RandomState

NoiseName = Literal["silf", "gaussian", "student", "none"]


@names_arguments
def sinc(
    n: int,
    noise: NoiseName = "silf",
    outliers: float = 0.0,
    *,
    C: float = 10.0,
    epsilon: float = 0.1,
    beta: float = 0.3,
    sigma: float = 0.2,
    df: float = 4.0,
    scale: float = 0.1,
    outlier_scale: float = 1.0,
    random_state: RandomState = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Draw the sinc data of section 4.5.1 of [Chu03]_ (the equation has no number there).

    .. math:: y = \sin|x| / |x| + δ, \qquad x \sim U(-10, 10)

    Parameters
    ----------
    n : int
        Number of rows.
    noise : {"silf", "gaussian", "student", "none"}
        Distribution of δ. "silf" is the noise model (2.31) of [Chu03]_, "gaussian" is N(0, σ²),
        "student" is a scaled Student t, and "none" leaves the targets without noise.
    outliers : float
        Share of outliers, in [0, 1]. The noise of exactly ``round(outliers * n)`` rows, chosen at
        random, is replaced by a draw from N(0, outlier_scale²).
    C, epsilon, beta : float
        Parameters of the "silf" noise. Its variance (2.33) is 0.026785 at the default values.
    sigma : float
        Standard deviation of the "gaussian" noise. The default gives the variance 0.04 of the
        comparison in section 4.5.1.
    df, scale : float
        Degrees of freedom ν and scale s of the "student" noise, whose variance is s² ν / (ν - 2):
        0.02 at the default values.
    outlier_scale : float
        Standard deviation of the outliers.
    random_state : int, numpy.random.Generator or None
        Seed. One seed gives the same inputs whatever the noise, and the same noise in the rows
        that are not outliers whatever their share.

    Returns
    -------
    X : ndarray of shape (n, 1)
        Inputs.
    y : ndarray of shape (n,)
        Targets.

    References
    ----------
    [Chu03]_, section 4.5.1.

    Examples
    --------
    >>> from pymc_bsvm.datasets import sinc
    >>> X, y = sinc(100, outliers=0.05)
    >>> X.shape, y.shape
    ((100, 1), (100,))
    """
    n, rng = check.rows(n), check.generator(random_state)
    check.choice("noise", noise, get_args(NoiseName))
    check.share("outliers", outliers)
    check.scale("outlier_scale", outlier_scale)
    x = rng.uniform(-10.0, 10.0, n)
    match noise:
        case "silf":
            delta = noises.silf(n, C=C, epsilon=epsilon, beta=beta, random_state=rng)
        case "gaussian":
            delta = noises.gaussian(n, sigma=sigma, random_state=rng)
        case "student":
            delta = noises.student(n, df=df, scale=scale, random_state=rng)
        case "none":
            delta = np.zeros(n)
    delta = noises.replace(delta, outliers, scale=outlier_scale, random_state=rng)
    # numpy.sinc(z) is sin(πz) / (πz), with the limit 1 at z = 0.
    return x[:, None], np.sinc(x / np.pi) + delta
