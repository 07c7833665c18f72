"""Symmetric noise whose loss consists of parabolas and lines."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm.losses.convolution import Convolution, PiecewiseConvolution
from pymc_bsvm.losses.noise import NoiseLoss
from pymc_bsvm.losses.piece import Outline, Piece

__all__ = ["PiecewiseNoise"]


class PiecewiseNoise(NoiseLoss):
    """A loss of the size of the residual that is a parabola or a line on each of some pieces."""

    @staticmethod
    @abstractmethod
    def pieces(*parameters: Any) -> tuple[Piece, ...]:
        """Return the pieces at nonnegative residuals, from zero to infinity."""

    @property
    def knots(self) -> tuple[Parameter, ...]:
        """The residuals at which two pieces meet."""
        _, *others = self.pieces(*self.parameters)
        return (*(-piece.left for piece in reversed(others)), *(piece.left for piece in others))

    def convolution(self) -> Convolution:
        """Return the distribution of the noise plus a Gaussian, with its density in closed form."""
        return PiecewiseConvolution(self, self.pieces(*self.parameters))

    @property
    def outline(self) -> Outline:
        """The pieces on both sides, and nothing else."""
        pieces = [replace(piece, smooth=math.inf) for piece in self.pieces(*self.parameters)]
        first, *others = pieces
        if type(first.slope_right) is float and first.slope_right == 0.0:  # flat on both sides
            return Outline((replace(first, left=-first.right), *others), others)
        return Outline(pieces, pieces)
