"""Predictions with the labels of their rows, as xarray has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from pymc import Model
from pytensor.graph import Variable

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.mixture import RegressionMixture
from pymc_bsvm.evidence.prediction import ClassPredictive, RegressionPredictive

__all__ = ["LabelledPredictive", "Rows"]


@dataclass(frozen=True)
class Rows:
    """The name of the rows of inputs, and their labels.

    Those of a data frame are its index, those of a labelled array the coordinates of its first
    dimension, those of a data container the coordinates of its model. Other inputs have the rows
    0, 1, ... of a dimension ``row``.
    """

    dim: str
    coords: Any

    @classmethod
    def of(cls, X: Any) -> Rows:
        """Read the labels off inputs."""
        dim, labels = "row", None
        if hasattr(X, "iloc"):
            if X.index.nlevels > 1:
                return cls("row", xr.Coordinates.from_pandas_multiindex(X.index, "row"))
            dim, labels = str(X.index.name or "row"), X.index
        elif hasattr(X, "coords"):
            dim = str(X.dims[0])
            labels = X.coords[dim].to_numpy() if dim in X.coords else None
        elif isinstance(X, Variable):
            model = Model.get_context(error_if_none=False)
            dims = () if model is None else model.named_vars_to_dims.get(str(X.name), ())
            if model is not None and dims and dims[0] is not None:
                dim, labels = str(dims[0]), model.coords.get(dims[0])
        n = X.shape[0].eval() if isinstance(X, Variable) else len(X)
        return cls(dim, {dim: np.arange(int(n)) if labels is None else np.asarray(labels)})

    def array(self, name: str, values: Any, *leading: str, **coords: Any) -> xr.DataArray:
        """Return numbers of the rows, which are the last dimension."""
        found = xr.DataArray(np.asarray(values), dims=(*leading, self.dim), name=name)
        return found.assign_coords(self.coords).assign_coords(coords)

    def covariance(self, name: str, values: Any) -> xr.DataArray:
        """Return a matrix between the rows; those of the second dimension end in ``_other``."""
        second = f"{self.dim}_other"
        found = xr.DataArray(np.asarray(values), dims=(self.dim, second), name=name)
        labels = xr.DataArray(np.arange(len(found)), dims=self.dim).assign_coords(self.coords)
        return found.assign_coords(self.coords).assign_coords(
            {second: labels.indexes[self.dim].to_numpy()}
        )


@dataclass(frozen=True)
class LabelledPredictive:
    """A predictive distribution whose numbers are labelled arrays.

    ``numbers`` is the distribution itself; its other methods are asked there.
    """

    numbers: RegressionPredictive | RegressionMixture | ClassPredictive
    rows: Rows

    @property
    def mean(self) -> xr.DataArray:
        """Means of the targets."""
        return self.rows.array("mean", self._of_targets.mean)

    @property
    def variance(self) -> xr.DataArray:
        """Variances of the targets."""
        return self.rows.array("variance", self._of_targets.variance)

    def logpdf(self, t: ArrayLike) -> xr.DataArray:
        """Return the log predictive density, in nats, at targets of the rows."""
        return self.rows.array("logpdf", self._of_targets.logpdf(_plain(t)))

    def cdf(self, t: ArrayLike) -> xr.DataArray:
        """Return the probability of a target of at most ``t``."""
        return self.rows.array("cdf", self._of_targets.cdf(_plain(t)))

    def quantile(self, u: ArrayLike) -> xr.DataArray:
        """Return the targets below which shares ``u`` of the distribution lie.

        Parameters
        ----------
        u : float or array_like of shape (k,)
            Probabilities; several are a dimension ``quantile``, as in xarray.
        """
        u = np.asarray(u, dtype=float)
        if u.ndim == 0:
            found = self.rows.array("quantile", self._of_targets.quantile(u))
            return found.assign_coords(quantile=float(u))
        values = self._of_targets.quantile(u.reshape(-1, 1))
        return self.rows.array("quantile", values, "quantile", quantile=u.ravel())

    def interval(self, probability: float) -> xr.DataArray:
        """Return the equal-tailed interval of a probability, along ``ci_bound`` as in ArviZ."""
        ends = 0.5 - 0.5 * probability, 0.5 + 0.5 * probability
        values = self._of_targets.quantile(np.reshape(ends, (2, 1)))
        return self.rows.array("interval", values, "ci_bound", ci_bound=["lower", "upper"])

    def probability(self, y: int = 1) -> xr.DataArray:
        """Return the probability of a label, -1 or +1."""
        if not isinstance(self.numbers, ClassPredictive):
            raise ValueError(
                "Targets have no labels, but the probability of one was asked for. "
                "Use cdf for the probability of targets up to a value."
            )
        return self.rows.array("probability", self.numbers.probability(y))

    @property
    def _of_targets(self) -> RegressionPredictive | RegressionMixture:
        if isinstance(self.numbers, ClassPredictive):
            raise ValueError(
                "Labels have no moments and no quantiles, which were asked for. "
                "Use probability for the probabilities of the labels."
            )
        return self.numbers


def _plain(t: ArrayLike) -> Array:
    return np.asarray(t, dtype=float)
