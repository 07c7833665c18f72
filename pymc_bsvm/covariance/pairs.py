"""Steps on one or two duals at a time, for a piecewise linear loss and a covariance as a matrix.

A row has kinks ``k_0 <= k_1 <= ...`` of f and levels ``l_0 >= l_1 >= ...`` of the dual: between two
kinks the dual is the level, and at the kink k_j it is anywhere from ``l_j`` down to ``l_{j+1}``. A
dual can rise at the kink ``up`` (-inf at the top level) and fall at the kink ``down`` (inf at the
lowest one), and is optimal, with ``g = m + K a``, if

    up_i - g_i <= b <= down_i - g_i    for all rows i,

which are the conditions of the duals (B.16) and (B.30) of [Chu03]_ with ``epsilon = 0`` and
``beta = 0``. The rows that break this most, two of them where there is an offset, take the step
that minimises the dual along it. Rows strictly between two levels then take one step together,
which solves ``g + b = k`` for all of them.
"""

import numba
import numpy as np

from pymc_bsvm.covariance.base import Pursuit
from pymc_bsvm.covariance.lapack import cholesky_in_place, cholesky_solve_in_place

__all__ = ["PURSUIT"]

_CHUNK = 256  # rows of which the largest value is found in one go
_LEAST = 1e-12  # of the largest variance: the least variance of a step
_RIDGE = 1e-13  # of the trace: what is added to the diagonal of a joint step
_JOINT = 20  # the most steps of all rows between two levels in a round, which ...
_SHARE = 400.0  # ... are to take no longer than those on one or two rows
_TINY = 1e-300  # for a covariance of zero
_BALANCED = 1e-14  # relative; what duals may sum to
_FAST = {"nnan", "nsz", "contract", "reassoc"}


@numba.njit(cache=True, fastmath=False, nogil=True)
def rise(kinks, levels, a, i):
    """Return the kink at which a dual of row i rises, and how far."""
    for j in range(kinks.shape[0] - 1, -1, -1):
        if a < levels[j, i]:
            return kinks[j, i], levels[j, i]
    return -np.inf, a


@numba.njit(cache=True, fastmath=False, nogil=True)
def fall(kinks, levels, a, i):
    """Return the kink at which a dual of row i falls, and how far."""
    for j in range(kinks.shape[0]):
        if a > levels[j + 1, i]:
            return kinks[j, i], levels[j + 1, i]
    return np.inf, a


@numba.njit(cache=True, fastmath=False, nogil=True)
def edges(kinks, levels, a):
    """Return the kinks at which the duals rise, and those at which they fall."""
    up, down = np.empty(a.shape[0]), np.empty(a.shape[0])
    for i in range(a.shape[0]):
        up[i], down[i] = rise(kinks, levels, a[i], i)[0], fall(kinks, levels, a[i], i)[0]
    return up, down


@numba.njit(cache=True, fastmath=False, nogil=True)
def fenchel_gap(kinks, levels, a, f):
    """Return the sum over the rows of ``w l(f) + w l*(-a / w) + a f``."""
    total = 0.0
    for j in range(kinks.shape[0]):
        for i in range(a.shape[0]):
            top, low = levels[j, i], levels[j + 1, i]
            inside = min(max(a[i], low), top)
            d = kinks[j, i] - f[i]
            total += d * (top - inside) if d > 0.0 else d * (low - inside)
    return total


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def _largest_rise(g, up):
    """Return the row with the largest ``up - g``, and that value."""
    n = g.shape[0]
    best, at = -np.inf, 0
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, edge, most = g[start:stop], up[start:stop], -np.inf
        for k in range(stop - start):
            most = max(most, edge[k] - part[k])
        if most > best:
            best, at = most, start
    best, start = -np.inf, at
    for k in range(start, min(start + _CHUNK, n)):
        if up[k] - g[k] > best:
            best, at = up[k] - g[k], k
    return at, best


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def _partner(g, down, row, variances, highest, variance, least):
    """Return the row with which a step gains most, -1 if there is none.

    The step is as long as ``highest - (down - g)`` over the variance of the difference.
    """
    n = g.shape[0]
    best, at = 0.0, -1
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, edge = g[start:stop], down[start:stop]
        across, own, most = row[start:stop], variances[start:stop], 0.0
        for k in range(stop - start):
            d = max(highest - (edge[k] - part[k]), 0.0)
            most = max(most, d * d / max(variance + own[k] - 2.0 * across[k], least))
        if most > best:
            best, at = most, start
    if at < 0:
        return at
    best, start = 0.0, at
    for k in range(start, min(start + _CHUNK, n)):
        d = max(highest - (down[k] - g[k]), 0.0)
        gain = d * d / max(variance + variances[k] - 2.0 * row[k], least)
        if gain > best:
            best, at = gain, k
    return at


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def _move(g, first, second, t):
    """Add ``t (first - second)``."""
    for k in range(g.shape[0]):
        g[k] += t * (first[k] - second[k])


