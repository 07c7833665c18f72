"""What a round of the search does with the inner products of columns, in compiled code."""

import numba
import numpy as np

from pymc_bsvm.covariance.lapack import cholesky_in_place, triangular_inverse_in_place

__all__ = ["best_addition", "inverse_factor", "renewed", "settle", "settled"]

_FEW = 60  # weights up to which loops take less time than a call of LAPACK


@numba.njit(cache=True, fastmath=False, nogil=True)
def inverse_factor(H):
    """Return ``L⁻¹`` with ``L L' = H``, and whether H is positive definite; H is overwritten.

    All loops run along rows; many weights go to LAPACK.
    """
    m = len(H)
    half = np.zeros((m, m))
    if m > _FEW:
        if not cholesky_in_place(H):
            return half, False
        triangular_inverse_in_place(H)
        for i in range(m):
            if not H[i, i] > 0.0:  # as it is for a matrix with nan, which LAPACK may take
                return half, False
            half[i, : i + 1] = H[i, : i + 1]
        return half, True
    for k in range(m):
        if not H[k, k] > 0.0:
            return half, False
        root = np.sqrt(H[k, k])
        for j in range(k, m):
            H[k, j] /= root
        for i in range(k + 1, m):
            for j in range(i, m):
                H[i, j] -= H[k, i] * H[k, j]
    for i in range(m):
        half[i, i] = 1.0
        for k in range(i):
            for j in range(k + 1):
                half[i, j] -= H[k, i] * half[k, j]
        for j in range(i + 1):
            half[i, j] /= H[i, i]
    return half, True


@numba.njit(cache=True, fastmath=False, nogil=True)
def _weights(gram, b, alpha, beta, energy, n):
    """Return ``L⁻¹``, the mean and the log evidence at one precision of the noise."""
    H = beta * gram
    for i in range(alpha.size):
        H[i, i] += alpha[i]
    half, definite = inverse_factor(H)
    u = np.zeros(alpha.size)
    mean = np.zeros(alpha.size)
    value = n * np.log(beta / (2.0 * np.pi)) - beta * energy
    for i in range(alpha.size):
        for j in range(i + 1):
            u[i] += half[i, j] * b[j]
        u[i] *= beta
        for j in range(i + 1):
            mean[j] += half[i, j] * u[i]
        value += np.log(alpha[i] * half[i, i] ** 2) + u[i] ** 2
    return half, mean, 0.5 * value, definite


@numba.njit(cache=True, fastmath=False, nogil=True)
def renewed(products, projections, places, alpha, beta, energy, n, least, still):
    """Take the posterior of the weights afresh, and the precision of the noise unless ``still``.

    (7.88) of [PRML]_ need not raise the log evidence; where it does not, a step of the EM algorithm
    does. Returns ``L⁻¹``, the mean, the log evidence, the precision, what it gained, and whether
    the weights have a posterior.
    """
    m = places.size
    gram, b = np.empty((m, m)), np.empty(m)
    for i in range(m):
        b[i] = projections[places[i]]
        for j in range(m):
            gram[i, j] = products[j, places[i]]
    half, mean, value, definite = _weights(gram, b, alpha, beta, energy, n)
    if still or not definite:
        return half, mean, value, beta, 0.0, definite
    residual, determined = energy, 0.0
    for j in range(m):
        fitted, width = 0.0, 0.0
        for i in range(m):
            fitted += gram[i, j] * mean[i]
            width += half[i, j] ** 2
        residual += mean[j] * (fitted - 2.0 * b[j])
        determined += 1.0 - alpha[j] * width
    residual = max(residual, 0.0)
    for share in (residual / (n - determined), (residual + determined / beta) / n):
        other = 1.0 / max(share, least)
        new_half, new_mean, new_value, new_definite = _weights(gram, b, alpha, other, energy, n)
        if new_definite and new_value > value:
            return new_half, new_mean, new_value, other, new_value - value, True
    return half, mean, value, beta, 0.0, True


@numba.njit(cache=True, fastmath=False, nogil=True)
def best_addition(products, projections, places, half, mean, beta, least):
    """Return the place, ``s`` and ``q² / s`` of the column to add, (7.99)-(7.103) of [PRML]_.

    Columns have unit length. Those of which the chosen ones leave no more than a share of ``least``
    are left out. The ratio is zero if none is left.
    """
    m, size = places.size, projections.size
    left, fitted = np.zeros(size), np.zeros(size)
    if m:
        shared = np.dot(half, products[:m])
        for i in range(m):
            for j in range(size):
                left[j] += shared[i, j] ** 2
                fitted[j] += mean[i] * products[i, j]
    for i in range(m):
        left[places[i]] = np.inf
    best, ratio = 0, 0.0
    for j in range(size):
        s = beta - beta**2 * left[j]
        if s > least * beta:
            q = beta * (projections[j] - fitted[j])
            if q * q > ratio * s:
                best, ratio = j, q * q / s
    return best, beta - beta**2 * left[best], ratio


@numba.njit(cache=True, fastmath=False, nogil=True)
def settled(half, mean, alpha, least, most):
    """As `settle`, from ``L⁻¹``; return the gain, and how many weights are left."""
    gain = 0.0
    if alpha.size:
        gain = settle(np.dot(half.T, half), mean.copy(), alpha, least, most)
    return gain, np.sum(np.isfinite(alpha))


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
