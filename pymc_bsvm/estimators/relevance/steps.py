"""Re-estimation of the precisions of the chosen weights, one at a time, in compiled code."""

import numba
import numpy as np

__all__ = ["settle"]


@numba.njit(cache=True, fastmath=False, nogil=True)
def settle(covariance, mean, alpha, least, most):
    """Take the step of the largest gain while one gains more than ``least`` nats; return their sum.

    With all else held, the log evidence is a function of one precision with a single maximum, at
    ``alpha = s² / (q² - s)``, or at infinity if ``q² <= s``: the weight is then zero. Of a chosen
    column, ``s = 1 / Sigma_jj - alpha`` and ``q = m_j / Sigma_jj``. All arguments but the last two
    are changed in place; rows and columns of weights that are zero are zero.

    References
    ----------
    [PRML]_, (7.97)-(7.101); [TF03]_, appendix A, for the updates.
    """
    total = 0.0
    for _ in range(most):
        gain, place, target = _best(covariance, mean, alpha, least)
        if place < 0:
            break
        _replace(covariance, mean, alpha, place, target)
        total += gain
    return total


@numba.njit(cache=True, fastmath=False, nogil=True)
def _best(covariance, mean, alpha, least):
    """Return gain, place and target of the best step; the place is -1 if none gains enough."""
    best, place, aim = least, -1, np.inf
    for j in range(alpha.size):
        if alpha[j] == np.inf:
            continue
        width = covariance[j, j]
        s = max(1.0 / width - alpha[j], 1e-16 / width)
        ratio = (mean[j] / width) ** 2 / s
        now = np.log(alpha[j] / (alpha[j] + s)) + ratio * s / (alpha[j] + s)
        target, then = np.inf, 0.0
        if ratio > 1.0:
            target, then = s / (ratio - 1.0), ratio - 1.0 - np.log(ratio)
        gain = 0.5 * (then - now)
        if gain > best:
            best, place, aim = gain, j, target
    return best, place, aim


@numba.njit(cache=True, fastmath=False, nogil=True)
def _replace(covariance, mean, alpha, place, target):
    """Change one precision and what depends on it; infinity takes the weight away."""
    column, height = covariance[:, place].copy(), mean[place]
    change = 1.0 / (target - alpha[place]) if target < np.inf else 0.0
    factor = 1.0 / (column[place] + change)
    for i in range(alpha.size):
        if column[i] != 0.0:
            mean[i] -= factor * height * column[i]
            for j in range(alpha.size):
                covariance[i, j] -= factor * column[i] * column[j]
    if target == np.inf:
        covariance[place, :] = 0.0
        covariance[:, place] = 0.0
        mean[place] = 0.0
    alpha[place] = target