@numba.njit(cache=True, fastmath=False, nogil=True)
def pair_steps(K, g, up, down, kinks, levels, a, variances, least, steps):
    """Take steps on two duals, whose sum stays, until no pair breaks the condition."""
    for _ in range(steps):
        i, highest = _largest_rise(g, up)
        j = _partner(g, down, K[i], variances, highest, variances[i], least)
        if j < 0:
            break
        room_i, room_j = rise(kinks, levels, a[i], i)[1], fall(kinks, levels, a[j], j)[1]
        t = highest - (down[j] - g[j])
        t /= max(variances[i] + variances[j] - 2.0 * K[i, j], least)
        most = min(room_i - a[i], a[j] - room_j)
        t = min(t, most)
        a[i] = room_i if t >= room_i - a[i] else a[i] + t
        a[j] = room_j if t >= a[j] - room_j else a[j] - t
        for k in (i, j):
            up[k], down[k] = rise(kinks, levels, a[k], k)[0], fall(kinks, levels, a[k], k)[0]
        _move(g, K[i], K[j], t)


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def _worst(g, up, down, inverse):
    """Return the row whose step gains most: the square of what it lacks over its variance."""
    n = g.shape[0]
    best, at = 0.0, -1
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, high, low, scale = (
            g[start:stop],
            up[start:stop],
            down[start:stop],
            inverse[start:stop],
        )
        most = 0.0
        for k in range(stop - start):
            d = max(max(high[k] - part[k], part[k] - low[k]), 0.0)
            most = max(most, d * d * scale[k])
        if most > best:
            best, at = most, start
    if at < 0:
        return at
    best, start = 0.0, at
    for k in range(start, min(start + _CHUNK, n)):
        d = max(max(up[k] - g[k], g[k] - down[k]), 0.0)
        if d * d * inverse[k] > best:
            best, at = d * d * inverse[k], k
    return at


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def _add(g, row, t):
    """Add ``t row``."""
    for k in range(g.shape[0]):
        g[k] += t * row[k]


@numba.njit(cache=True, fastmath=False, nogil=True)
def single_steps(K, g, up, down, kinks, levels, a, variances, least, steps):
    """Take steps on one dual until no row breaks the condition, for ``b = 0``."""
    inverse = np.empty(g.shape[0])
    for k in range(g.shape[0]):
        inverse[k] = 1.0 / max(variances[k], least)
    for _ in range(steps):
        i = _worst(g, up, down, inverse)
        if i < 0:
            break
        d = up[i] - g[i] if up[i] > g[i] else down[i] - g[i]
        level = rise(kinks, levels, a[i], i)[1] if d > 0.0 else fall(kinks, levels, a[i], i)[1]
        t, room = d * inverse[i], level - a[i]
        if abs(t) >= abs(room):
            t, a[i] = room, level
        else:
            a[i] += t
        up[i], down[i] = rise(kinks, levels, a[i], i)[0], fall(kinks, levels, a[i], i)[0]
        _add(g, K[i], t)


@numba.njit(cache=True, fastmath=False, nogil=True)
def between(up, down):
    """Return the rows strictly between two levels, where a dual rises and falls at one kink."""
    rows, m = np.empty(up.shape[0], dtype=np.int64), 0
    for i in range(up.shape[0]):
        if up[i] == down[i]:
            rows[m] = i
            m += 1
    return rows[:m]


