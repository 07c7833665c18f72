"""The Gaussian of the weights that carry a process, and what the observation of a row does to it.

A row's likelihood is averaged over its latent value without the observation, of the mean c and the
variance v, of which the weights carry a part and the row the rest. Where the average has the
derivatives alpha and -nu in c, the mean and the covariance of the process change by

    E[f(x)] += alpha Cov(x, x_i),    Cov(x, x') -= nu Cov(x, x_i) Cov(x_i, x'),

which is (3.62)-(3.65) of [Chu03]_. It is the same as to multiply by a site that has the moments of
the tilted density, and with that known the row can be visited again.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.evidence.sweep import LEAST_VARIANCE
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.sites import Cavity, Matched, matched

__all__ = ["Look", "Weights", "cavity_of"]


class Look(NamedTuple):
    """Rows as the weights see them, each of shape (b,)."""

    mean: Array
    known: Array
    """Variances of what the weights carry."""
    left: Array
    """Variances of what they leave out."""


class Weights(NamedTuple):
    """The Gaussian of the weights, a priori ``N(0, I)``."""

    mean: Array
    """Of shape (r,)."""
    covariance: Array
    """Of shape (r, r)."""

    @classmethod
    def of_prior(cls, r: int) -> Self:
        """Return the Gaussian of r weights of which nothing is known."""
        return cls(np.zeros(r), np.eye(r))

    def look(self, phi: Array, left: Array) -> Look:
        """Return the latent values of rows by their features, of shape (b, r)."""
        known = np.einsum("ij,ij->i", phi @ self.covariance, phi)
        least = LEAST_VARIANCE * (np.einsum("ij,ij->i", phi, phi) + left)
        return Look(phi @ self.mean, np.maximum(known, least), left)

    def after(
        self, phi: Array, left: Array, row: Block, loss: Loss, sites: Sites
    ) -> tuple[Self, Matched]:
        """Return the weights after a visit to one row, and what its tilted density says.

        Parameters
        ----------
        phi, left : ndarray of shape (1, r) and (1,)
            Features of the row, and the variance that they leave out.
        row : Block
            The row.
        loss : Loss
            Its loss.
        sites : Sites
            Its site, which the weights contain; at the first visit it is nothing.
        """
        look = self.look(phi, left)
        new = matched(loss, row, cavity_of(look, sites))
        precision = float(new.precision[0] - sites.precision[0])
        shift = float(new.shift[0] - sites.shift[0])
        along = self.covariance @ phi[0]
        wider = 1.0 + precision * float(look.known[0])
        mean = self.mean + along * ((shift - precision * float(look.mean[0])) / wider)
        covariance = self.covariance - (precision / wider) * np.outer(along, along)
        return self._replace(mean=mean, covariance=covariance), new

    def with_one_more(self) -> Self:
        """Return the weights with another one behind them, of which nothing is known."""
        r = self.mean.size
        covariance = np.eye(r + 1)
        covariance[:r, :r] = self.covariance
        return self._replace(mean=np.append(self.mean, 0.0), covariance=covariance)

    def without_last(self, mirror: Array) -> Self:
        """Return all weights but the last in a mirror, with the joint Gaussian that they have."""
        mean = self.mean - mirror * (2.0 * float(mirror @ self.mean))
        along = self.covariance @ mirror
        beside = np.outer(2.0 * (along - mirror * float(mirror @ along)), mirror)
        covariance = self.covariance - (beside + beside.T)
        return self._replace(mean=mean[:-1], covariance=covariance[:-1, :-1])


def cavity_of(look: Look, sites: Sites) -> Cavity:
    """Return rows without their own sites.

    Raises
    ------
    ValueError
        If rounding leaves nothing of what others say of a row.
    """
    cavity = Cavity.of(look, *sites)
    lost = np.isnan(cavity.variance)
    if lost.any():
        raise ValueError(
            f"A site of precision {sites.precision[lost].max():.3g} leaves no digits of what the "
            "other rows say of its row. Make the noise wider, or set n_sweeps=1."
        )
    return cavity
