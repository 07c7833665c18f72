"""What lies of a piece beyond a point, against the definition in multiple precision."""

import itertools

import numpy as np
import pytest

from pymc_bsvm.losses.piece import Piece
from pymc_bsvm.losses.tail import tail_of
from tests.oracle import mp
from tests.oracle.predictive import NODES

EPS, TINY = np.finfo(float).eps, np.finfo(float).tiny
PIECES = {
    "flat": Piece.flat(0.0, 0.4),
    "flat apart": Piece(0.3, 0.5, 0.2, 0.0, 0.0, 0.2),
    "ray": Piece.ray(0.0, 0.0, 3.0),
    "ray apart": Piece.ray(0.7, 0.5, 20.0),
    "vertex": Piece(0.0, 0.6, 0.0, 0.0, 4.0, 1.2),
    "parabola": Piece(0.4, 1.0, 0.0, 0.0, 9.0, 2.7),
    "risen parabola": Piece(0.4, 1.0, 0.3, 2.0, 5.0, 2.4),
    "thin parabola": Piece(0.4, 0.42, 0.0, 0.0, 1.0, 0.01),
}
WIDTHS = [0.003, 0.3, 30.0]


def exact(piece, d, sd):
    """Return the mass beyond d and the density at d, by quadrature over the piece."""
    left, d, sd = mp.mpf(piece.left), mp.mpf(d), mp.mpf(sd)
    slope, bend = mp.mpf(piece.slope_left), mp.mpf(0)
    right = left + 90 / slope if np.isinf(piece.right) else mp.mpf(piece.right)
    if piece.slope_right > piece.slope_left:
        bend = (mp.mpf(piece.slope_right) - slope) / (right - left)

    def noise(r):
        x = r - left
        return mp.exp(-mp.mpf(piece.value) - slope * x - bend * x * x / 2)

    def mass(r):
        return noise(r) * (mp.ncdf((r - d) / sd) + mp.ncdf((-r - d) / sd))

    def density(r):
        return noise(r) * (mp.npdf((r - d) / sd) + mp.npdf((r + d) / sd)) / sd

    steps = [d + k * sd for k in (-20, -9, -4, 0, 4, 9)]
    falls = [left + k / slope for k in (4, 20, 45)] if slope else []
    ends = sorted({left, right, *(x for x in steps + falls if left < x < right)})
    points = [
        ((a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w)
        for a, b in itertools.pairwise(ends)
        for x, w in NODES
    ]
    return tuple(mp.fsum(w * f(r) for r, w in points) for f in (mass, density))


@pytest.mark.parametrize("sd", WIDTHS)
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_tails_are_integrals(piece, sd):
    """To a few roundings of the terms, as the caller relies on, and of the point itself."""
    ends = [end for end in (piece.left, piece.right) if np.isfinite(end)]
    d = np.array([*ends, piece.left + 0.31 * sd, ends[-1] + 2.0 * sd])
    tail = tail_of(piece, d, np.full(d.shape, sd))
    with mp.workdps(25):
        for k, point in enumerate(d):
            mass, density = exact(piece, point, sd)
            slack = 4.0 * EPS * (tail.size[k] + (point + piece.left) * density) + TINY
            assert abs(tail.mass[k] - mass) <= slack, point
            assert abs(tail.density[k] - density) <= 1e-9 * density + 1e-13, point


def test_rows_with_pieces_of_their_own():
    scale, d, sd = np.array([1.0, 2.0, 0.1]), np.array([0.5, 0.1, 3.0]), np.array([0.2, 9.0, 1.0])
    for piece in PIECES.values():
        mine = Piece(
            scale * piece.left,
            scale * piece.right,
            piece.value,
            piece.slope_left / scale,
            piece.slope_right / scale,
            piece.value_right,
        )
        got = tail_of(mine, d, sd)
        for k in range(3):
            one = tail_of(piece, d[[k]] / scale[k], sd[[k]] / scale[k])
            assert got.mass[k] == pytest.approx(scale[k] * one.mass[0], rel=1e-12, abs=1e-300)
            assert got.density[k] == pytest.approx(one.density[0], rel=1e-10, abs=1e-300)


def test_a_line_that_ends_is_left_to_others():
    line = Piece(0.1, 0.5, 0.0, 2.0, 2.0, 0.8)
    assert np.isinf(tail_of(line, np.array([0.2]), np.array([0.1])).size).all()
