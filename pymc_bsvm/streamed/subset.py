"""A random subset of rows, in one pass."""

from __future__ import annotations

import numpy as np

from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.rows import Rows

__all__ = ["sample"]


def sample(rows: Rows, k: int, rng: np.random.Generator) -> Block:
    """Return k rows at random, in their order, or all if there are fewer.

    Every row draws a number, and the k smallest win, so that the number of rows need not be known
    and the subset does not depend on how they are cut into blocks. Rows of weight zero are not
    drawn.
    """
    order = np.zeros(0)
    found: list[Block] = []
    largest = np.inf
    for block in rows.blocks():
        draw = rng.random(block.size)
        below = (draw < largest) & (block.weight > 0.0)
        found.append(block.part(below))
        order = np.append(order, draw[below])
        if order.size > 2 * k:
            best = np.sort(np.argpartition(order, k - 1)[:k])
            order, found = order[best], [_joined(found).part(best)]
            largest = order.max()
    best = np.sort(np.argsort(order)[:k])
    return _joined(found).part(best)


def _joined(blocks: list[Block]) -> Block:
    return Block(*(np.concatenate(each) for each in zip(*blocks, strict=True)))