@numba.njit(cache=True, fastmath=False, nogil=True)
def direction(K, g, up, rows, offset):
    """Return the step of some rows that solves ``K da = up - g - b``, NaN if there is none.

    With an offset b, the step sums to zero.
    """
    m, trace = rows.shape[0], 0.0
    B, x = np.empty((m, m)), np.empty((2, m))
    for p in range(m):
        row = K[rows[p]]
        for q in range(p + 1):
            B[p, q] = row[rows[q]]
        trace += B[p, p]
        x[0, p], x[1, p] = up[rows[p]] - g[rows[p]], 1.0
    for p in range(m):
        B[p, p] += _RIDGE * trace
    if not (trace > 0.0 and cholesky_in_place(B)):
        return np.full(m, np.nan)
    cholesky_solve_in_place(B, x)
    b = x[0].sum() / x[1].sum() if offset else 0.0
    for p in range(m):
        x[0, p] -= b * x[1, p]
    return x[0]


@numba.njit(cache=True, fastmath=False, nogil=True)
def joint_step(K, g, up, down, kinks, levels, a, offset):
    """Take the step of all rows between two levels, as far as the first of them meets one.

    Returns the length of the step and the number of rows.
    """
    rows = between(up, down)
    step = direction(K, g, up, rows, offset)
    if not np.isfinite(step).all():
        return 0.0, rows.shape[0]
    t, meets = 1.0, -1
    for p in range(rows.shape[0]):
        i = rows[p]
        room = _next_level(kinks, levels, a[i], i, step[p]) - a[i]
        if abs(step[p]) * t > abs(room):
            t, meets = room / step[p], p
    for p in range(rows.shape[0]):
        i, d = rows[p], t * step[p]
        level = _next_level(kinks, levels, a[i], i, step[p])
        if p == meets or abs(d) >= abs(level - a[i]):
            d, a[i] = level - a[i], level
        else:
            a[i] += d
        up[i], down[i] = rise(kinks, levels, a[i], i)[0], fall(kinks, levels, a[i], i)[0]
        _add(g, K[i], d)
    return t, rows.shape[0]


@numba.njit(cache=True, fastmath=False, nogil=True)
def _next_level(kinks, levels, a, i, d):
    """Return the level next to a dual in the direction of d."""
    return rise(kinks, levels, a, i)[1] if d > 0.0 else fall(kinks, levels, a, i)[1]


@numba.njit(cache=True, fastmath=False, nogil=True)
def advance(K, g, kinks, levels, a, variances, offset, steps, most):
    """Improve a dual and ``g = m + K a`` in place: steps on one or two rows, then on all between.

    The latter go on while each ends where a row meets a level, up to ``most`` of them. Returns
    their lengths, and the numbers of rows.
    """
    up, down = edges(kinks, levels, a)
    least = max(_LEAST * variances.max(), _TINY)
    if offset:
        pair_steps(K, g, up, down, kinks, levels, a, variances, least, steps)
    else:
        single_steps(K, g, up, down, kinks, levels, a, variances, least, steps)
    m = max(between(up, down).shape[0], 1)
    most = min(most, min(max(int(_SHARE * g.shape[0] / m / m), 1), _JOINT))
    lengths, rows = np.empty(most), np.empty(most, dtype=np.int64)
    for k in range(most):
        lengths[k], rows[k] = joint_step(K, g, up, down, kinks, levels, a, offset)
        if lengths[k] == 0.0 or lengths[k] == 1.0:
            return lengths[: k + 1], rows[: k + 1]
    return lengths, rows


@numba.njit(cache=True, fastmath=False, nogil=True)
def best_offset(kinks, levels, a, g):
    """Return the middle of what the offset has to be above and what it has to be below."""
    up, down = edges(kinks, levels, a)
    low, high = -np.inf, np.inf
    for i in range(g.shape[0]):
        low, high = max(low, up[i] - g[i]), min(high, down[i] - g[i])
    if low > -np.inf and high < np.inf:
        return 0.5 * (low + high)
    return low if low > -np.inf else (high if high < np.inf else 0.0)


@numba.njit(cache=True, fastmath=False, nogil=True)
def balance(kinks, levels, a, g):
    """Let the duals sum to zero by moving those that are nearest to it; whether they can."""
    excess = a.sum()
    if abs(excess) <= _BALANCED * np.abs(a).sum():
        return True
    for _ in range(kinks.shape[0]):
        up, down = edges(kinks, levels, a)
        for i in np.argsort(down - g if excess > 0.0 else g - up):
            level = _next_level(kinks, levels, a[i], i, -excess)
            if abs(level - a[i]) >= abs(excess):
                a[i] -= excess
                return True
            excess += level - a[i]
            a[i] = level
    return False


PURSUIT = Pursuit(balance, best_offset, fenchel_gap, advance)
