"""Two normal classes, sections 5.5.1 and 5.5.2 of [Chu03]_, with their exact probability."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from pymc_bsvm._validation import names_arguments
from pymc_bsvm.datasets import check
from pymc_bsvm.datasets.check import RandomState

# For each dimension the means and the variances; rows are the labels 0 and 1, columns the inputs.
MEANS = {1: np.array([[2.0], [-2.0]]), 2: np.array([[2.0, 0.0], [-2.0, 0.0]])}
VARIANCES = {1: np.array([[1.0], [1.0]]), 2: np.array([[2.0, 1.0], [1.0, 2.0]])}


@names_arguments
def two_gaussians(
    n: int, dim: Literal[1, 2] = 1, *, random_state: RandomState = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    r"""Draw two normal classes, sections 5.5.1 and 5.5.2 of [Chu03]_ (no equation number there).

    .. math::

        \text{dim = 1:} \quad x|1 &\sim N(-2, 1), & x|0 &\sim N(+2, 1) \\
        \text{dim = 2:} \quad x|1 &\sim N((-2, 0), \mathrm{diag}\{1, 2\}), &
        x|0 &\sim N((+2, 0), \mathrm{diag}\{2, 1\})

    The diagonals are variances. Label 1 is the positive class of the thesis, 0 the negative one.

    Parameters
    ----------
    n : int
        Number of rows. The classes are equally large; an odd `n` gives label 0 one row more.
    dim : {1, 2}
        Number of inputs.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n, dim)
        Inputs, with the classes in random order.
    labels : ndarray of shape (n,)
        Labels, integers 0 or 1.

    See Also
    --------
    two_gaussians_probability : The exact probability of label 1.

    Notes
    -----
    The outlier of section 5.5.1 is one more row, with input -2 and label 0.

    References
    ----------
    [Chu03]_, sections 5.5.1 and 5.5.2.

    Examples
    --------
    >>> from pymc_bsvm.datasets import two_gaussians
    >>> X, labels = two_gaussians(100, dim=2)
    >>> X.shape, int(labels.sum())
    ((100, 2), 50)
    """
    n, rng = check.rows(n), check.generator(random_state)
    check.choice("dim", dim, (1, 2))
    labels = rng.permutation(np.arange(n, dtype=np.int64) % 2)
    z = rng.standard_normal((n, dim))
    return MEANS[dim][labels] + np.sqrt(VARIANCES[dim][labels]) * z, labels


def two_gaussians_probability(X: ArrayLike) -> NDArray[np.float64]:
    r"""Return the exact P(label = 1 | x) of `two_gaussians`, for equally likely classes.

    By Bayes' theorem, with p₀ and p₁ the normal densities of the two labels in sections 5.5.1 and
    5.5.2 of [Chu03]_,

    .. math:: P(1|x) = p_1(x) / (p_0(x) + p_1(x)) = 1 / (1 + \exp(\ln p_0(x) - \ln p_1(x)))

    Parameters
    ----------
    X : array_like of shape (n, 1) or (n, 2)
        Inputs; the number of columns tells which of the two sets is meant.

    Returns
    -------
    ndarray of shape (n,)
        Probability of label 1 at each row.

    See Also
    --------
    two_gaussians : Draws from the two classes.

    References
    ----------
    [Chu03]_, sections 5.5.1 and 5.5.2.

    Examples
    --------
    >>> from pymc_bsvm.datasets import two_gaussians_probability
    >>> two_gaussians_probability([[0.0], [-2.0]]).round(4)
    array([0.5   , 0.9997])
    """
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in MEANS:
        raise ValueError(
            f"X has shape {points.shape} and belongs to neither set. "
            "Pass an array of shape (n, 1) or (n, 2)."
        )
    means, variances = MEANS[points.shape[1]], VARIANCES[points.shape[1]]
    squares = (points[:, None, :] - means) ** 2 / variances
    # The covariances of the two labels have the same determinant, which cancels.
    log_density = -0.5 * np.sum(squares, axis=-1)
    return np.asarray(expit(log_density[:, 1] - log_density[:, 0]))
