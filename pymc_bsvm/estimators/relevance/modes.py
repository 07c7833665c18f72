"""Modes of weights under the logistic link, in compiled code."""

import numba
import numpy as np

from pymc_bsvm.estimators.relevance.steps import inverse_factor

__all__ = ["changes", "laplace_mode", "qualities"]

_NEWTON = 100  # steps, of which a few are needed
_NEAR = 1e-8  # nats that the next step would gain, from which on steps are not checked
_SETTLED = 1e-16  # the determinant is off by the root of it
_UNCHECKED = 3
_HALVINGS = 30
_FACTORS = 512  # of at most two, so that their product is a number


@numba.njit(cache=True, fastmath=False, nogil=True)
def _slopes(signs, eta, slope, curvature):
    """Return the log likelihood, and write its slopes and minus its curvatures."""
    value, product = 0.0, 1.0
    for i in range(eta.size):
        z = signs[i] * eta[i]
        e = np.exp(-abs(z))
        right = 1.0 / (1.0 + e)
        product *= 1.0 + e
        if i % _FACTORS == _FACTORS - 1:
            value -= np.log(product)
            product = 1.0
        value += min(z, 0.0)
        slope[i] = signs[i] * (e * right if z > 0.0 else right)
        curvature[i] = e * right * right
    return value - np.log(product)


@numba.njit(cache=True, fastmath=False, nogil=True)
def laplace_mode(rows, alpha, signs, start):
    """Iterate reweighted least squares, with steps halved where they go too far.

    The rows are the chosen columns, of shape (m, n). Returns the weights, ``L⁻¹``
    with ``L L' = A + Phi'B Phi``, Laplace's log evidence, the slopes of the log likelihood in the
    latent values and minus its curvatures, and whether there is a factor.
    """
    m, n = rows.shape
    w, eta = start.copy(), np.zeros(n)
    half = np.zeros((m, m))
    slope, curvature = np.empty(n), np.empty(n)
    if m:
        eta = np.dot(w, rows)
    value = _slopes(signs, eta, slope, curvature) - 0.5 * np.sum(alpha * w * w)
    unchecked = 0
    for _ in range(_NEWTON if m else 0):
        H = np.dot(rows * curvature, rows.T)
        for k in range(m):
            H[k, k] += alpha[k]
        half, definite = inverse_factor(H)
        if not definite:
            return w, half, value, slope, curvature, False
        ascent = np.dot(rows, slope) - alpha * w
        step = np.dot(half.T, np.dot(half, ascent))
        gain = np.sum(step * ascent)
        if gain < _SETTLED or unchecked == _UNCHECKED:
            break
        near = gain < _NEAR
        unchecked += near
        move, found = np.dot(step, rows), False
        for _ in range(_HALVINGS):
            new_w, new_eta = w + step, eta + move
            new = _slopes(signs, new_eta, slope, curvature)
            new -= 0.5 * np.sum(alpha * new_w * new_w)
            if near or new >= value:
                found = True
                break
            step *= 0.5
            move *= 0.5
        if not found:  # only rounding is left
            _slopes(signs, eta, slope, curvature)
            break
        w, eta, value = new_w, new_eta, new
    for k in range(m):
        value += 0.5 * np.log(alpha[k] * half[k, k] ** 2)
    return w, half, value, slope, curvature, True


@numba.njit(cache=True, fastmath=False, nogil=True)
def qualities(block, rows, half, slope, curvature):
    """Return ``s`` and ``q`` of the columns of a block, (7.113) and (7.114) of [PRML]_."""
    n, size = block.shape
    s, q = np.zeros(size), np.zeros(size)
    for i in range(n):
        b, g = curvature[i], slope[i]
        for j in range(size):
            s[j] += b * block[i, j] ** 2
            q[j] += g * block[i, j]
    if len(half):
        shared = np.dot(np.dot(half, rows * curvature), block)
        for k in range(len(half)):
            for j in range(size):
                s[j] -= shared[k, j] ** 2
    return s, q


@numba.njit(cache=True, fastmath=False, nogil=True)
def changes(half, weights, alpha):
    """Return what the steps to the best precisions of chosen columns gain, and these."""
    m = weights.size
    gain, target = np.empty(m), np.empty(m)
    for j in range(m):
        width = 0.0
        for i in range(j, m):
            width += half[i, j] ** 2
        s = max(1.0 / width - alpha[j], 1e-16 / width)
        ratio = (weights[j] / width) ** 2 / s
        total = alpha[j] + s
        gain[j] = -0.5 * (np.log(alpha[j] / total) + ratio * s / total)
        target[j] = np.inf
        if ratio > 1.0:
            target[j] = s / (ratio - 1.0)
            gain[j] += 0.5 * (ratio - 1.0 - np.log1p(ratio - 1.0))
    return gain, target
